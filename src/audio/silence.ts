import { bytesPerFrame, type AudioFormat, type Encoding } from './format.js'
import { aLawSamples, muLawSamples } from './g711.js'

/** The byte of silence: zero in PCM, positive zero in µ-law, the smallest positive value in A-law (ITU-T G.711). */
export const silentByte = (encoding: Encoding): number => {
  switch (encoding) {
    case 'pcm':
      return 0
    case 'ulaw':
      return 0xff
    case 'alaw':
      return 0xd5
  }
}

/** The minimum power of a sound over a section of this length. */
export interface SoundRule {
  readonly sectionMs: number
  readonly power: number
}

const powerOf = (dbfs: number): number => (32_768 * 10 ** (dbfs / 20)) ** 2

/**
 * Anything that could be speech. Voice activity detection measures frames of 10 ms and does not detect speech below
 * about -55 dBFS (PROTOCOL 7), so audio below -60 dBFS contains none.
 */
export const anySound: SoundRule = { sectionMs: 10, power: powerOf(-60) }

/** Most likely speech and not line noise. */
export const loudSound: SoundRule = { sectionMs: 200, power: powerOf(-45) }

/**
 * The byte offset of the first sound, or -1. `bytes` are whole frames. Measures all channels together unless `channel`
 * is given. Allocates nothing.
 */
export const findSound = (bytes: Uint8Array, format: AudioFormat, rule = anySound, channel?: number): number => {
  const { encoding, sampleRateHz, channels } = format
  const frameBytes = bytesPerFrame(format)
  const sectionBytes = Math.floor((sampleRateHz * rule.sectionMs) / 1000) * frameBytes
  const sampleBytes = encoding === 'pcm' ? 2 : 1
  const [first, step] = channel === undefined ? [0, sampleBytes] : [channel * sampleBytes, frameBytes]
  const table = encoding === 'pcm' ? undefined : encoding === 'ulaw' ? muLawSamples() : aLawSamples()
  const samplesPerFrame = channel === undefined ? channels : 1
  for (let from = 0; from < bytes.length; from += sectionBytes) {
    const to = Math.min(bytes.length, from + sectionBytes)
    let squares = 0
    for (let at = from + first; at < to; at += step) {
      const code = bytes[at] ?? 0
      const sample = table === undefined ? (((bytes[at + 1] ?? 0) << 24) >> 16) | code : (table[code] ?? 0)
      squares += sample * sample
    }
    if (squares > (rule.power * (to - from) * samplesPerFrame) / frameBytes) return from
  }
  return -1
}
