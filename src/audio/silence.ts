import { bytesPerFrame, type AudioFormat, type Encoding } from './format.js'
import { aLawSamples, muLawSamples } from './g711.js'

/** Every byte of silence: zero in PCM, positive zero in µ-law, the smallest positive value in A-law (ITU-T G.711). */
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

/** What counts as a sound: so much power over so long a stretch. */
export interface SoundRule {
  readonly stretchMs: number
  readonly power: number
}

const powerOf = (dbfs: number): number => (32_768 * 10 ** (dbfs / 20)) ** 2

/**
 * Anything that might be speech. Detectors of speech measure 10 ms, and take nothing below about -55 dBFS for it
 * (docs/PROTOCOL.md, 7), so what is quieter than -60 dBFS holds none.
 */
export const anySound: SoundRule = { stretchMs: 10, power: powerOf(-60) }

/** What is most likely speech, and not the noise of a line. */
export const loudSound: SoundRule = { stretchMs: 200, power: powerOf(-45) }

/**
 * Where the first sound begins, in bytes; -1 where there is none. `bytes` are whole frames; all channels count together
 * unless one is given. Allocates nothing.
 */
export const findSound = (bytes: Uint8Array, format: AudioFormat, rule = anySound, channel?: number): number => {
  const { encoding, sampleRateHz, channels } = format
  const frameBytes = bytesPerFrame(format)
  const stretchBytes = Math.floor((sampleRateHz * rule.stretchMs) / 1000) * frameBytes
  const sampleBytes = encoding === 'pcm' ? 2 : 1
  const [first, step] = channel === undefined ? [0, sampleBytes] : [channel * sampleBytes, frameBytes]
  const table = encoding === 'pcm' ? undefined : encoding === 'ulaw' ? muLawSamples() : aLawSamples()
  const samplesPerFrame = channel === undefined ? channels : 1
  for (let from = 0; from < bytes.length; from += stretchBytes) {
    const to = Math.min(bytes.length, from + stretchBytes)
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
