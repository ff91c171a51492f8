import { existsSync, readFileSync } from 'node:fs'
import { decodeMuLaw, encodeMuLaw } from '../../../../src/audio/g711.js'

const folder = '../shared/audio'

/** Why the tests on recordings are skipped; undefined if the recordings exist. */
export const recordingsMissing = existsSync(folder) ? undefined : `there is no folder ${folder}`

/** A recording of 16 kHz mono PCM: the headers of these files are 44 bytes, a raw file has none. */
export const recording = (name: string): Int16Array => {
  const bytes = readFileSync(`${folder}/${name}`).subarray(name.endsWith('.raw') ? 0 : 44)
  return new Int16Array(new Uint8Array(bytes).buffer)
}

/** Full scale is 0 dB; the amplitude of a sine at `levelDb` below it, or the spread of noise. */
export const amplitude = (levelDb: number): number => 32_768 * 10 ** (levelDb / 20)

/** A sound of `seconds`, by a function of time in seconds. */
export const sound = (rateHz: number, seconds: number, at: (time: number) => number): Int16Array =>
  Int16Array.from({ length: Math.round(rateHz * seconds) }, (_, index) =>
    Math.round(Math.min(Math.max(at(index / rateHz), -32_768), 32_767)),
  )

export const sine = (frequencyHz: number, time: number): number => Math.sin(2 * Math.PI * frequencyHz * time)

/** Noise with a spread of one, approximately Gaussian, the same in every run. */
export const noiseSource = (seed = 1): (() => number) => {
  let state = seed
  const uniform = (): number => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0
    return (state / 2 ** 32) * 2 - 1
  }
  return () => (uniform() + uniform() + uniform() + uniform()) * Math.sqrt(3 / 4)
}

const taps = [-0.02, 0, 0.27, 0.5, 0.27, 0, -0.02]

/** 16 kHz to 8 kHz, accurate enough for voice activity. */
export const halved = (samples: Int16Array): Int16Array =>
  Int16Array.from({ length: samples.length >> 1 }, (_, index) =>
    taps.reduce((sum, tap, at) => sum + tap * (samples[2 * index + at - 3] ?? 0), 0),
  )

/** The sound of a telephone line with G.711 µ-law. */
export const throughUlaw = (samples: Int16Array): Int16Array => decodeMuLaw(encodeMuLaw(samples))

export const joined = (...parts: readonly Int16Array[]): Int16Array => {
  const whole = new Int16Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
