export interface Tick {
  readonly atMs: number
  readonly label: string
}

/** Ticks at round times at least `minTickMs` apart: 1, 2 or 5 times a power of ten, and above 5 s the steps of a clock. */
export const ticksOf = (durationMs: number, minTickMs: number): readonly Tick[] => {
  const stepMs = steps.find((step) => step >= minTickMs) ?? Math.ceil(minTickMs / hourMs) * hourMs
  const digits = stepMs >= 1000 ? 0 : stepMs >= 100 ? 1 : stepMs >= 10 ? 2 : 3
  return Array.from({ length: Math.floor(durationMs / stepMs) + 1 }, (_none, index) => {
    const atMs = index * stepMs
    return { atMs, label: durationMs >= 120_000 ? clock(atMs) : `${(atMs / 1000).toFixed(digits)} s` }
  })
}

const hourMs = 3_600_000
const steps = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  1000,
  2000,
  5000,
  10_000,
  15_000,
  30_000,
  60_000,
  120_000,
  300_000,
  600_000,
  900_000,
  1_800_000,
  hourMs,
]

/** `m:ss` or `h:mm:ss`. */
const clock = (ms: number): string => {
  const seconds = Math.round(ms / 1000)
  const twoDigits = (value: number): string => String(value).padStart(2, '0')
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  return hours > 0
    ? `${hours}:${twoDigits(minutes)}:${twoDigits(seconds % 60)}`
    : `${minutes}:${twoDigits(seconds % 60)}`
}

/** A time for a list. */
export const formatTime = (atMs: number): string =>
  atMs >= 120_000 ? clock(atMs) : `${(atMs / 1000).toFixed(atMs < 1000 ? 3 : 2)} s`
