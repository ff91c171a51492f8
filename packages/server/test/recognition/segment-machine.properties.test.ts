import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { SegmenterOutput } from '../../src/recognition/segment-machine.js'
import { joinSegmenter } from '../../src/recognition/segmenter.js'
import { defaultSegmenterParameters, type SegmenterParameters } from '../../src/recognition/segmenter-parameters.js'
import { collectRun, runMachine, testRateHz, type MachineRun } from './machine-run.js'
import { nonzeroDetector } from './scripted-channel.js'
import { runs } from '../../../../test/thorough.js'

/** Alternating speech and pauses, in whole frames, as verdicts by frame. */
const speechFrames: fc.Arbitrary<readonly boolean[]> = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 150 }), fc.integer({ min: 1, max: 80 })), { maxLength: 12 })
  .map((turns) =>
    turns.flatMap(([pause, speech]) => [...Array<boolean>(pause).fill(false), ...Array<boolean>(speech).fill(true)]),
  )

const talkWithLongPauses: fc.Arbitrary<readonly boolean[]> = fc
  .array(fc.tuple(fc.constantFrom(0, 2_900, 3_100, 6_500), speechFrames), { maxLength: 3 })
  .map((turns) => turns.flatMap(([pause, frames]) => [...frames, ...Array<boolean>(pause).fill(false)]))

const parameters: fc.Arbitrary<SegmenterParameters> = fc.record({
  audioSplitter: fc.constantFrom('realtime-vad' as const, 'audio-segmenter' as const),
  sensitivity: fc.constant(6),
  preSpeechBufferMs: fc.integer({ min: 0, max: 500 }),
  postSpeechBufferMs: fc.integer({ min: 0, max: 600 }),
  maxSpeechDurationMs: fc.oneof(fc.constant(-1), fc.integer({ min: 1000, max: 4000 })),
  silenceTriggerMs: fc.integer({ min: 50, max: 900 }),
  completeSilenceMs: fc.constantFrom(0, 50, 120, 300),
  gracefulSilenceThresholdMs: fc.constantFrom(0, 700, 2000),
  onsetMs: fc.constantFrom(0, 20, 60),
})

const verdict =
  (frames: readonly boolean[]) =>
  (positionMs: number): boolean =>
    frames[positionMs / 10] ?? false

/** A loudness that is constant for each frame and differs between frames. */
const sample = (positionMs: number): number => (positionMs * 7919) % 997

/** An engine that answers by the position of the audio alone. */
const isComplete = (positionMs: number): boolean => (positionMs / 10) % 3 === 0

const run = (frames: readonly boolean[], settings: SegmenterParameters, untilMs = frames.length * 10): MachineRun =>
  runMachine(verdict(frames), { parameters: settings, untilMs, finish: true, sample, isComplete })

/**
 * The same verdicts through a segmenter, in chunks of any length; a verdict is encoded in the detector's frame count.
 */
const runChunked = (frames: readonly boolean[], settings: SegmenterParameters, chunkMs: number): MachineRun => {
  let count = 0
  const detector = { ...nonzeroDetector, isSpeech: () => frames[count++] ?? false }
  const segmenter = joinSegmenter(detector, settings, testRateHz, true)
  const outputs: SegmenterOutput[] = []
  const answer = (): void => {
    outputs.push(...segmenter.answer(isComplete(count * 10)))
  }
  let chunks = 0
  for (let from = 0; from < frames.length * 10; from += chunkMs) {
    const length = Math.min(chunkMs, frames.length * 10 - from)
    outputs.push(...segmenter.push(Int16Array.from({ length }, (_, index) => sample(from + index))))
    chunks += 1
    // Some answers come only after further chunks.
    if (segmenter.isAsking && chunks % 3 === 0) answer()
  }
  while (segmenter.isAsking) answer()
  outputs.push(...segmenter.finish())
  return collectRun([[0, outputs]])
}

const essence = ({ segments, started, gracefulAtMs, silences }: MachineRun) => ({
  segments: segments.map(({ startMs, endMs, samples }) => ({ startMs, endMs, samples })),
  started,
  gracefulAtMs,
  silences: silences.map(({ startMs, endMs }) => ({ startMs, endMs })),
})

