import { describe, expect, it } from 'vitest'
import { meanPower } from '../../src/recognition/forced-cut.js'
import type { SegmenterOutput } from '../../src/recognition/segment-machine.js'
import { defaultSegmenterParameters } from '../../src/recognition/segmenter-parameters.js'
import { createSegmenter, joinSegmenter } from '../../src/recognition/segmenter.js'
import { collectRun, type MachineRun } from './machine-run.js'
import { nonzeroDetector } from './scripted-channel.js'
import { amplitude, halved, joined, noiseSource, recording, recordingsMissing, sound, throughUlaw } from './sounds.js'

const recordings = [
  'ten-of-clubs.wav',
  'four-queen-of-clubs.wav',
  'seven-of-clubs.wav',
  'go-forward-ten-meters.16k.raw',
  'librivox-0880.wav',
  'librivox-0870.wav',
]

const segmentsOf = async (
  samples: Int16Array,
  rateHz: number,
  settings: Partial<typeof defaultSegmenterParameters> = {},
  chunk = samples.length,
): Promise<MachineRun> => {
  const segmenter = await createSegmenter({
    parameters: { ...defaultSegmenterParameters, ...settings },
    inputRateHz: rateHz,
  })
  const outputs: SegmenterOutput[] = []
  for (let from = 0; from < samples.length; from += chunk)
    outputs.push(...segmenter.push(samples.subarray(from, from + chunk)))
  outputs.push(...segmenter.finish())
  segmenter.free()
  return collectRun([[0, outputs]])
}

/** The share of the frames as loud as words of these recordings that lie in a segment. */
const loudShareKept = (samples: Int16Array, rateHz: number, { segments }: MachineRun): number => {
  const hop = rateHz / 100
  let loud = 0
  let kept = 0
  for (let frame = 0; (frame + 1) * hop <= samples.length; frame += 1) {
    if (meanPower(samples.subarray(frame * hop, (frame + 1) * hop)) < amplitude(-38) ** 2) continue
    loud += 1
    if (segments.some(({ startMs, endMs }) => startMs <= frame * 10 && frame * 10 + 10 <= endMs)) kept += 1
  }
  return kept / loud
}

describe('joinSegmenter', () => {
  it('freezes the noise floor only while speech is confirmed', () => {
    const frozen: boolean[] = []
    const detector = { ...nonzeroDetector, freezeFloor: (isFrozen: boolean) => frozen.push(isFrozen) }
    const segmenter = joinSegmenter(detector, defaultSegmenterParameters, 1000)
    const frames = (count: number, value: number) => segmenter.push(new Int16Array(count * 10).fill(value))
    frames(2, 0)
    frames(7, 1)
    frames(6, 0)
    expect(frozen).toEqual([...Array<boolean>(7).fill(false), true, true, ...Array<boolean>(6).fill(false)])
    frames(1, 1)
    segmenter.interrupt()
    expect(frozen.slice(-2)).toEqual([true, false])
  })

  it.each([
    ['the silence trigger', { silenceTriggerMs: 400, postSpeechBufferMs: 400 }, [1000, 1400]],
    ['a post-speech buffer that is longer', { silenceTriggerMs: 200, postSpeechBufferMs: 470 }, [1000, 1470]],
    ['the longest speech', { maxSpeechDurationMs: 1000 }, [1100, 1000]],
    ['a graceful silence', { gracefulSilenceThresholdMs: 730 }, [0, 730]],
  ])(
    'decides %s with the chunk of 20 ms that reaches it, and a begin of speech within 60 ms',
    (_what, given, times) => {
      const [speechMs = 0, decidedMs = 0] = times
      const segmenter = joinSegmenter(
        nonzeroDetector,
        { ...defaultSegmenterParameters, gracefulSilenceThresholdMs: 0, ...given },
        1000,
      )
      const decidedAt = new Map<string, number>()
      for (let fromMs = 0; fromMs < 2000; fromMs += 20) {
        const chunk = new Int16Array(20).fill(fromMs < speechMs ? 1 : 0)
        for (const { type } of segmenter.push(chunk)) if (!decidedAt.has(type)) decidedAt.set(type, fromMs + 20)
      }
      expect(decidedAt.get('close') ?? decidedAt.get('graceful-silence')).toBe(Math.ceil(decidedMs / 20) * 20)
      if (speechMs > 0) expect(decidedAt.get('speech-started')).toBeLessThanOrEqual(60 + 60)
    },
  )
})

describe('createSegmenter', () => {
  it('returns the same empty array in silence', async () => {
    const segmenter = await createSegmenter({ parameters: defaultSegmenterParameters, inputRateHz: 8000 })
    expect(segmenter.push(new Int16Array(800))).toBe(segmenter.push(new Int16Array(0)))
    segmenter.free()
  })

  it('ends gracefully in digital silence', async () => {
    const { gracefulAtMs, segments } = await segmentsOf(new Int16Array(8000 * 12), 8000)
    expect([gracefulAtMs, segments]).toEqual([[10_000], []])
  })
})

