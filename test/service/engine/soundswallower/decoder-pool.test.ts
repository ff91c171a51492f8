import { describe, expect, it } from 'vitest'
import { fakePool } from './fake-workers.js'

const ready = { type: 'ready' } as const
const decided = (segment: number) => ({ type: 'decided', segment, words: [] }) as const

describe('DecoderPool', () => {
  it('starts no worker before one is wanted, and warms up with one', async () => {
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

  it('holds what a waiting segment says until its worker is ready, then passes it on in order', () => {
    const { open, worker } = fakePool(1, 1)
    const segment = open('a')
    segment.write(new Int16Array(1000))
    segment.close(125)
    expect(worker(0).told).toEqual([])
    worker(0).events.message(ready)
    expect(worker(0).told).toEqual(['open 1', 'audio 1 800', 'audio 1 200', 'close 1'])
  })

  it('cuts audio into hops of 100 ms whatever the chunks', () => {
    const { open, worker } = fakePool(1, 1)
    open('warm').abort()
    worker(0).events.message(ready)
    const segment = open('a')
    for (const length of [160, 639, 1, 1700]) segment.write(new Int16Array(length))
    segment.close(0)
    expect(worker(0).told).toEqual(['open 2', 'audio 2 800', 'audio 2 800', 'audio 2 800', 'audio 2 100', 'close 2'])
  })

  it('loses and mixes up no sample, whether the segment waits or runs', () => {
    const { open, worker } = fakePool(1, 1)
    const segment = open('a')
    const samples = Int16Array.from({ length: 4000 }, (_, at) => at)
    segment.write(samples.subarray(0, 1900))
    worker(0).events.message(ready)
    segment.write(samples.subarray(1900))
    segment.close(500)
    expect(worker(0).audio).toEqual([...samples])
  })

  it('serves the line first come, first served, and lets an aborted one leave it', () => {
    const { open, worker, heard } = fakePool(1, 1)
    open('a')
    worker(0).events.message(ready)
    open('b')
    const leaving = open('c')
    open('d')
    leaving.abort()
    worker(0).events.message(decided(1))
    worker(0).events.message(decided(2))
    expect(worker(0).told).toEqual(['open 1', 'open 2', 'open 4'])
    expect(heard).toEqual(['a decided 0', 'b decided 0'])
  })

  it('starts another worker when all have something to do, up to its limit, and fills the least busy one', () => {
    const { open, workers, worker } = fakePool(2, 2)
    open('a')
    worker(0).events.message(ready)
    expect(workers).toHaveLength(2)
    open('b')
    expect(worker(0).told).toEqual(['open 1', 'open 2'])
    worker(1).events.message(ready)
    open('c')
    open('d')
    open('e')
    expect(worker(1).told).toEqual(['open 3', 'open 4'])
    expect(workers).toHaveLength(2)
  })

  it('frees a decoder on abort, tells its worker, and hears no more of the segment', () => {
    const { open, worker, heard } = fakePool(1, 1)
    const segment = open('a')
    worker(0).events.message(ready)
    open('b')
    segment.abort()
    segment.abort()
    segment.write(new Int16Array(800))
    worker(0).events.message({ type: 'taken', segment: 1, sampleCount: 800 })
    worker(0).events.message(decided(1))
    expect(worker(0).told).toEqual(['open 1', 'abort 1', 'open 2'])
    expect(heard).toEqual([])
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

  it('fails only the segments of a worker that breaks, and starts another for those that follow', () => {
    const { open, worker, workers, heard } = fakePool(2, 1)
    open('a')
    worker(0).events.message(ready)
    worker(1).events.message(ready)
    open('b')
    open('c')
    worker(0).events.ended(new Error('trap'))
    expect(heard).toEqual(['a failed engine-failed'])
    expect(workers).toHaveLength(3)
    worker(2).events.message(ready)
    expect(worker(2).told).toEqual(['open 3'])
    worker(1).events.message(decided(2))
    expect(heard).toEqual(['a failed engine-failed', 'b decided 0'])
  })

  it('gives up for a minute after five breaks, then tries again', async () => {
    const { open, worker, workers, heard, clock } = fakePool(1, 1)
    open('a')
    for (let at = 0; at < 5; at += 1) worker(at).events.ended(undefined)
    await Promise.resolve()
    expect(heard).toEqual(['a failed engine-failed'])
    open('b')
    await Promise.resolve()
    expect(heard).toEqual(['a failed engine-failed', 'b failed engine-failed'])
    clock.ms = 60_001
    open('c')
    expect(workers).toHaveLength(6)
    worker(5).events.message(ready)
    expect(worker(5).told).toEqual(['open 3'])
  })

  it('rejects warm with the refusal of the model', async () => {
    const { pool, worker } = fakePool(1, 1)
    const warm = pool.warm()
    worker(0).events.message({ type: 'refused', sentence: 'no such word' })
    await expect(warm).rejects.toMatchObject({ code: 'invalid-model', message: 'no such word' })
    expect(worker(0).terminated).toBe(true)
  })

  it('fails a segment whose decoder failed and goes on with the next', () => {
    const { open, worker, heard } = fakePool(1, 1)
    open('a')
    worker(0).events.message(ready)
    open('b')
    worker(0).events.message({ type: 'failed', segment: 1 })
    expect(heard).toEqual(['a failed engine-failed'])
    expect(worker(0).told).toEqual(['open 1', 'open 2'])
  })

  it('ends every segment and worker when closed, and takes none after that', async () => {
    const { pool, open, worker, workers, heard } = fakePool(1, 1)
    open('a')
    worker(0).events.message(ready)
    open('b')
    await pool.close()
    open('c')
    await Promise.resolve()
    expect(heard).toEqual(['b failed engine-failed', 'a failed engine-failed', 'c failed engine-failed'])
    expect(worker(0).terminated).toBe(true)
    expect(workers).toHaveLength(1)
    await expect(pool.warm()).rejects.toMatchObject({ code: 'engine-failed' })
  })
})
