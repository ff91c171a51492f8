import { decodeSamples, defineNode, msForBytes, nodeOptions, nonEmptyText } from 'rxspeech-server/nodes'
import { portFormat } from 'rxspeech-server/nodes/core/node-steps'
import { joinBytes } from 'rxspeech/internal/audio/format'
import { readWav } from 'rxspeech/internal/audio/read-wav'
import { createResampler } from 'rxspeech-server/recognition/resampler'
import type { Sound } from './tone-cadence.js'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { playback, playerFormats, playerOptions } from './playback.js'

const options = nodeOptions({ prompt: nonEmptyText }, playerOptions)

/**
 * Plays a prompt to the client: a WAV file of at most two minutes among the project's resources, in the rate and
 * encoding of the output, stereo mixed to mono. `playback` documents when, `playerFormats` in which format.
 */
export const promptPlayer = defineNode({
  name: 'prompt-player',
  summary: 'Plays a recording to the client when an event arrives or at the start.',
  inputs: { events: 'event', audio: 'audio' },
  optionalInputs: ['audio'],
  outputs: { audio: 'audio', events: 'event' },
  options,
  uses: ({ prompt }) => [{ option: 'prompt', resource: prompt, kind: 'file' }],
  formats: playerFormats,
  open: async (given, context) => {
    const { sampleRateHz } = portFormat(context.outputs)
    const file = context.resource(given.prompt)
    if (file?.kind !== 'file') {
      throw new SpeechError('invalid-options', `${context.node} has no file resource ${given.prompt}.`)
    }
    return playback(await promptSound(file.bytes, sampleRateHz), given, context)
  },
})

const maxPromptMs = 120_000

/** The sounds by file and rate: the bytes are the same object in every session of a project. */
const cache = new WeakMap<Uint8Array, Map<number, Promise<Sound>>>()

/** A WAV file as mono sound at the given rate. Rejects with `invalid-wav` for an invalid or too long file. */
const promptSound = (wav: Uint8Array, sampleRateHz: number): Promise<Sound> => {
  const byRate = cache.get(wav) ?? new Map<number, Promise<Sound>>()
  cache.set(wav, byRate)
  const cached = byRate.get(sampleRateHz)
  if (cached !== undefined) return cached
  const sound = readPrompt(wav, sampleRateHz)
  byRate.set(sampleRateHz, sound)
  // A failure, such as a missing package, may be gone the next time.
  sound.catch(() => byRate.delete(sampleRateHz))
  return sound
}

const readPrompt = async (wav: Uint8Array, sampleRateHz: number): Promise<Sound> => {
  const { format, audio } = await readWav(singleChunk(wav))
  const chunks: Uint8Array[] = []
  for await (const chunk of audio) chunks.push(chunk)
  const bytes = chunks.reduce((joined, chunk) => joinBytes(joined, chunk), new Uint8Array(0))
  if (msForBytes(format, bytes.byteLength) > maxPromptMs) {
    throw new SpeechError('invalid-wav', `A prompt may last ${maxPromptMs / 1000} s at most.`)
  }
  const samples = decodeSamples(bytes, format.encoding)
  const mono = format.channels === 1 ? samples : toMono(samples)
  const resampled = await resample(mono, format.sampleRateHz, sampleRateHz)
  return { frameCount: resampled.length, samples: (from, count) => resampled.subarray(from, from + count) }
}

// eslint-disable-next-line @typescript-eslint/require-await -- readWav takes an async iterable
async function* singleChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

const toMono = (samples: Int16Array): Int16Array =>
  Int16Array.from({ length: samples.length / 2 }, (_none, frame) =>
    Math.round(((samples[2 * frame] ?? 0) + (samples[2 * frame + 1] ?? 0)) / 2),
  )

const resample = async (samples: Int16Array, fromHz: number, toHz: number): Promise<Int16Array> => {
  const resampler = await createResampler({ fromHz, toHz, channels: 1 })
  try {
    const body = resampler.process(samples)
    const rest = resampler.flush()
    const whole = new Int16Array(body.length + rest.length)
    whole.set(body)
    whole.set(rest, body.length)
    return whole
  } finally {
    resampler.free()
  }
}
