import { audioWarning, eventName } from 'rxspeech/internal/protocol/event-name'
import { isJsonObject } from 'rxspeech/internal/protocol/json-object'
import type { GapCause, SessionEvent } from 'rxspeech/internal/protocol/session-event'
import { plainText } from './plain-text.js'
import { clockText } from './transcript-line.js'

const reasons: Readonly<Record<GapCause, string>> = {
  'buffer-full': 'the buffer was full',
  'replay-full': 'more had been sent than is kept for resending',
  'cut-sample': 'the audio ended within a sample',
  stopped: 'the session was stopped',
  ended: 'the service ended the session before it',
  failed: 'the session failed',
  silence: 'it is silent',
}

/**
 * A line for stderr about a problem of the connection or of recognition; undefined for any other event. A channel is
 * named after its speaker; `speakers` is empty for one channel.
 */
export const noticeOf = (event: SessionEvent, speakers: readonly string[]): string | undefined => {
  const ofChannel = ({ channel = -1 }: { readonly channel?: number | undefined }): string =>
    speakers[channel] === undefined ? '' : ` of ${speakers[channel]}`
  switch (event.type) {
    case 'gap':
      // No word is lost.
      if (event.cause === 'silence') return undefined
      return `rxspeech: the audio from ${clockText(event.fromMs)} to ${clockText(event.toMs)} has no result${ofChannel(event)}: ${reasons[event.cause]}.`
    case 'connection':
      if (event.state !== 'reconnecting') return undefined
      return `rxspeech: no connection (${event.cause}); attempt ${event.attempt}${ofChannel(event)} in ${(event.delayMs / 1000).toFixed(1)} s.`
    case 'silent':
      return `rxspeech: the service has sent nothing for ${(event.forMs / 1000).toFixed(1)} s${ofChannel(event)}.`
    case 'resumed':
      if (event.isNextRecognition) return undefined
      return `rxspeech: connected again; ${(event.replayedMs / 1000).toFixed(1)} s of audio${ofChannel(event)} are sent again.`
    case 'event':
      if (event.name === audioWarning) return audioNotice(event.data, ofChannel(event))
      if (event.name !== eventName.noMatch) return undefined
      return `rxspeech: the sound from ${clockText(event.startMs)} to ${clockText(event.endMs)}${ofChannel(event)} matches nothing that the model knows.`
    default:
      return undefined
  }
}

/** What is wrong with the audio, or no longer, as the service says it; another service may say anything. */
const audioNotice = (data: unknown, ofChannel: string): string | undefined => {
  const { Message: message, Over: isOver } = isJsonObject(data) ? data : {}
  if (typeof message !== 'string') return undefined
  return `rxspeech: ${isOver === true ? '' : 'warning '}about the audio${ofChannel}: ${plainText(message)}`
}
