/** Audio of one channel with a known length. */
export interface Sound {
  readonly frameCount: number
  /** At most `count` samples from frame `from` on; fewer at the end. */
  readonly samples: (from: number, count: number) => Int16Array
}

/** A tone and the pause that follows. */
export interface ToneStep {
  /** Frequencies that sound together, in Hz. */
  readonly frequenciesHz: readonly number[]
  /** The level of each frequency; full scale is 3.14 dBm0 (ITU-T G.711). */
  readonly levelDbm0: number
  readonly onMs: number
  readonly offMs: number
}

/** The tones that ITU-T E.180 recommends for telephone networks, and a beep. */
export const knownTones = {
  dial: [{ frequenciesHz: [425], levelDbm0: -10, onMs: 3000, offMs: 0 }],
  ringback: [{ frequenciesHz: [425], levelDbm0: -10, onMs: 1000, offMs: 4000 }],
  busy: [{ frequenciesHz: [425], levelDbm0: -10, onMs: 500, offMs: 500 }],
  congestion: [{ frequenciesHz: [425], levelDbm0: -10, onMs: 250, offMs: 250 }],
  beep: [{ frequenciesHz: [1000], levelDbm0: -10, onMs: 200, offMs: 0 }],
} as const satisfies Record<string, readonly ToneStep[]>

/** A tone fades in and out in this time, which avoids clicks. */
const rampMs = 5

interface TimedStep extends ToneStep {
  readonly startMs: number
  /** Whether silence precedes the step, so that it fades in. */
  readonly fadesIn: boolean
}

/** Repeats the steps for `durationMs`, or plays them once without it. */
export const toneCadence = (steps: readonly ToneStep[], sampleRateHz: number, durationMs?: number): Sound => {
  let startMs = 0
  const timed: TimedStep[] = []
  for (const step of steps) {
    timed.push({ ...step, startMs, fadesIn: (timed.at(-1) ?? steps.at(-1) ?? step).offMs > 0 })
    startMs += step.onMs + step.offMs
  }
  const cycleMs = startMs
  const totalMs = cycleMs === 0 ? 0 : (durationMs ?? cycleMs)
  const frameCount = Math.round((totalMs * sampleRateHz) / 1000)
  const sampleAt = (frame: number): number => {
    const timeMs = (frame * 1000) / sampleRateHz
    const inCycleMs = timeMs % cycleMs
    const step = timed.findLast((candidate) => candidate.startMs <= inCycleMs)
    if (step === undefined) return 0
    const sinceMs = inCycleMs - step.startMs
    if (sinceMs >= step.onMs) return 0
    const sinceSilenceMs = step.fadesIn ? sinceMs : timeMs
    const untilSilenceMs = Math.min(step.offMs > 0 ? step.onMs - sinceMs : Infinity, totalMs - timeMs)
    const ramp = Math.min(1, sinceSilenceMs / rampMs, untilSilenceMs / rampMs)
    const amplitude = 32_767 * 10 ** ((step.levelDbm0 - 3.14) / 20)
    const sum = step.frequenciesHz.reduce((total, hz) => total + Math.sin((2 * Math.PI * hz * sinceMs) / 1000), 0)
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
