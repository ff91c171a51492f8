import { decodeSamples } from '../../../audio/codec.js'
import { msForBytes } from '../../../audio/format.js'
import { joinBytes } from '../../../audio/join-bytes.js'
import { readWav } from '../../../audio/read-wav.js'
import { createResampler } from '../../../audio/resampler.js'
import type { Sound } from '../../../audio/sound.js'
import { SpeechError } from '../../../errors/speech-error.js'

const longestMs = 120_000

/** Made once for each file and rate: the bytes are the same in every session of a project. */
const made = new WeakMap<Uint8Array, Map<number, Promise<Sound>>>()

/**
 * A WAV file as sound of one channel at the given rate. Rejects with `invalid-wav` for what is none, and for more than two
 * minutes.
 */
export const promptSound = (wav: Uint8Array, sampleRateHz: number): Promise<Sound> => {
  const byRate = made.get(wav) ?? new Map<number, Promise<Sound>>()
  made.set(wav, byRate)
  const known = byRate.get(sampleRateHz)
  if (known !== undefined) return known
  const sound = read(wav, sampleRateHz)
  byRate.set(sampleRateHz, sound)
  // What failed, such as for want of a package, may succeed next time.
  sound.catch(() => byRate.delete(sampleRateHz))
  return sound
}

const read = async (wav: Uint8Array, sampleRateHz: number): Promise<Sound> => {
  const { format, audio } = await readWav(inOnePiece(wav))
  const pieces: Uint8Array[] = []
  for await (const piece of audio) pieces.push(piece)
  const bytes = pieces.reduce((whole, piece) => joinBytes(whole, piece), new Uint8Array(0))
  if (msForBytes(format, bytes.byteLength) > longestMs) {
    throw new SpeechError('invalid-wav', `A prompt may last ${longestMs / 1000} s at most.`)
  }
  const samples = decodeSamples(bytes, format.encoding)
  const mono = format.channels === 1 ? samples : mixed(samples)
  const ready = await resampled(mono, format.sampleRateHz, sampleRateHz)
  return { frameCount: ready.length, samples: (from, count) => ready.subarray(from, from + count) }
}

// eslint-disable-next-line @typescript-eslint/require-await -- readWav takes what comes piece by piece
async function* inOnePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

const mixed = (samples: Int16Array): Int16Array =>
  Int16Array.from({ length: samples.length / 2 }, (_none, frame) =>
    Math.round(((samples[2 * frame] ?? 0) + (samples[2 * frame + 1] ?? 0)) / 2),
  )

const resampled = async (samples: Int16Array, fromHz: number, toHz: number): Promise<Int16Array> => {
  const resampler = await createResampler({ fromHz, toHz, channels: 1 })
  try {
    const body = resampler.process(samples)
    const tail = resampler.flush()
    const whole = new Int16Array(body.length + tail.length)
    whole.set(body)
    whole.set(tail, body.length)
    return whole
  } finally {
    resampler.free()
  }
}
