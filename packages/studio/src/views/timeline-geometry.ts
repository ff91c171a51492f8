/** What the timeline shows: the position at its left edge, and its scale. */
export interface View {
  readonly fromMs: number
  readonly msPerPx: number
}

const minMsPerPx = 1
const maxMsPerPx = 5000

export const xOf = ({ fromMs, msPerPx }: View, ms: number): number => (ms - fromMs) / msPerPx
export const msAt = ({ fromMs, msPerPx }: View, x: number): number => fromMs + x * msPerPx

/** The newest audio at the right edge, with some room after it. */
export const follow = (view: View, width: number, endMs: number): View => ({
  ...view,
  fromMs: Math.max(0, endMs - (width - followMarginPx) * view.msPerPx),
})
const followMarginPx = 24

/** The position below `x` stays where it is. */
export const zoom = (view: View, factor: number, x: number): View => {
  const msPerPx = Math.min(maxMsPerPx, Math.max(minMsPerPx, view.msPerPx * factor))
  return { msPerPx, fromMs: msAt(view, x) - x * msPerPx }
}

/** Keeps some of the session in sight: neither before its start nor after its end. */
export const clampView = (view: View, width: number, endMs: number): View => {
  const maxFromMs = Math.max(0, endMs - (width - followMarginPx) * view.msPerPx)
  return { ...view, fromMs: Math.min(maxFromMs, Math.max(0, view.fromMs)) }
}

/** All of the session. */
export const fit = (width: number, endMs: number): View => ({
  fromMs: 0,
  msPerPx: Math.min(maxMsPerPx, Math.max(minMsPerPx, endMs / Math.max(1, width - followMarginPx))),
})

const stepsMs = [100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000]
const minTickPx = 72

/** The positions of the labels of the axis. */
export const ticks = (view: View, width: number): readonly number[] => {
  const stepMs = stepsMs.find((step) => step / view.msPerPx >= minTickPx) ?? 3_600_000
  const first = Math.ceil(view.fromMs / stepMs)
  const count = Math.floor(msAt(view, width) / stepMs) - first + 1
  return Array.from({ length: Math.max(0, count) }, (_, index) => (first + index) * stepMs)
}

/** The part of a range that is in sight, in pixels; undefined if none is. */
export const visible = (
  view: View,
  width: number,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): { readonly x: number; readonly width: number } | undefined => {
  const left = Math.max(0, xOf(view, fromMs))
  const right = Math.min(width, xOf(view, toMs))
  return right < 0 || left > width || right < left ? undefined : { x: left, width: Math.max(1, right - left) }
}
