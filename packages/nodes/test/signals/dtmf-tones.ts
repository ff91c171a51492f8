import { highGroupHz, lowGroupHz } from '../../src/signals/dtmf-frames.js'

const keypad = '123A456B789C*0#D'

export interface Press {
  readonly digit: string
  readonly toneMs?: number
  readonly pauseMs?: number
  /** Level of each tone, in dBm0; the high tone is `twistDb` above the low one. */
  readonly levelDbm0?: number
  readonly twistDb?: number
  /** Frequency shifts, as fractions. */
  readonly lowError?: number
  readonly highError?: number
}

/** The amplitude of a sine with a level in dBm0: full scale of 16 bits is 3.14 dBm0. */
export const amplitudeAt = (dbm0: number): number => 32_767 * 10 ** ((dbm0 - 3.14) / 20)

/** One digit after another, with `leadMs` of silence before and 60 ms after each. */
export const pressed = (rateHz: number, presses: readonly Press[], leadMs = 50): Int16Array => {
  const samples: number[] = new Array<number>(Math.round((rateHz * leadMs) / 1000)).fill(0)
  for (const {
    digit,
    toneMs = 60,
    pauseMs = 50,
    levelDbm0 = -10,
    twistDb = 0,
    lowError = 0,
    highError = 0,
  } of presses) {
    const place = keypad.indexOf(digit)
    const low = (lowGroupHz[place >> 2] ?? 0) * (1 + lowError)
    const high = (highGroupHz[place & 3] ?? 0) * (1 + highError)
    // The louder tone has the given level.
    const lowAmplitude = amplitudeAt(levelDbm0 - Math.max(0, twistDb))
    const highAmplitude = amplitudeAt(levelDbm0 + Math.min(0, twistDb))
    const start = samples.length
    const count = Math.round((rateHz * toneMs) / 1000)
    for (let index = 0; index < count; index += 1) {
      const time = (start + index) / rateHz
      samples.push(
        lowAmplitude * Math.sin(2 * Math.PI * low * time) + highAmplitude * Math.sin(2 * Math.PI * high * time + 1),
      )
    }
    for (let index = 0; index < Math.round((rateHz * pauseMs) / 1000); index += 1) samples.push(0)
  }
  for (let index = 0; index < Math.round(rateHz * 0.06); index += 1) samples.push(0)
  return Int16Array.from(samples, (sample) => Math.max(-32_768, Math.min(32_767, Math.round(sample))))
}
