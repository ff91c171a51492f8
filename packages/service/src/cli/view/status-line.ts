import { lastColumns } from './plain-text.js'

/** How many recordings have ended, of how many, if that is known. */
export interface Tally {
  ended: number
  failed: number
  interrupted: number
  readonly total: number | undefined
  readonly startedMs: number
}

interface Running {
  readonly running: number
  /** How many of them have no line of their own. */
  readonly hidden: number
}

/** `2 of 12 done, 1 failed, 4:10 left, 2 more running`; what does not fit is left out from the end. */
export const statusLine = (
  { ended, failed, interrupted, total, startedMs }: Tally,
  { running, hidden }: Running,
  columns: number,
  nowMs = performance.now(),
): string => {
  const left = total === undefined ? 0 : total - ended
  // The running ones count as half done.
  const leftMs = ((nowMs - startedMs) / (ended + running / 2)) * (left - running / 2)
  const done = ended - failed - interrupted
  const parts = [
    total === undefined ? `${done} done` : `${done} of ${total} done`,
    ...(failed === 0 ? [] : [`${failed} failed`]),
    ...(ended === 0 || left === 0 ? [] : [`${timeText(leftMs)} left`]),
    ...(hidden === 0 ? [] : [`${hidden} more running`]),
  ]
  const fitting = parts.findLast((_part, at) => parts.slice(0, at + 1).join(', ').length <= columns)
  return fitting === undefined
    ? lastColumns(parts[0] ?? '', columns)
    : parts.slice(0, parts.indexOf(fitting) + 1).join(', ')
}

const timeText = (ms: number): string => {
  const seconds = Math.max(1, Math.ceil(ms / 1000))
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  const short = `${minutes}:${String(seconds % 60).padStart(2, '0')}`
  return hours === 0 ? short : `${hours} h ${minutes} min`
}
