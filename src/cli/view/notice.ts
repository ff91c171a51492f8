import type { GapCause, SessionEvent } from '../../protocol/session-event.js'
import { clockText } from './transcript-line.js'

const reasons: Readonly<Record<GapCause, string>> = {
  'buffer-full': 'more came than could be held',
  'replay-full': 'more was on its way than is kept to be sent again',
  'cut-sample': 'the audio ended within a sample',
  stopped: 'it was stopped',
  ended: 'the service ended before it',
  failed: 'the session failed',
  silence: 'nothing is to be heard in it',
}

/**
 * A line for stderr about a connection that is in trouble; undefined for any other event. A channel is named after its
 * speaker; `speakers` is empty where there is one channel.
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
      return `rxspeech: the service has said nothing for ${(event.forMs / 1000).toFixed(1)} s${ofChannel(event)}.`
    case 'resumed':
      if (event.isNextRecognition) return undefined
      return `rxspeech: connected again; ${(event.replayedMs / 1000).toFixed(1)} s of audio${ofChannel(event)} are sent once more.`
    default:
      return undefined
  }
}
