import { describe, expect, it } from 'vitest'
import { deinterleaveChannels } from '../../../../../src/audio/channels.js'
import { decodeSamples } from '../../../../../src/audio/codec.js'
import { defaultSegmenterParameters } from '../../../src/recognition/segmenter-parameters.js'
import { createSegmenter } from '../../../src/recognition/segmenter.js'
import { readRecording } from '../../../../../test/audio/read-recording.js'
import { everyNth } from '../../../../../test/thorough.js'
import { amplitude, halved, joined, noiseSource, recording, recordingsMissing, sound, throughUlaw } from '../sounds.js'

/** Without buffers, so that a segment has the position of the speech. */
const parameters = { ...defaultSegmenterParameters, preSpeechBufferMs: 0, postSpeechBufferMs: 0 }
const stepMs = 100 * everyNth(2)
/** After a cut, this much speech must remain. */
const minMs = 300
const runInMs = 1000

interface Span {
  readonly startMs: number
  readonly endMs: number
}

const spansOf = async (samples: Int16Array, rateHz: number): Promise<readonly Span[]> => {
  const segmenter = await createSegmenter({ parameters, inputRateHz: rateHz })
  const outputs = [...segmenter.push(samples), ...segmenter.finish()]
  segmenter.free()
  return outputs.flatMap((output) => (output.type === 'speech-ended' ? [output] : []))
}

/** The same after a second of a quiet room, which the detector adapts to first. */
const spansBehindRoom = async (samples: Int16Array, rateHz: number): Promise<readonly Span[]> => {
  const next = noiseSource(9)
  const room = sound(rateHz, runInMs / 1000, () => amplitude(-60) * next())
  const spans = await spansOf(joined(room, samples), rateHz)
  return spans.map(({ startMs, endMs }) => ({ startMs: startMs - runInMs, endMs: endMs - runInMs }))
}

/** How much later than after a quiet room each start within speech is detected; Infinity if it is not detected. */
const delaysOf = async (samples: Int16Array, rateHz: number): Promise<readonly number[]> => {
  const perMs = rateHz / 1000
  const delays: number[] = []
  for (const { startMs, endMs } of await spansBehindRoom(samples, rateHz)) {
    const firstMs = Math.ceil(Math.max(startMs, 0) / stepMs) * stepMs
    for (let cutMs = firstMs; cutMs <= endMs - minMs; cutMs += stepMs) {
      const cut = samples.subarray(cutMs * perMs, (endMs + 300) * perMs)
      const [expected] = await spansBehindRoom(cut, rateHz)
      if (expected === undefined) continue
      const [span] = await spansOf(cut, rateHz)
      delays.push((span?.startMs ?? Infinity) - expected.startMs)
    }
  }
  return delays
}

const shareWithin = (delays: readonly number[], ms: number): number =>
  delays.filter((delay) => delay <= ms).length / delays.length

interface Line {
  readonly noiseDb: number
  /** Of the speech. */
  readonly gainDb?: number
}

/** The share of the speech, found without noise, that is found in noise whose power falls with its frequency. */
const shareInNoise = async (samples: Int16Array, rateHz: number, { noiseDb, gainDb = 0 }: Line): Promise<number> => {
  const gain = 10 ** (gainDb / 20)
  const next = noiseSource(21)
  let low = 0
  const noisy = joined(new Int16Array(2 * rateHz), samples).map((sample) => {
    low += 0.3 * (next() - low)
    return gain * sample + 2.4 * amplitude(noiseDb) * low
  })
  const found = (await spansOf(noisy, rateHz)).map(({ startMs, endMs }) => [startMs - 2000, endMs - 2000] as const)
  let all = 0
  let heard = 0
  for (const { startMs, endMs } of await spansBehindRoom(samples, rateHz)) {
    all += endMs - startMs
    for (const [from, to] of found) heard += Math.max(0, Math.min(to, endMs) - Math.max(from, startMs))
  }
  return heard / all
}

describe('speech in a noisy room', () => {
  it('is detected for the most part in the sample call', async () => {
    const { bytes, format } = await readRecording('samples/call.wav')
    for (const channel of deinterleaveChannels(bytes, 1)) {
      const samples = decodeSamples(channel, format.encoding)
      for (const noiseDb of [-50, -40]) {
        expect(await shareInNoise(samples, format.sampleRateHz, { noiseDb }), `${noiseDb} dBFS`).toBeGreaterThan(0.85)
      }
    }
  })
})

describe('soft speech', () => {
  for (const [gainDb, noiseDb] of [
    [-12, -60],
    [-18, -60],
    [-18, -66],
  ] as const) {
    it(`is detected ${-gainDb} dB below the sample call, with noise at ${noiseDb} dBFS`, async () => {
      const { bytes, format } = await readRecording('samples/call.wav')
      for (const channel of deinterleaveChannels(bytes, 1)) {
        const samples = decodeSamples(channel, format.encoding)
        expect(await shareInNoise(samples, format.sampleRateHz, { noiseDb, gainDb })).toBeGreaterThan(0.85)
      }
    })
  }
})

describe('audio that begins within speech', () => {
  it('is detected within 300 ms at nine of ten positions of the sample call', async () => {
    const { bytes, format } = await readRecording('samples/call.wav')
    const channels = deinterleaveChannels(bytes, 1).map((channel) => decodeSamples(channel, format.encoding))
    const delays: number[] = []
    for (const channel of channels) delays.push(...(await delaysOf(channel, format.sampleRateHz)))
    expect(delays.length).toBeGreaterThan(100)
    expect(shareWithin(delays, 300)).toBeGreaterThan(0.89)
  })

  it.skipIf(recordingsMissing !== undefined)(
    `is detected within 300 ms at nine of ten positions of recordings ${recordingsMissing ?? ''}`,
    async () => {
      const delays: number[] = []
      for (const name of ['four-queen-of-clubs.wav', 'librivox-0880.wav', 'librivox-0870.wav']) {
        const wide = recording(name)
        delays.push(...(await delaysOf(wide, 16_000)), ...(await delaysOf(throughUlaw(halved(wide)), 8000)))
      }
      expect(delays.length).toBeGreaterThan(100)
      expect(shareWithin(delays, 300)).toBeGreaterThan(0.91)
    },
  )
})
