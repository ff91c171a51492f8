import { asapScheduler, asyncScheduler, distinctUntilChanged, subscribeOn, type Observable } from 'rxjs'
import type { SpeechError } from '../errors/speech-error.js'
import { LineList } from '../operators/captions/caption-lines.js'
import type { TranscriptLine } from '../operators/captions/transcript-line.js'
import type { TranscriptChannel } from '../operators/results/transcript.js'
import { ChannelStates, foldSession, idle, type SessionStatus } from '../operators/session-state.js'
import type { SessionEvent } from '../protocol/session-event.js'
import type { SessionState } from '../protocol/states.js'

/** What a component shows of a session. */
export interface TranscriptView {
  /** The committed and the partial text of all channels, one line per channel. */
  readonly text: string
  /** The text of each channel, sorted, each from its first result on. */
  readonly channels: readonly TranscriptChannel[]
  /** A line for each result, rejection and gap, as `captionLines` of `rxspeech/captions` makes them: the latest 1000. */
  readonly lines: readonly TranscriptLine[]
  /** The state of the session: `idle` before it, `done`, `stopped` or `failed` after it. */
  readonly state: SessionState
  /** What the session does, on all channels, and what it lost, as `sessionState` of `rxspeech` says it. */
  readonly status: SessionStatus
  /** Why the session failed. */
  readonly error: SpeechError | undefined
}

/** Before a session. */
export const noTranscript: TranscriptView = {
  text: '',
  channels: [],
  lines: [],
  state: 'idle',
  status: idle,
  error: undefined,
}

/** The view of one session; the same object as long as nothing changes. */
class WatchedSession {
  readonly #lines = new LineList()
  readonly #states = new ChannelStates(asyncScheduler)
  #view: TranscriptView = {
    ...noTranscript,
    ...this.#lines.transcript,
    lines: this.#lines.lines,
  }

  take(event: SessionEvent): TranscriptView {
    const lines = this.#lines.take(event)
    const status = this.#states.take(event)
    const state = event.type === 'connection' ? event.state : this.#view.state
    return this.#change({ ...this.#lines.transcript, lines, state, status })
  }

  end(): TranscriptView {
    return this.#change({ status: this.#states.end() })
  }

  fail(error: SpeechError): TranscriptView {
    return this.#change({ state: 'failed', status: this.#states.fail(error), error })
  }

  #change(change: Partial<TranscriptView>): TranscriptView {
    const after = { ...this.#view, ...change }
    const isSame = (Object.keys(after) as (keyof TranscriptView)[]).every((key) => after[key] === this.#view[key])
    if (!isSame) this.#view = after
    return this.#view
  }
}

/**
 * The view of a session after each event that changes it. An error of the session is in the last view.
 *
 * The session is subscribed to in a microtask: React mounts each component twice in its strict mode, and the first
 * mount must open neither a session nor a microphone.
 */
export const watchTranscript = (session$: Observable<SessionEvent>): Observable<TranscriptView> =>
  session$.pipe(
    foldSession(() => new WatchedSession()),
    distinctUntilChanged(),
    subscribeOn(asapScheduler),
  )
