import type { Tally } from './transcript-reader.js'

export interface Work {
  /** How long the audio that was sent lasts. */
  readonly audioMs: number
  /** From the moment that the service was ready for audio to its last word. */
  readonly elapsedMs: number
}

/** What was done, in one line: seconds of audio, words, mean confidence, real-time factor (time taken over time of audio). */
export const summaryLine = ({ words, confidence }: Tally, { audioMs, elapsedMs }: Work): string =>
  [
    `${(audioMs / 1000).toFixed(1)} s of audio`,
    `${words} ${words === 1 ? 'word' : 'words'}`,
    `mean confidence ${confidence === undefined ? 'unknown' : confidence.toFixed(2)}`,
    `real-time factor ${audioMs > 0 ? (elapsedMs / audioMs).toFixed(2) : 'unknown'}`,
  ].join(', ')