describe.skipIf(recordingsMissing !== undefined)(`a segmenter on recordings ${recordingsMissing ?? ''}`, () => {
  const noise = noiseSource(7)
  const room = (rateHz: number) => sound(rateHz, 1.5, () => amplitude(-60) * noise())

  for (const name of recordings) {
    it(`clips no word of ${name}, in a room and in digital silence, at 16 kHz and through µ-law at 8 kHz`, async () => {
      const wide = recording(name)
      const narrow = throughUlaw(halved(wide))
      for (const around of [room(16_000), new Int16Array(16_000)]) {
        const samples = joined(around, wide, around)
        expect(loudShareKept(samples, 16_000, await segmentsOf(samples, 16_000))).toBe(1)
      }
      for (const around of [room(8000), new Int16Array(8000)]) {
        const samples = joined(around, narrow, around)
        expect(loudShareKept(samples, 8000, await segmentsOf(samples, 8000))).toBe(1)
      }
    })
  }

  it('makes two segments of two sentences with a pause', async () => {
    const samples = joined(
      room(16_000),
      recording('ten-of-clubs.wav'),
      room(16_000),
      recording('seven-of-clubs.wav'),
      room(16_000),
    )
    const { segments } = await segmentsOf(samples, 16_000)
    expect(segments).toHaveLength(2)
  })

  it('detects speech that is 20 dB softer', async () => {
    const soft = recording('librivox-0880.wav').map((sample) => sample / 10)
    const samples = joined(room(16_000), soft, room(16_000))
    const { segments } = await segmentsOf(samples, 16_000)
    expect(segments[0]?.startMs).toBeLessThan(1800)
    expect(segments.at(-1)?.endMs).toBeGreaterThan(4300)
  })

  it('outputs the same segments in chunks of 10, 20, 37 and 1000 ms and in one message', async () => {
    const samples = joined(
      room(8000),
      halved(recording('librivox-0870.wav')),
      room(8000),
      halved(recording('ten-of-clubs.wav')),
    )
    for (const audioSplitter of ['realtime-vad', 'audio-segmenter'] as const) {
      const settings = { audioSplitter, maxSpeechDurationMs: 2000 }
      const { segments } = await segmentsOf(samples, 8000, settings)
      expect(segments.length).toBeGreaterThan(2)
      for (const chunkMs of [10, 20, 37, 1000]) {
        expect((await segmentsOf(samples, 8000, settings, chunkMs * 8)).segments).toEqual(segments)
      }
    }
  })

  it('outputs the same after finish as for audio that ends there', async () => {
    const samples = recording('four-queen-of-clubs.wav')
    const cut = samples.subarray(0, 16_001)
    const { segments } = await segmentsOf(cut, 16_000, {}, 333)
    expect(segments.at(-1)?.samples).toHaveLength(16_001)
    expect(segments).toEqual((await segmentsOf(cut.slice(), 16_000)).segments)
  })
})

describe('changing the parameters of a segmenter', () => {
  const run = (changes: Readonly<Record<number, Partial<typeof defaultSegmenterParameters>>>) => {
    const tuned: number[] = []
    const setSensitivity = (sensitivity: number): void => {
      tuned.push(sensitivity)
    }
    const segmenter = joinSegmenter({ ...nonzeroDetector, setSensitivity }, defaultSegmenterParameters, 1000)
    const outputs: SegmenterOutput[] = []
    // Speech at 1000 to 2000 and 3000 to 6000 ms.
    for (let ms = 0; ms < 8000; ms += 10) {
      const change = changes[ms]
      if (change !== undefined) segmenter.setParameters({ ...defaultSegmenterParameters, ...change })
      const speaks = (ms >= 1000 && ms < 2000) || (ms >= 3000 && ms < 6000)
      outputs.push(...segmenter.push(new Int16Array(10).fill(speaks ? 1 : 0)))
    }
    return { spans: collectRun([[0, outputs]]).segments.map(({ startMs, endMs }) => [startMs, endMs]), tuned }
  }

  it('keeps the former ones until the open segment is closed', () => {
    expect(run({})).toEqual({
      spans: [
        [700, 2400],
        [2700, 6400],
      ],
      tuned: [],
    })
    expect(run({ 1500: { preSpeechBufferMs: 100, postSpeechBufferMs: 0, sensitivity: 9 } })).toEqual({
      spans: [
        [700, 2400],
        [2900, 6000],
      ],
      tuned: [9],
    })
    expect(run({ 1030: { preSpeechBufferMs: 100 } }).spans).toEqual([
      [700, 2400],
      [2900, 6400],
    ])
  })

  it('applies the later of two changes, and counts long speech from its start', () => {
    expect(run({ 1500: { maxSpeechDurationMs: 1000 }, 1600: { maxSpeechDurationMs: 2000 } }).spans).toEqual([
      [700, 2400],
      [2700, 5000],
      [5000, 6400],
    ])
  })

  it('starts no segment before the audio that it holds', () => {
    expect(run({ 2990: { preSpeechBufferMs: 5000 } }).spans).toEqual([
      [700, 2400],
      [2630, 6400],
    ])
  })
})
