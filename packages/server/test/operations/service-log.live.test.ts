import { VirtualTimeScheduler } from 'rxjs'
import { expect, it } from 'vitest'
import { RateLimitedLog } from '../../src/operations/service-log.js'
import type { LogFields } from '../../src/operations/logger.js'

const setUp = () => {
  const scheduler = new VirtualTimeScheduler()
  const lines: string[] = []
  const dropped: string[] = []
  const logger = {
    log: (_level: string, message: string, fields: LogFields = {}) => {
      lines.push([message, ...Object.values(fields)].join(' '))
    },
  }
  const log = new RateLimitedLog({
    logger,
    scheduler,
    maxLinesPerMinute: 2,
    onLineDropped: (kind) => dropped.push(kind),
  })
  const write = (kind: string, count: number): void => {
    for (let at = 0; at < count; at += 1) log.write(kind, 'info', kind, {})
  }
  const passMs = (ms: number): void => {
    scheduler.maxFrames = scheduler.frame + ms
    scheduler.flush()
    scheduler.frame = scheduler.maxFrames
  }
  return { log, lines, dropped, write, passMs, scheduler }
}

it('writes a limited number of lines of each kind per minute, and at its end the number of omitted ones', () => {
  const { lines, dropped, write, passMs } = setUp()
  write('a', 5)
  write('b', 1)
  expect(lines).toEqual(['a', 'a', 'b'])
  expect(dropped).toEqual(['a', 'a', 'a'])
  passMs(59_999)
  expect(lines).toHaveLength(3)
  passMs(1)
  expect(lines.slice(3)).toEqual(['Log lines dropped a 3'])
  write('a', 3)
  expect(lines.slice(4)).toEqual(['a', 'a'])
})

it('writes nothing about a minute without omitted lines, and leaves no timer', () => {
  const { lines, write, passMs, scheduler } = setUp()
  write('a', 2)
  passMs(600_000)
  expect(lines).toEqual(['a', 'a'])
  expect(scheduler.actions).toEqual([])
})

it('writes what was omitted when it is closed', () => {
  const { log, lines, write, passMs } = setUp()
  write('a', 4)
  log.close()
  passMs(600_000)
  expect(lines).toEqual(['a', 'a', 'Log lines dropped a 2'])
})
