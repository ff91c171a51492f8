import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AudioFormat } from '../../src/audio/format.js'
import { AudioQueue, type Gap } from '../../src/session/audio-queue.js'

const pcm: AudioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }
const queueOf = (maxBufferMs: number, maxAudioMessageBytes = 1000, format = pcm): AudioQueue =>
  new AudioQueue({ format, maxBufferMs, maxAudioMessageBytes })
const ofMs = (durationMs: number): Uint8Array => new Uint8Array(durationMs * 16)

const drain = (queue: AudioQueue): Uint8Array[] => {
  const pieces: Uint8Array[] = []
  for (let piece = queue.shift(); piece !== undefined; piece = queue.shift()) pieces.push(piece)
  return pieces
}

describe('the audio queue', () => {
  it('lets whole frames pass while nothing stands before them, and nothing else', () => {
    const queue = queueOf(100, 64)
    expect(queue.passes(new Uint8Array(64))).toBe(true)
    expect(queue.passes(new Uint8Array(0))).toBe(false)
    expect(queue.passes(new Uint8Array(3))).toBe(false)
    expect(queue.passes(new Uint8Array(66))).toBe(false)
    queue.push(new Uint8Array(1))
    expect(queue.passes(new Uint8Array(2))).toBe(false)
    queue.push(new Uint8Array(1))
    expect(queue.passes(new Uint8Array(2))).toBe(false)
    drain(queue)
    expect(queue.passes(new Uint8Array(2))).toBe(true)
  })

  it('gives the same memory out that came in', () => {
    const queue = queueOf(100)
    const bytes = ofMs(10)
    queue.push(bytes)
    expect(queue.shift()?.buffer).toBe(bytes.buffer)
  })

  it('tells one gap for one stretch, however many chunks fell into it, once audio fits again', () => {
    const queue = queueOf(20)
    const gaps: (Gap | undefined)[] = []
    for (let i = 0; i < 5; i++) {
      queue.push(ofMs(10))
      gaps.push(queue.trim())
    }
    expect(gaps).toEqual([undefined, undefined, undefined, undefined, undefined])
    queue.shift()
    queue.push(ofMs(5))
    expect(queue.trim()).toEqual({ fromMs: 20, toMs: 50, cause: 'buffer-full' })
    expect(queue.end()).toEqual([])
    queue.push(ofMs(30))
    queue.trim()
    drain(queue)
    expect(queue.passes(ofMs(1))).toBe(false)
  })

  it('drops what waits with its cause, joined where it stood together, and the open gaps with theirs', () => {
    const queue = queueOf(20)
    queue.push(ofMs(10))
    queue.push(ofMs(15))
    queue.push(new Uint8Array(1))
    queue.trim()
    expect(queue.drop('stopped')).toEqual([
      { fromMs: 0, toMs: 20, cause: 'stopped' },
      { fromMs: 20, toMs: 25, cause: 'buffer-full' },
      { fromMs: 25, toMs: 25.0625, cause: 'stopped' },
    ])
    expect(queue.isEmpty).toBe(true)
    expect(queue.drop('failed')).toEqual([])
  })

  it('does not hold the memory of a long chunk of which little is kept', () => {
    const queue = queueOf(1)
    queue.push(ofMs(60_000))
    queue.trim()
    expect(queue.shift()?.buffer.byteLength).toBe(16)
  })

  it('forgets what went out even where it never runs empty', () => {
    const queue = queueOf(1000)
    queue.push(ofMs(1))
    for (let i = 0; i < 5000; i++) {
      queue.push(ofMs(1))
      expect(queue.shift()).toHaveLength(16)
    }
    expect(drain(queue)).toHaveLength(1)
  })

  it('accounts for every byte: what comes out and the gaps are what went in, in order, in whole frames, within the bounds', () => {
    const chunk = fc.record({ do: fc.constant('push' as const), length: fc.integer({ min: 0, max: 90 }) })
    const shift = fc.record({ do: fc.constant('shift' as const), count: fc.integer({ min: 0, max: 4 }) })
    const formats = fc.record<AudioFormat>({
      encoding: fc.constantFrom('pcm', 'ulaw', 'alaw'),
      sampleRateHz: fc.constantFrom(8000, 44_100),
      channels: fc.constantFrom(1, 2),
    })
    const ends = fc.constantFrom('end', 'stopped', 'failed')
    fc.assert(
      fc.property(
        fc.array(fc.oneof(chunk, shift), { maxLength: 60 }),
        formats,
        fc.integer({ min: 4, max: 40 }),
        fc.integer({ min: 1, max: 20 }),
        ends,
        (acts, format, maxMessage, boundFrames, end) => {
          const frame = (format.encoding === 'pcm' ? 2 : 1) * format.channels
          const toBytes = (ms: number): number => Math.round((ms * format.sampleRateHz * frame) / 1000)
          const queue = queueOf((boundFrames * 1000) / format.sampleRateHz, maxMessage, format)
          let captured = 0
          // Each byte of the source is numbered; what happened to each is written down once.
          const fate = new Map<number, string>()
          const tell = (gap: Gap | undefined): void => {
            if (gap === undefined) return
            for (let at = toBytes(gap.fromMs); at < toBytes(gap.toMs); at++) {
              expect(fate.has(at)).toBe(false)
              fate.set(at, gap.cause)
            }
          }
          let lastOut = -1
          const take = (): void => {
            const piece = queue.shift()
            if (piece === undefined) return
            expect(piece.length % frame).toBe(0)
            expect(piece.length).toBeGreaterThan(0)
            expect(piece.length).toBeLessThanOrEqual(maxMessage)
            // 251 is prime and longer than any stretch between two bytes that are compared.
            for (const byte of piece) {
              let at = lastOut + 1
              while (at % 251 !== byte || fate.has(at)) at += 1
              fate.set(at, 'sent')
              lastOut = at
            }
          }
          for (const act of acts) {
            if (act.do === 'push') {
              queue.push(Uint8Array.from({ length: act.length }, (_, index) => (captured + index) % 251))
              captured += act.length
              tell(queue.trim())
            } else for (let i = 0; i < act.count; i++) take()
          }
          if (end === 'end') for (const gap of queue.end()) tell(gap)
          const before = fate.size
          if (end === 'end') while (!queue.isEmpty) take()
          else for (const gap of queue.drop(end)) tell(gap)
          if (end === 'end') expect(fate.size - before).toBeLessThanOrEqual(boundFrames * frame)
          expect(fate.size).toBe(captured)
          expect(Math.max(-1, ...fate.keys())).toBe(captured - 1)
        },
      ),
      { numRuns: 1500 },
    )
  })
})
