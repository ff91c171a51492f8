import { asapScheduler, catchError, distinctUntilChanged, map, of, scan, subscribeOn, type Observable } from 'rxjs'
import { toSpeechError, type SpeechError } from '../errors/speech-error.js'
import {
  accumulate,
  emptyTranscript,
  type Accumulated,
  type TranscriptChannel,
} from '../operators/results/transcript.js'
import type { SessionEvent } from '../protocol/session-event.js'
import type { SessionState } from '../protocol/states.js'

/** What a component shows of a session. */
export interface TranscriptView {
  /** The committed and the partial text of all channels, one line per channel. */
  readonly text: string
  /** The text of each channel, sorted, each from its first result on. */
  readonly channels: readonly TranscriptChannel[]
  /** The state of the session: `idle` before it, `done`, `stopped` or `failed` after it. */
  readonly state: SessionState
  /** Why the session failed. */
  readonly error: SpeechError | undefined
}

/** Before a session. */
export const noTranscript: TranscriptView = { text: '', channels: [], state: 'idle', error: undefined }

interface Failure {
  readonly type: 'failure'
  readonly error: SpeechError
}

interface Watched {
  readonly transcript: Accumulated
  readonly view: TranscriptView
}

const nothingWatched: Watched = { transcript: emptyTranscript, view: noTranscript }

const watch = (before: Watched, event: SessionEvent | Failure): Watched => {
  const { view } = before
  if (event.type === 'failure') return { ...before, view: { ...view, state: 'failed', error: event.error } }
  if (event.type === 'connection') return { ...before, view: { ...view, state: event.state } }
  const accumulated = accumulate(before.transcript, event)
  const { transcript } = accumulated
  const isSame = transcript === before.transcript.transcript
  return { transcript: accumulated, view: isSame ? view : { ...view, ...transcript } }
}

/**
 * The view of a session after each event that changes it. An error of the session is in the last view.
 *
 * The session is subscribed to in a microtask: React mounts each component twice in its strict mode, and the first
 * mount must open neither a session nor a microphone.
 */
export const watchTranscript = (session$: Observable<SessionEvent>): Observable<TranscriptView> =>
  session$.pipe(
    catchError((cause: unknown) => of<Failure>({ type: 'failure', error: toSpeechError(cause, 'internal', failed) })),
    scan(watch, nothingWatched),
    map(({ view }) => view),
    distinctUntilChanged(),
    subscribeOn(asapScheduler),
  )

const failed = 'The session failed; see the cause.'

/** Whether a session is over. */
export const isEndState = (state: SessionState): boolean =>
  state === 'done' || state === 'stopped' || state === 'failed'
