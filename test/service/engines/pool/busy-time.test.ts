import { describe, expect, it } from 'vitest'
import { reportBusyTime } from '../../../../src/service/engines/pool/worker-messages.js'
import type { FromWorker } from '../../../../src/service/engines/pool/worker-messages.js'
import { fakePool } from './fake-workers.js'

describe('reportBusyTime', () => {
  it('says of each message what was worked since the one before, from when the model was loaded', () => {
    const said: FromWorker[] = []
    const clock = { ms: 900 }
    const say = reportBusyTime(
      (message) => said.push(message),
      () => clock.ms,
    )
    say({ type: 'refused', sentence: 'No.' })
    say({ type: 'ready' })
    clock.ms = 930
    say({ type: 'progress', segment: 1, sampleCount: 800 })
    say({ type: 'working' })
    clock.ms = 1000
    say({ type: 'decided', segment: 1, words: [] })
    expect(said.map(({ type, busyMs }) => [type, busyMs])).toEqual([
      ['refused', undefined],
      ['ready', undefined],
      ['progress', 30],
      ['working', 0],
      ['decided', 70],
    ])
  })
})

describe('WorkerPool.busyMs', () => {
  it('sums up what its workers say, of aborted segments and of workers that ended too', () => {
    const { pool, open, worker } = fakePool(2, 1)
    open('a')
    worker(0).events.message({ type: 'ready' })
    const left = open('b')
    worker(1).events.message({ type: 'ready' })
    expect(pool.busyMs).toBe(0)
    worker(0).events.message({ type: 'progress', segment: 1, sampleCount: 800, busyMs: 40 })
    left.abort()
    worker(1).events.message({ type: 'progress', segment: 2, sampleCount: 800, busyMs: 25 })
    worker(0).events.message({ type: 'working', busyMs: 5 })
    worker(0).events.ended(undefined)
    worker(0).events.message({ type: 'failed', segment: 1, busyMs: 1000 })
    expect(pool.busyMs).toBe(70)
  })
})