describe('segments, for any audio and any parameters', () => {
  it('are in order, never overlap, and hold exactly the samples of their span', () => {
    fc.assert(
      fc.property(speechFrames, parameters, (frames, settings) => {
        let previousEnd = 0
        for (const { startMs, endMs, samples } of run(frames, settings).segments) {
          expect(startMs).toBeGreaterThanOrEqual(previousEnd)
          expect(endMs).toBeGreaterThan(startMs)
          expect(samples).toEqual(Array.from({ length: endMs - startMs }, (_, index) => sample(startMs + index)))
          previousEnd = endMs
        }
      }),
    )
  })

  it('and long silences do not overlap, and no silence is reported while a segment is open', () => {
    fc.assert(
      fc.property(talkWithLongPauses, parameters, (frames, settings) => {
        const { segments, silences } = run(frames, { ...settings, gracefulSilenceThresholdMs: 0 })
        const all = [...segments, ...silences].sort((a, b) => a.startMs - b.startMs)
        let previousEnd = 0
        for (const { startMs, endMs } of all) {
          expect(startMs).toBeGreaterThanOrEqual(previousEnd)
          expect(endMs).toBeGreaterThan(startMs)
          previousEnd = endMs
        }
        for (const { startMs, endMs, atMs } of silences) {
          expect(endMs).toBeLessThanOrEqual(atMs - settings.preSpeechBufferMs - settings.onsetMs)
          expect(atMs - startMs).toBeGreaterThanOrEqual(30_000)
          expect(segments.some((segment) => segment.endMs > startMs && segment.startMs < endMs)).toBe(false)
        }
      }),
      { numRuns: runs(40) },
    )
  })

  it('contain every frame of speech that was long enough to be confirmed', () => {
    fc.assert(
      fc.property(speechFrames, parameters, (frames, settings) => {
        const { segments } = run(frames, settings)
        const inside = (ms: number): boolean => segments.some(({ startMs, endMs }) => startMs <= ms && ms + 10 <= endMs)
        for (let from = 0; from < frames.length;) {
          let to = from
          while (frames[to] === true) to += 1
          const confirmed = to > from && (to - from) * 10 >= settings.onsetMs
          for (let frame = from; confirmed && frame < to; frame += 1) expect(inside(frame * 10)).toBe(true)
          from = Math.max(to, from + 1)
        }
      }),
    )
  })

  it('are the same in chunks of 10, 20, 37 and 1000 ms and in one message, however late the engine answers', () => {
    fc.assert(
      fc.property(speechFrames, parameters, (frames, settings) => {
        const whole = essence(run(frames, settings))
        for (const chunkMs of [10, 20, 37, 1000, 60_000]) {
          expect(essence(runChunked(frames, settings, chunkMs))).toEqual(whole)
        }
      }),
      { numRuns: runs(40) },
    )
  })

  it('after a finalize at any frame equal those of the audio cut there', () => {
    fc.assert(
      fc.property(speechFrames, parameters, fc.nat({ max: 2000 }), (frames, settings, at) => {
        const cut = Math.min(at, frames.length)
        const finalized = run(frames, settings, cut * 10)
        expect(essence(finalized)).toEqual(essence(run(frames.slice(0, cut), settings)))
        const later = run(frames, settings).segments.filter(({ atMs }) => atMs < cut * 10)
        expect(finalized.segments.slice(0, later.length)).toEqual(later)
      }),
    )
  })

  it('are not more with a longer silence trigger and without a maximum speech', () => {
    fc.assert(
      fc.property(speechFrames, parameters, fc.nat({ max: 900 }), (frames, settings, more) => {
        const realtime = { ...settings, audioSplitter: 'realtime-vad' as const, maxSpeechDurationMs: -1 }
        const longer = { ...realtime, silenceTriggerMs: realtime.silenceTriggerMs + more }
        expect(run(frames, longer).segments.length).toBeLessThanOrEqual(run(frames, realtime).segments.length)
      }),
    )
  })

  it('never contain more speech than the maximum speech', () => {
    fc.assert(
      fc.property(speechFrames, parameters, (frames, settings) => {
        const limited = { ...settings, maxSpeechDurationMs: 1000 }
        const padding = settings.preSpeechBufferMs + settings.postSpeechBufferMs
        for (const { startMs, endMs } of run(frames, limited).segments) {
          expect(endMs - startMs).toBeLessThanOrEqual(1000 + padding)
        }
      }),
    )
  })

  it('are announced and ended once each, in pairs', () => {
    fc.assert(
      fc.property(speechFrames, parameters, (frames, settings) => {
        const { outputs, segments } = run(frames, settings)
        const count = (type: SegmenterOutput['type']): number => outputs.filter((output) => output.type === type).length
        expect(count('speech-started')).toBe(segments.length)
        expect(count('speech-ended')).toBe(segments.length)
      }),
    )
  })
})

describe('the default parameters', () => {
  it('are those of the service description', () => {
    expect(defaultSegmenterParameters).toMatchObject({
      preSpeechBufferMs: 300,
      postSpeechBufferMs: 400,
      silenceTriggerMs: 400,
    })
  })
})
