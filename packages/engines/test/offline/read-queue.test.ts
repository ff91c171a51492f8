import { beforeEach, describe, expect, it } from 'vitest'
import { ReadQueue, type PartialSource } from '../../src/offline/read-queue.js'
import type { ReadRequest } from '../../src/offline/reader.js'
import { FakeReader, settled, TestClock } from './fake-reader.js'

const request = (lengthMs: number, purpose: ReadRequest['purpose'] = 'final'): ReadRequest => ({
  samples: new Int16Array(lengthMs),
  purpose,
})
const signal = () => new AbortController().signal

let clock: TestClock
let done: string[]
beforeEach(() => {
  clock = new TestClock()
  done = []
})
const source = (lengthMs: number): PartialSource => ({
  lengthMs,
  request: () => request(lengthMs, 'partial'),
  done: (reading, tookMs) => done.push(`${lengthMs} ${reading?.text ?? 'nothing'} ${tookMs}`),
})
const queueOf = (reader: FakeReader) => new ReadQueue(reader, 1000, clock)

describe('the queue of readings', () => {
  it('reads results in the order they came, and partials only when no result waits', async () => {
    const reader = new FakeReader()
    const queue = queueOf(reader)
    queue.readPartial(source(100))
    const second = queue.readFinal(request(200), signal())
    void queue.readFinal(request(300), signal())
    queue.readPartial(source(400))
    expect(reader.reading).toEqual(['partial 100'])
    await reader.answer({ text: 'shown' })
    expect(done).toEqual(['100 shown 0'])
    expect(reader.reading).toEqual(['final 200'])
    await reader.answer({ text: 'two' })
    expect((await second).text).toBe('two')
    expect(reader.reading).toEqual(['final 300'])
    await reader.answer()
    expect(reader.reading).toEqual(['partial 400'])
  })

  it('has no more readings at once than the reader takes', async () => {
    const reader = new FakeReader({ readsAtOnce: 2 })
    const queue = queueOf(reader)
    for (const lengthMs of [1, 2, 3]) void queue.readFinal(request(lengthMs), signal())
    expect(reader.reading).toEqual(['final 1', 'final 2'])
    await reader.answer()
    expect(reader.reading).toEqual(['final 2', 'final 3'])
  })

  it('reads a source once that was asked for twice, of the audio that it has then', async () => {
    const reader = new FakeReader()
    const queue = queueOf(reader)
    void queue.readFinal(request(1), signal())
    let lengthMs = 100
    const growing: PartialSource = { lengthMs: 0, request: () => request(lengthMs, 'partial'), done: () => undefined }
    queue.readPartial(growing)
    queue.readPartial(growing)
    lengthMs = 500
    await reader.answer()
    expect(reader.reading).toEqual(['partial 500'])
    await reader.answer()
    expect(reader.reading).toEqual([])
  })

  it('reads no partials while the reader was busy for three quarters of the last seconds, and continues later', async () => {
    const reader = new FakeReader()
    const queue = queueOf(reader)
    for (let second = 0; second < 8; second += 1) {
      void queue.readFinal(request(5000), signal())
      clock.ms += 900
      await reader.answer()
      clock.ms += 100
    }
    queue.readPartial(source(100))
    expect(reader.reading).toEqual([])
    clock.ms += 1_000
    queue.readPartial(source(100))
    expect(reader.reading).toEqual(['partial 100'])
  })

  it('stops a partial for a result that waits, if the reader can stop', async () => {
    const reader = new FakeReader({ stops: true })
    const queue = queueOf(reader)
    queue.readPartial(source(100))
    void queue.readFinal(request(200), signal())
    expect(reader.pending[0]?.signal.aborted).toBe(true)
    await reader.answer(new Error('stopped'))
    expect(done).toEqual(['100 nothing 0'])
    expect(reader.reading).toEqual(['final 200'])
  })

  it('does not read what was given up while it waited', async () => {
    const reader = new FakeReader()
    const queue = queueOf(reader)
    void queue.readFinal(request(1), signal())
    const given = new AbortController()
    const second = queue.readFinal(request(2), given.signal)
    const third = source(3)
    queue.readPartial(third)
    given.abort()
    queue.leave(third)
    await expect(second).rejects.toThrow('not needed')
    await reader.answer()
    expect(reader.reading).toEqual([])
  })

  it('says how long a result waits, by what readings cost and by the oldest that waits', async () => {
    const reader = new FakeReader()
    const queue = queueOf(reader)
    void queue.readFinal(request(1_000), signal())
    clock.ms += 100
    await reader.answer()
    expect(queue.waitMs()).toBe(0)
    void queue.readFinal(request(4_000), signal())
    void queue.readFinal(request(2_000), signal())
    expect(queue.waitMs()).toBeCloseTo(600)
    clock.ms += 100
    expect(queue.waitMs()).toBeCloseTo(500)
    clock.ms += 2_000
    expect(queue.waitMs()).toBe(2_100)
  })

  it('fails a reading that is not answered, and uses its place', async () => {
    const reader = new FakeReader()
    const queue = queueOf(reader)
    const first = queue.readFinal(request(1), signal())
    void queue.readFinal(request(2), signal())
    clock.flush()
    await expect(first).rejects.toThrow('has not answered for 120 s')
    await settled()
    expect(reader.reading).toEqual(['final 1', 'final 2'])
    expect(reader.pending[0]?.signal.aborted).toBe(true)
  })
})
