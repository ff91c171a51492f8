import { errorTable, isSpeechError, type GapCause } from 'rxspeech'
import type { Failure, Incident, StudioState } from './state.js'

export const secondsText = (ms: number): string => `${(Math.max(0, ms) / 1000).toFixed(1)} s`

/** `1:05`, `1:05.2` between whole seconds, `1:01:05` after an hour. */
export const clock = (ms: number): string => {
  const tenths = Math.round(Math.max(0, ms) / 100)
  const seconds = Math.floor(tenths / 10)
  const minutes = Math.floor(seconds / 60)
  const rest = tenths % 10 === 0 ? '' : `.${tenths % 10}`
  const short = `${minutes % 60}:${String(seconds % 60).padStart(2, '0')}${rest}`
  return minutes < 60 ? short : `${Math.floor(minutes / 60)}:${short.padStart(rest === '' ? 5 : 7, '0')}`
}

/** The same in whole seconds that have passed, as players show it. */
export const clockOf = (ms: number): string => clock(Math.floor(ms / 1000) * 1000)

/** What a loss of the connection meant. */
export const incidentSentence = (incident: Incident, hasEnded = false): string => {
  const { lostMs, isCut, open, channels, attempts, resumedAfterMs, bufferedMs, replayedMs, droppedMs } = incident
  const which = channels.length > 1 ? ` on ${channels.length} channels` : ''
  const lost = `Connection ${isCut ? 'cut' : 'lost'} at ${secondsText(lostMs)}${which}`
  if (open.length > 0 || resumedAfterMs === undefined) {
    return hasEnded
      ? `${lost}, and not resumed before the session ended.`
      : `${lost}. Attempt ${attempts} to reconnect; ${secondsText(bufferedMs)} of audio are kept and will be sent again.`
  }
  const loss = droppedMs > 0 ? `${secondsText(droppedMs)} of audio lost` : 'nothing lost'
  return `${lost}, resumed after ${secondsText(resumedAfterMs)}, ${secondsText(replayedMs)} of audio sent again, ${loss}.`
}

/** What a gap lost, and why. */
export const gapSentence = (cause: GapCause | undefined, ms: number): string =>
  `${secondsText(ms)} without words: ${cause === undefined ? 'lost' : gapCauses[cause]}`

const gapCauses: Readonly<Record<GapCause, string>> = {
  silence: 'it was silence',
  'buffer-full': 'the connection was too slow for the audio',
  'cut-sample': 'the audio ended within a sample',
  stopped: 'the session was stopped before its results came',
  ended: 'the service ended the session before',
  failed: 'the session failed before its results came',
  'replay-full': 'the connection was lost for too long',
}

/** Text that is later is said to be late. */
const lateMs = 3000

/** In what the service is behind, if it is. */
export const loadSentence = ({ thinnedMs, metrics, phase }: StudioState): string | undefined => {
  const lagMs = phase === 'streaming' ? (metrics?.lagMs ?? 0) : 0
  const sentences = [
    ...(thinnedMs === undefined
      ? []
      : [`The service is busy: text in progress changes every ${secondsText(thinnedMs)} at most. No word is lost.`]),
    ...(lagMs < lateMs ? [] : [`The text is ${secondsText(lagMs)} behind the speech.`]),
  ]
  return sentences.length === 0 ? undefined : sentences.join(' ')
}

/** What the session does now, in one sentence. */
export const statusSentence = (state: StudioState): string => {
  switch (state.phase) {
    case 'idle':
      return 'Nothing is running.'
    case 'connecting':
      return 'Connecting. Audio is kept meanwhile.'
    case 'streaming':
      return 'Streaming.'
    case 'reconnecting':
      return 'Reconnecting. Audio is kept meanwhile.'
    case 'finalizing':
      return 'Finalizing: waiting for the last results.'
    case 'ended':
      return state.failure !== undefined
        ? failureSentence(state.failure)
        : state.stopped
          ? 'Stopped. Audio without a result was discarded.'
          : 'Ended. All results have arrived.'
  }
}

/** The failure of a session, and what to do. */
export const failureSentence = ({ code, message: original }: Failure): string => {
  const message = messages[code] ?? original
  const help = code === 'unknown' || isOfMicrophone({ code }) ? undefined : (remedies[code] ?? errorTable[code].help)
  const sentence = `${message.charAt(0).toUpperCase()}${message.slice(1)}${/[.!?]$/.test(message) ? '' : '.'}`
  return help === undefined || sentence.includes(help) ? sentence : `${sentence} ${help}`
}

/** Instead of messages that are for programs. */
const messages: Readonly<Partial<Record<Failure['code'], string>>> = {
  'connection-failed': 'The service cannot be reached.',
  'start-timeout': 'The service did not begin in time.',
  'token-timeout': 'The service gave this page no token in time.',
  'token-endpoint-failed': 'The service gave this page no token.',
}

const remedies: Readonly<Partial<Record<Failure['code'], string>>> = {
  'invalid-field': 'Change the options under “New transcript”, then try again.',
  'connection-failed':
    'Check that the service runs. If it has a certificate of its own, open its address in this browser once and accept it.',
  'start-timeout': 'It may be busy, or load the model; try again in a minute.',
  'token-timeout': 'Check the network, then try again.',
  'token-endpoint-failed': 'Check that the service runs, then try again.',
}

/** The code and the message of an error; those of the microphone, if the session failed because of it. */
export const failureOf = (error: unknown): Failure => {
  if (!isSpeechError(error)) return { code: 'unknown', message: error instanceof Error ? error.message : String(error) }
  const { code, message, cause } = error
  return isSpeechError(cause) && isOfMicrophone(cause) ? failureOf(cause) : { code, message }
}

/** Whether the microphone failed, and not the service. */
const isOfMicrophone = ({ code }: Pick<Failure, 'code'>): boolean => code.startsWith('microphone-')

export const sentenceOf = (error: unknown): string => failureSentence(failureOf(error))
