import type { Sound } from './sound.js'

/** A tone and the pause after it. */
export interface ToneStep {
  /** Sounded together, in Hz. */
  readonly frequenciesHz: readonly number[]
  /** Of each frequency; a digital line is full at 3.14 dBm0 (ITU-T G.711). */
  readonly levelDbm0: number
  readonly onMs: number
  readonly offMs: number
}

/** Tones as ITU-T E.180 recommends them for telephone networks, and a beep. */
export const knownTones = {
  dial: [{ frequenciesHz: [425], levelDbm0: -10, onMs: 3000, offMs: 0 }],
  ringback: [{ frequenciesHz: [425], levelDbm0: -10, onMs: 1000, offMs: 4000 }],
  busy: [{ frequenciesHz: [425], levelDbm0: -10, onMs: 500, offMs: 500 }],
  congestion: [{ frequenciesHz: [425], levelDbm0: -10, onMs: 250, offMs: 250 }],
  beep: [{ frequenciesHz: [1000], levelDbm0: -10, onMs: 200, offMs: 0 }],
} as const satisfies Record<string, readonly ToneStep[]>

/** A tone sets in and ends within this time, so that it does not click. */
const rampMs = 5

interface PlacedStep extends ToneStep {
  readonly startMs: number
  /** Whether silence lies before it, so that it has to set in. */
  readonly setsIn: boolean
}

/** The steps one after the other, over and over, for `durationMs`; once where it is left out. */
export const toneCadence = (steps: readonly ToneStep[], sampleRateHz: number, durationMs?: number): Sound => {
  let startMs = 0
  const placed: PlacedStep[] = []
  for (const step of steps) {
    placed.push({ ...step, startMs, setsIn: (placed.at(-1) ?? steps.at(-1) ?? step).offMs > 0 })
    startMs += step.onMs + step.offMs
  }
  const cycleMs = startMs
  const wholeMs = cycleMs === 0 ? 0 : (durationMs ?? cycleMs)
  const frameCount = Math.round((wholeMs * sampleRateHz) / 1000)
  const sampleAt = (frame: number): number => {
    const timeMs = (frame * 1000) / sampleRateHz
    const inCycleMs = timeMs % cycleMs
    const step = placed.findLast((one) => one.startMs <= inCycleMs)
    if (step === undefined) return 0
    const sinceMs = inCycleMs - step.startMs
    if (sinceMs >= step.onMs) return 0
    const sinceSilenceMs = step.setsIn ? sinceMs : timeMs
    const untilSilenceMs = Math.min(step.offMs > 0 ? step.onMs - sinceMs : Infinity, wholeMs - timeMs)
    const ramp = Math.min(1, sinceSilenceMs / rampMs, untilSilenceMs / rampMs)
    const amplitude = 32_767 * 10 ** ((step.levelDbm0 - 3.14) / 20)
    const sum = step.frequenciesHz.reduce((all, hz) => all + Math.sin((2 * Math.PI * hz * sinceMs) / 1000), 0)
    return Math.max(-32_768, Math.min(32_767, Math.round(ramp * amplitude * sum)))
  }
  return {
    frameCount,
    samples: (from, count) =>
      Int16Array.from({ length: Math.max(0, Math.min(count, frameCount - from)) }, (_none, index) =>
        sampleAt(from + index),
      ),
  }
}
