import { describe, expect, it } from 'vitest'
import { reportBusyTime, type FromWorker } from '../../src/pool/worker-messages.js'
import { fakePool } from './fake-workers.js'

describe('reportBusyTime', () => {
  it('adds to each message the time worked since the one before, from the loading of the model on', () => {
    const posted: FromWorker[] = []
    const clock = { ms: 900 }
    const post = reportBusyTime(
      (message) => posted.push(message),
      () => clock.ms,
    )
    post({ type: 'refused', sentence: 'No.' })
    post({ type: 'ready' })
    clock.ms = 930
    post({ type: 'progress', segment: 1, sampleCount: 800 })
    post({ type: 'working' })
    clock.ms = 1000
    post({ type: 'decided', segment: 1, words: [] })
    expect(posted.map(({ type, busyMs }) => [type, busyMs])).toEqual([
      ['refused', undefined],
      ['ready', undefined],
      ['progress', 30],
      ['working', 0],
      ['decided', 70],
    ])
  })
})

describe('WorkerPool.busyMs', () => {
  it('sums up the time of its workers, including aborted segments and workers that ended', () => {
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
