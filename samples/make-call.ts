/**
 * Creates samples/call.wav and its transcript samples/call.json: a guest reserves a table by telephone, with the
 * restaurant on the left channel and the guest on the right, 8 kHz µ-law. The output is the same bytes every time.
 *
 *   apt-get install flite
 *   npx ts-node -O '{"rootDir":"."}' samples/make-call.ts
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encodeSamples } from '../src/audio/codec.js'
import { createResampler } from '../packages/server/src/recognition/resampler.js'
import { wavHeader } from '../src/audio/wav-header.js'

interface Utterance {
  readonly channel: 0 | 1
  /** Time after the end of the previous utterance; negative if they overlap. */
  readonly afterMs: number
  readonly text: string
}

const rateHz = 8000
const voices = ['slt', 'rms'] as const
/** Peak sample of each voice: the guest is quieter. */
const peaks = [11_000, 7_500] as const
/** White noise on both channels, -60 dBFS: the peak of uniform noise is √3 times its RMS. */
const noisePeak = 32_768 * 10 ** (-60 / 20) * Math.sqrt(3)

const utterances: readonly Utterance[] = [
  { channel: 0, afterMs: 800, text: 'good evening harbor grill how can i help you' },
  { channel: 1, afterMs: 500, text: 'hello i would like to book a table for four' },
  { channel: 0, afterMs: 450, text: 'of course which day would you like' },
  { channel: 1, afterMs: 600, text: 'friday at half past seven please' },
  { channel: 0, afterMs: 400, text: 'one moment please' },
  { channel: 1, afterMs: -180, text: 'sure' },
  { channel: 0, afterMs: 1500, text: 'i have a table at a quarter past eight' },
  { channel: 1, afterMs: 500, text: 'that works for us' },
  { channel: 0, afterMs: 400, text: 'may i have your name and phone number' },
  { channel: 1, afterMs: 500, text: 'peter wilson five five five zero one four two' },
  { channel: 0, afterMs: 450, text: 'five five five zero one four two' },
  { channel: 1, afterMs: 350, text: 'yes that is right' },
  { channel: 0, afterMs: 400, text: 'we will see you on friday' },
  { channel: 1, afterMs: 350, text: 'thank you goodbye' },
]
const endSilenceMs = 1200

/** The utterance as flite synthesizes it: 16-bit samples after a RIFF header of 44 bytes, which has the sample rate. */
const speak = (
  voice: string,
  text: string,
  folder: string,
): { readonly fromHz: number; readonly samples: Int16Array } => {
  const file = join(folder, 'utterance.wav')
  execFileSync('flite', ['-voice', voice, '-t', text, '-o', file])
  const bytes = readFileSync(file)
  const samples = Int16Array.from({ length: (bytes.length - 44) >> 1 }, (_, at) => bytes.readInt16LE(44 + 2 * at))
  return { fromHz: bytes.readUInt32LE(24), samples }
}

const resample = async (samples: Int16Array, fromHz: number): Promise<Int16Array> => {
  const resampler = await createResampler({ fromHz, toHz: rateHz, channels: 1 })
  const [body, tail] = [resampler.process(samples), resampler.flush()]
  resampler.free()
  return Int16Array.of(...body, ...tail)
}

/** Removes the silence before and after the speech. */
const trim = (samples: Int16Array): Int16Array => {
  const threshold = Math.max(...samples.map(Math.abs)) / 60
  const isLoud = (sample: number): boolean => Math.abs(sample) > threshold
  const margin = rateHz / 50
  const start = Math.max(samples.findIndex(isLoud) - margin, 0)
  return samples.slice(start, Math.min(samples.findLastIndex(isLoud) + margin, samples.length))
}

const toMs = (sampleCount: number): number => Math.round((sampleCount * 1000) / rateHz)
const toSamples = (durationMs: number): number => Math.round((durationMs * rateHz) / 1000)

/** A linear congruential generator with the constants of the example in ISO C; values from -1 to 1. */
const noise = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return state / 2 ** 31 - 1
  }
}

interface Turn {
  readonly channel: 0 | 1
  readonly startSample: number
  readonly speech: Int16Array
  readonly text: string
}

const speakAll = async (): Promise<readonly Turn[]> => {
  const folder = mkdtempSync(join(tmpdir(), 'rxspeech-call-'))
  const turns: Turn[] = []
  let endSample = 0
  for (const { channel, afterMs, text } of utterances) {
    const { samples, fromHz } = speak(voices[channel], text, folder)
    const speech = trim(await resample(samples, fromHz))
    const startSample = endSample + toSamples(afterMs)
    turns.push({ channel, startSample, speech, text })
    endSample = startSample + speech.length
  }
  rmSync(folder, { recursive: true })
  return turns
}

const mix = (turns: readonly Turn[]): Int16Array => {
  const frames =
    Math.max(...turns.map(({ startSample, speech }) => startSample + speech.length)) + toSamples(endSilenceMs)
  const mixed = new Float64Array(2 * frames)
  const channels = [noise(1), noise(2)]
  for (let at = 0; at < mixed.length; at += 1) mixed[at] = noisePeak * (channels[at % 2]?.() ?? 0)
  for (const { channel, startSample, speech } of turns) {
    const gain = peaks[channel] / Math.max(...speech.map(Math.abs))
    for (const [at, sample] of speech.entries()) {
      const index = 2 * (startSample + at) + channel
      mixed[index] = (mixed[index] ?? 0) + gain * sample
    }
  }
  return Int16Array.from(mixed, Math.round)
}

const main = async (): Promise<void> => {
  const turns = await speakAll()
  const data = encodeSamples(mix(turns), 'ulaw')
  const header = wavHeader({ encoding: 'ulaw', sampleRateHz: rateHz, channels: 2 }, data.length)
  writeFileSync(join(__dirname, 'call.wav'), Buffer.concat([header, data]))
  const transcript = turns.map(({ channel, startSample, speech, text }) => ({
    channel,
    startMs: toMs(startSample),
    endMs: toMs(startSample + speech.length),
    text,
  }))
  const rows = transcript.map((turn) => `    ${JSON.stringify(turn)}`).join(',\n')
  const head = `  "channels": ["restaurant", "guest"],\n  "durationMs": ${toMs(data.length / 2)},\n`
  writeFileSync(join(__dirname, 'call.json'), `{\n${head}  "turns": [\n${rows}\n  ]\n}\n`)
}

void main()
