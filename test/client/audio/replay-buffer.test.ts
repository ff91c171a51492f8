import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AudioFormat } from '../../../src/audio/format.js'
import { ReplayBuffer, type Gap } from '../../../src/client/audio/replay-buffer.js'
import { runs } from '../../thorough.js'

const pcm: AudioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }
const bufferOf = (maxWaitingMs: number, maxChunkBytes = 1000, format = pcm): ReplayBuffer =>
  new ReplayBuffer({ format, maxWaitingMs, maxChunkBytes, maxReplayBytes: 0, preRollMs: 0 })
const ofMs = (durationMs: number): Uint8Array => new Uint8Array(durationMs * 16)

const drain = (buffer: ReplayBuffer): Uint8Array[] => {
  const pieces: Uint8Array[] = []
  for (let piece = buffer.shift(); piece !== undefined; piece = buffer.shift()) pieces.push(piece)
  return pieces
}

describe('the replay buffer', () => {
  it('passes only whole frames, and only while no audio is queued', () => {
    const buffer = bufferOf(100, 64)
    expect(buffer.passes(new Uint8Array(64))).toBe(true)
    expect(buffer.passes(new Uint8Array(0))).toBe(false)
    expect(buffer.passes(new Uint8Array(3))).toBe(false)
    expect(buffer.passes(new Uint8Array(66))).toBe(false)
    buffer.push(new Uint8Array(1))
    expect(buffer.passes(new Uint8Array(2))).toBe(false)
    buffer.push(new Uint8Array(1))
    expect(buffer.passes(new Uint8Array(2))).toBe(false)
    drain(buffer)
    expect(buffer.passes(new Uint8Array(2))).toBe(true)
  })

  it('keeps a copy, so that the caller may reuse the bytes', () => {
    const buffer = bufferOf(100)
    const bytes = new Uint8Array(16).fill(1)
    buffer.push(bytes)
    bytes.fill(2)
    expect(buffer.shift()).toEqual(new Uint8Array(16).fill(1))
  })

  it('reports one gap for one stretch, however many chunks it contains, once audio fits again', () => {
    const buffer = bufferOf(20)
    const gaps: (Gap | undefined)[] = []
    for (let i = 0; i < 5; i++) {
      buffer.push(ofMs(10))
      gaps.push(buffer.trim())
    }
    expect(gaps).toEqual([undefined, undefined, undefined, undefined, undefined])
    buffer.shift()
    buffer.push(ofMs(5))
    expect(buffer.trim()).toEqual({ fromMs: 20, toMs: 50, cause: 'buffer-full' })
    expect(buffer.end()).toEqual([])
    buffer.push(ofMs(30))
    buffer.trim()
    drain(buffer)
    expect(buffer.passes(ofMs(1))).toBe(false)
  })

  it('drops no queued audio for audio that is sent again', () => {
    const buffer = new ReplayBuffer({
      format: pcm,
      maxWaitingMs: 20,
      maxChunkBytes: 1000,
      maxReplayBytes: 10_000,
      preRollMs: 0,
    })
    buffer.push(ofMs(40))
    drain(buffer)
    buffer.push(ofMs(20))
    expect(buffer.trim()).toBeUndefined()
    expect(buffer.rewind()).toMatchObject({ replayedMs: 40, gaps: [] })
    buffer.push(ofMs(10))
    buffer.trim()
    expect(buffer.totals).toMatchObject({ captured: 70 * 16, pending: 60 * 16, replayed: 0, dropped: 10 * 16 })
    expect(buffer.end()).toEqual([{ fromMs: 60, toMs: 70, cause: 'buffer-full' }])
  })

  it('drops queued audio with its cause, joined if contiguous, and the open gaps with their causes', () => {
    const buffer = bufferOf(20)
    buffer.push(ofMs(10))
    buffer.push(ofMs(15))
    buffer.push(new Uint8Array(1))
    buffer.trim()
    expect(buffer.drop('stopped')).toEqual([
      { fromMs: 0, toMs: 20, cause: 'stopped' },
      { fromMs: 20, toMs: 25, cause: 'buffer-full' },
      { fromMs: 25, toMs: 25.0625, cause: 'stopped' },
    ])
    expect(buffer.isSent).toBe(true)
    expect(buffer.drop('failed')).toEqual([])
  })

  it('does not retain the memory of a long chunk of which little is kept', () => {
    const buffer = bufferOf(1)
    buffer.push(ofMs(60_000))
    buffer.trim()
    expect(buffer.shift()?.buffer.byteLength).toBe(16)
  })

  it('forgets sent audio even if it never runs empty', () => {
    const buffer = bufferOf(1000)
    buffer.push(ofMs(1))
    for (let i = 0; i < 5000; i++) {
      buffer.push(ofMs(1))
      expect(buffer.shift()).toHaveLength(16)
    }
    expect(drain(buffer)).toHaveLength(1)
  })

  it('accounts for every byte: output and gaps equal the input, in order, in whole frames, within the bounds', () => {
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
          const buffer = bufferOf((boundFrames * 1000) / format.sampleRateHz, maxMessage, format)
          let captured = 0
          // Each byte of the source is numbered; its outcome is recorded once.
          const fate = new Map<number, string>()
          const report = (gap: Gap | undefined): void => {
            if (gap === undefined) return
            for (let at = toBytes(gap.fromMs); at < toBytes(gap.toMs); at++) {
              // Audio that was sent and has no result is dropped as well.
              expect(fate.get(at) ?? 'sent').toBe('sent')
              fate.set(at, gap.cause)
            }
          }
          let lastOut = -1
          const take = (): void => {
            const piece = buffer.shift()
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
              buffer.push(Uint8Array.from({ length: act.length }, (_, index) => (captured + index) % 251))
              captured += act.length
              report(buffer.trim())
            } else for (let i = 0; i < act.count; i++) take()
          }
          if (end === 'end') for (const gap of buffer.end()) report(gap)
          const before = fate.size
          if (end === 'end') while (!buffer.isSent) take()
          else for (const gap of buffer.drop(end)) report(gap)
          if (end === 'end') expect(fate.size - before).toBeLessThanOrEqual(boundFrames * frame)
          expect(fate.size).toBe(captured)
          const { captured: all, finalized, pending, replayed, dropped } = buffer.totals
          expect([all, finalized + pending + replayed + dropped]).toEqual([captured, captured])
          expect(Math.max(-1, ...fate.keys())).toBe(captured - 1)
        },
      ),
      { numRuns: runs(1500) },
    )
  })
})
