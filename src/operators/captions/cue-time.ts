/** `hh:mm:ss` and milliseconds behind `mark`; hours take as many digits as they need (WebVTT 4.1, SubRip). */
const clockText = (ms: number, mark: '.' | ','): string => {
  const whole = Math.max(0, Math.round(ms))
  const two = (value: number): string => String(value).padStart(2, '0')
  const seconds = Math.floor(whole / 1000)
  const clock = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60].map(two).join(':')
  return `${clock}${mark}${String(whole % 1000).padStart(3, '0')}`
}

/** The line that says from when to when a cue stands; it stands a millisecond at least. */
export const cueTimes = ({ startMs, endMs }: { readonly startMs: number; readonly endMs: number }, mark: '.' | ',') =>
  `${clockText(startMs, mark)} --> ${clockText(Math.max(Math.round(startMs) + 1, endMs), mark)}`
