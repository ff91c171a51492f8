import { describe, expect, it } from 'vitest'
import type { SpeechError } from '../../../../src/errors/speech-error.js'
import { fakePool } from './fake-workers.js'

const ready = { type: 'ready' } as const
const decided = (segment: number) => ({ type: 'decided', segment, words: [] }) as const

describe('WorkerPool', () => {
  it('starts a worker when it is needed, and one to warm up', async () => {
    const { pool, workers, worker } = fakePool(2, 1)
    expect(workers).toHaveLength(0)
    const warm = pool.warm()
    expect(workers).toHaveLength(1)
    worker(0).events.message(ready)
    await warm
    await pool.warm()
    expect(workers).toHaveLength(1)
    expect(pool.segmentsAtOnce).toBe(2)
  })

  it('keeps the messages of a queued segment until a worker is ready, then posts them in order', () => {
    const { open, worker } = fakePool(1, 1)
    const segment = open('a')
    segment.write(new Int16Array(1000))
    segment.close(125)
    expect(worker(0).posted).toEqual([])
    worker(0).events.message(ready)
    expect(worker(0).posted).toEqual(['open 1', 'audio 1 800', 'audio 1 200', 'close 1'])
  })

  it('cuts audio into frames of 100 ms, whatever the length of the chunks', () => {
    const { open, worker } = fakePool(1, 1)
    open('warm').abort()
    worker(0).events.message(ready)
    const segment = open('a')
    for (const length of [160, 639, 1, 1700]) segment.write(new Int16Array(length))
    segment.close(0)
    expect(worker(0).posted).toEqual(['open 2', 'audio 2 800', 'audio 2 800', 'audio 2 800', 'audio 2 100', 'close 2'])
  })

  it('posts every sample in order, whether the segment is queued or running', () => {
    const { open, worker } = fakePool(1, 1)
    const segment = open('a')
    const samples = Int16Array.from({ length: 4000 }, (_, at) => at)
    segment.write(samples.subarray(0, 1900))
    worker(0).events.message(ready)
    segment.write(samples.subarray(1900))
    segment.close(500)
    expect(worker(0).audio).toEqual([...samples])
  })

  it('starts queued segments in the order they came, without those that were aborted', () => {
    const { open, worker, segmentEvents } = fakePool(1, 1)
    open('a')
    worker(0).events.message(ready)
    open('b')
    const leaving = open('c')
    open('d')
    leaving.abort()
    worker(0).events.message(decided(1))
    worker(0).events.message(decided(2))
    expect(worker(0).posted).toEqual(['open 1', 'open 2', 'open 4'])
    expect(segmentEvents).toEqual(['a decided 0', 'b decided 0'])
  })

  it('starts another worker while all are busy, up to the limit, and uses the least busy one', () => {
    const { open, workers, worker } = fakePool(2, 2)
    open('a')
    worker(0).events.message(ready)
    expect(workers).toHaveLength(2)
    open('b')
    expect(worker(0).posted).toEqual(['open 1', 'open 2'])
    worker(1).events.message(ready)
    open('c')
    open('d')
    open('e')
    expect(worker(1).posted).toEqual(['open 3', 'open 4'])
    expect(workers).toHaveLength(2)
  })

  it('frees the decoder of an aborted segment, posts the abort, and ignores later answers', () => {
    const { open, worker, segmentEvents } = fakePool(1, 1)
    const segment = open('a')
    worker(0).events.message(ready)
    open('b')
    segment.abort()
    segment.abort()
    segment.write(new Int16Array(800))
    worker(0).events.message({ type: 'progress', segment: 1, sampleCount: 800 })
    worker(0).events.message(decided(1))
    expect(worker(0).posted).toEqual(['open 1', 'abort 1', 'open 2'])
    expect(segmentEvents).toEqual([])
  })

  it('keeps the process alive only while a segment is open', () => {
    const { open, worker } = fakePool(1, 2)
    const segment = open('a')
    worker(0).events.message(ready)
    expect(worker(0).busy).toBe(true)
    open('b')
    segment.abort()
    expect(worker(0).busy).toBe(true)
    worker(0).events.message(decided(2))
    expect(worker(0).busy).toBe(false)
  })

  it('fails only the segments of a worker that ends, and starts another for the next ones', () => {
    const { open, worker, workers, segmentEvents } = fakePool(2, 1)
    open('a')
    worker(0).events.message(ready)
    worker(1).events.message(ready)
    open('b')
    open('c')
    worker(0).events.ended(new Error('trap'))
    expect(segmentEvents).toEqual(['a failed engine-failed'])
    expect(workers).toHaveLength(3)
    worker(2).events.message(ready)
    expect(worker(2).posted).toEqual(['open 3'])
    worker(1).events.message(decided(2))
    expect(segmentEvents).toEqual(['a failed engine-failed', 'b decided 0'])
  })

  it('starts no worker for a minute after five have ended, then tries again', async () => {
    const { open, worker, workers, segmentEvents, clock } = fakePool(1, 1)
    open('a')
    for (let at = 0; at < 5; at += 1) worker(at).events.ended(undefined)
    await Promise.resolve()
    expect(segmentEvents).toEqual(['a failed engine-failed'])
    open('b')
    await Promise.resolve()
    expect(segmentEvents).toEqual(['a failed engine-failed', 'b failed engine-failed'])
    clock.ms = 60_001
    open('c')
    expect(workers).toHaveLength(6)
    worker(5).events.message(ready)
    expect(worker(5).posted).toEqual(['open 3'])
  })

  it('rejects warm when the worker refuses the model', async () => {
    const { pool, worker } = fakePool(1, 1)
    const warm = pool.warm()
    worker(0).events.message({ type: 'refused', sentence: 'no such word' })
    await expect(warm).rejects.toMatchObject({ code: 'invalid-model', message: 'no such word' })
    expect(worker(0).terminated).toBe(true)
  })

  it('fails the segment whose decoder failed, and starts the next', () => {
    const { open, worker, segmentEvents } = fakePool(1, 1)
    open('a')
    worker(0).events.message(ready)
    open('b')
    worker(0).events.message({ type: 'failed', segment: 1 })
    expect(segmentEvents).toEqual(['a failed engine-failed'])
    expect(worker(0).posted).toEqual(['open 1', 'open 2'])
  })

  it('terminates a worker that is silent for 10 s while it has work, fails its segments, and starts another', () => {
    const { open, worker, workers, segmentEvents, scheduler } = fakePool(1, 2)
    const a = open('a')
    worker(0).events.message(ready)
    open('b')
    scheduler.advanceTo(60_000)
    expect(scheduler.waiting).toBe(0)
    a.write(new Int16Array(1600))
    scheduler.advanceTo(67_000)
    worker(0).events.message({ type: 'progress', segment: 1, sampleCount: 800 })
    scheduler.advanceTo(76_999)
    expect(segmentEvents).toEqual(['a progress 800'])
    scheduler.advanceTo(80_000)
    expect(segmentEvents).toEqual(['a progress 800', 'a failed engine-failed', 'b failed engine-failed'])
    expect(worker(0).terminated).toBe(true)
    open('c')
    expect(workers).toHaveLength(2)
    worker(0).events.message({ type: 'progress', segment: 1, sampleCount: 800 })
    expect(segmentEvents).toHaveLength(3)
  })

  it('does not terminate a worker that has no work, is in a second pass, or is silent because this thread is blocked', () => {
    const { open, worker, segmentEvents, scheduler } = fakePool(1, 1)
    const segment = open('a')
    worker(0).events.message(ready)
    segment.write(new Int16Array(800))
    worker(0).events.message({ type: 'progress', segment: 1, sampleCount: 800 })
    scheduler.advanceTo(60_000)
    segment.close(100)
    for (const atMs of [69_000, 78_000, 87_000]) {
      scheduler.advanceTo(atMs)
      worker(0).events.message({ type: 'working' })
    }
    expect(segmentEvents).toEqual(['a progress 800'])
    worker(0).events.message(decided(1))
    scheduler.advanceTo(200_000)
    expect(segmentEvents).toEqual(['a progress 800', 'a decided 0'])
    expect(worker(0).terminated).toBe(false)
    expect(scheduler.waiting).toBe(0)
  })

  it('terminates a worker that is not ready within a minute, and fails what waits for it', async () => {
    const { pool, open, worker, workers, scheduler, clock, segmentEvents } = fakePool(1, 1)
    const warm = pool.warm().then(
      () => 'ready',
      ({ code }: SpeechError) => code,
    )
    open('a')
    scheduler.advanceTo((clock.ms = 60_000))
    expect(worker(0).terminated).toBe(false)
    scheduler.advanceTo((clock.ms = 62_500))
    expect(worker(0).terminated).toBe(true)
    expect(segmentEvents).toEqual(['a failed engine-failed'])
    expect(await warm).toBe('engine-failed')
    expect(workers).toHaveLength(1)
    const again = pool.warm()
    worker(1).events.message(ready)
    await again
  })

  it('keeps what waits for another worker when one that is ready remains', () => {
    const { open, worker, scheduler, segmentEvents } = fakePool(2, 1)
    open('a')
    worker(0).events.message(ready)
    open('b')
    scheduler.advanceTo(62_500)
    expect(worker(1).terminated).toBe(true)
    expect(segmentEvents).toEqual([])
    worker(0).events.message(decided(1))
    expect(worker(0).posted).toEqual(['open 1', 'open 2'])
  })

  it('fails every segment and terminates every worker when it is closed, and fails later segments', async () => {
    const { pool, open, worker, workers, segmentEvents } = fakePool(1, 1)
    open('a')
    worker(0).events.message(ready)
    open('b')
    await pool.close()
    open('c')
    await Promise.resolve()
    expect(segmentEvents).toEqual(['b failed engine-failed', 'a failed engine-failed', 'c failed engine-failed'])
    expect(worker(0).terminated).toBe(true)
    expect(workers).toHaveLength(1)
    await expect(pool.warm()).rejects.toMatchObject({ code: 'engine-failed' })
  })
})
