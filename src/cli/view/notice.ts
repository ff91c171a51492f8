import type { SessionEvent } from '../../protocol/session-event.js'
import { clockText } from './transcript-line.js'

/** What a person should know of a session's life, as a line for stderr; undefined where all is well. */
export const noticeOf = (event: SessionEvent): string | undefined => {
  if (event.type !== 'connection') return undefined
  switch (event.state) {
    case 'gap':
      return `rxspeech: the audio from ${clockText(event.fromMs)} to ${clockText(event.toMs)} was not sent.`
    case 'reconnecting':
      return `rxspeech: no connection (${event.cause}); attempt ${event.attempt} in ${(event.delayMs / 1000).toFixed(1)} s.`
    case 'resumed':
      return `rxspeech: connected again; ${(event.replayedMs / 1000).toFixed(1)} s of audio are sent once more.`
    default:
      return undefined
  }
}
