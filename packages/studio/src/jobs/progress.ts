import type { LedgerAccount } from 'rxspeech'

/** How far the transcription of a recording is. */
export interface Progress {
  /** The part of the audio that has its definitive text, from 0 to 1. */
  readonly share: number
  /** Unknown in the beginning. */
  readonly leftMs: number | undefined
}

/** Before that the speed is a guess. */
const minElapsedMs = 1500
const minShare = 0.01

/**
 * @param totalMs the audio of all channels together
 * @param elapsedMs since the first audio was sent
 */
export const progressOf = (account: LedgerAccount | undefined, totalMs: number, elapsedMs: number): Progress => {
  const doneMs = account === undefined ? 0 : account.finalizedMs + account.droppedMs
  const share = totalMs <= 0 ? 0 : Math.min(1, doneMs / totalMs)
  const isKnown = elapsedMs >= minElapsedMs && share >= minShare
  return { share, leftMs: isKnown ? (elapsedMs * (1 - share)) / share : undefined }
}

/** `38 %, about 2 min left`. */
export const progressSentence = ({ share, leftMs }: Progress): string => {
  const percent = `${Math.floor(share * 100)} %`
  return leftMs === undefined ? percent : `${percent}, ${leftText(leftMs)} left`
}

const leftText = (ms: number): string => {
  if (ms < 5000) return 'a few seconds'
  if (ms < 55_000) return `about ${Math.ceil(ms / 5000) * 5} s`
  const minutes = Math.round(ms / 60_000)
  return minutes < 90 ? `about ${Math.max(1, minutes)} min` : `about ${(ms / 3_600_000).toFixed(1)} h`
}
