import {
  asyncScheduler,
  catchError,
  concat,
  defer,
  distinctUntilChanged,
  map,
  of,
  startWith,
  type OperatorFunction,
  type SchedulerLike,
} from 'rxjs'
import type { ErrorCode } from '../errors/error-table.js'
import { toSpeechError, type SpeechError } from '../errors/speech-error.js'
import type { ConnectionEvent, GapCause, SessionEvent } from '../protocol/session-event.js'
import { isEndState, sessionStates, type SessionState } from '../protocol/states.js'
import { checkOptions, optionsOf, schedulerValue } from '../protocol/validation.js'

/** The clock of `sessionState`. */
export interface SessionStateOptions {
  /** The clock of `sinceMs`. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

/** What a session of any number of channels does now. */
export type SessionStatus = SessionStage & {
  /** Milliseconds of audio that were lost so far, the sum of all channels; not silence, nor what a stop discarded. */
  readonly lostMs: number
}

/** The stages of a session. */
export type SessionStage =
  /** Nothing has happened yet. */
  | { readonly type: 'idle' }
  /** Gets a token, connects and starts; audio is kept. */
  | { readonly type: 'connecting' }
  /** Audio flows on all channels. */
  | { readonly type: 'live' }
  | ReconnectingStage
  /** The audio has ended, and the last results are pending. */
  | { readonly type: 'finishing' }
  /** `stopped` by the user, or `failed` with this error, which is absent if a session of several failed and was caught. */
  | {
      readonly type: 'ended'
      readonly outcome: 'done' | 'stopped' | 'failed'
      readonly error?: SpeechError | undefined
    }

/** At least one channel has lost its connection. Its audio is kept, and sent again. */
export interface ReconnectingStage {
  readonly type: 'reconnecting'
  /** When the connection was lost, in milliseconds of the clock; `Date.now()` without an own one. */
  readonly sinceMs: number
  /** The attempt that follows, from 1. */
  readonly attempt: number
  /** What failed. */
  readonly cause: ErrorCode
  /** Milliseconds of audio that are kept. */
  readonly bufferedMs: number
}

const sessionStateOptions = optionsOf<SessionStateOptions>()({}, { scheduler: schedulerValue })

/**
 * Makes one state of the events of a session, or of several that were merged: for a page that says what happens.
 *
 * - Emits `idle` at once, then each state that differs from the one before. Of several channels one that reconnects
 *   counts first, then the one that is least far; the session has ended when all have.
 * - Each event that changes `lostMs` is a new state. Lost audio is that of `gap` events, except for silence, which has no
 *   words, and audio that a stop discarded.
 * - Completion: `ended`, then completes. Error: `ended` with the error, then completes too, because the state has the
 *   error. Unsubscription: emits nothing. Buffering: one state of each channel.
 *
 * Throws `invalid-options` when it is called.
 *
 * @example
 * ```ts
 * session$.pipe(sessionState()).subscribe((state) => console.log(state.type, state.lostMs))
 * ```
 */
export const sessionState = (options: SessionStateOptions = {}): OperatorFunction<SessionEvent, SessionStatus> => {
  const { scheduler = asyncScheduler } = checkOptions(sessionStateOptions, options)
  return (source$) =>
    source$.pipe(
      foldSession(() => new ChannelStates(scheduler)),
      startWith(idle),
      distinctUntilChanged(),
    )
}

/** What is known of a session after each of its events, and after its end. */
interface SessionFold<T> {
  take(event: SessionEvent): T
  end(): T
  fail(error: SpeechError): T
}

/** The values of a fold that begins with each subscription. An error of the session is in the last one. */
export const foldSession =
  <T>(begin: () => SessionFold<T>): OperatorFunction<SessionEvent, T> =>
  (source$) =>
    defer(() => {
      const fold = begin()
      return concat(
        source$.pipe(map((event) => fold.take(event))),
        defer(() => of(fold.end())),
      ).pipe(catchError((error: unknown) => of(fold.fail(toSpeechError(error, 'internal', failed)))))
    })

const failed = 'The session failed; see the cause.'

/** Before a session. */
export const idle: SessionStatus = { type: 'idle', lostMs: 0 }

/** Audio that was dropped for these causes is not lost: it has no words, or the user discarded it. */
const harmless: ReadonlySet<GapCause> = new Set(['silence', 'stopped'])

/** The states of the channels of one session, and what they amount to. */
export class ChannelStates {
  readonly #scheduler: SchedulerLike
  /** The states of single channels; under undefined that of all others. */
  readonly #states = new Map<number | undefined, SessionState>()
  #status = idle

  constructor(scheduler: SchedulerLike) {
    this.#scheduler = scheduler
  }

  take(event: SessionEvent): SessionStatus {
    if (event.type === 'connection') this.#enter(event)
    if (event.type === 'gap' && !harmless.has(event.cause)) {
      this.#status = { ...this.#status, lostMs: this.#status.lostMs + event.toMs - event.fromMs }
    }
    return this.#status
  }

  end(): SessionStatus {
    if (this.#status.type !== 'ended') this.#become({ type: 'ended', outcome: outcomeOf([...this.#states.values()]) })
    return this.#status
  }

  fail(error: SpeechError): SessionStatus {
    return this.#become({ type: 'ended', outcome: 'failed', error })
  }

  #enter(event: ConnectionEvent): void {
    if (event.channel === undefined) this.#states.clear()
    this.#states.set(event.channel, event.state)
    // The states of both channels are known: there are no others.
    if (this.#states.size > 2) this.#states.delete(undefined)
    const states = [...this.#states.values()]
    if (event.state === 'reconnecting') {
      const { attempt, cause, bufferedMs } = event
      const sinceMs = this.#status.type === 'reconnecting' ? this.#status.sinceMs : this.#scheduler.now()
      this.#become({ type: 'reconnecting', sinceMs, attempt, cause, bufferedMs })
    } else if (!states.includes('reconnecting')) {
      const stage = stageOf(states)
      // The error of a failure follows.
      if (stage.type !== 'ended' || stage.outcome !== 'failed') this.#become(stage)
    }
  }

  #become(stage: SessionStage): SessionStatus {
    if (stage.type !== this.#status.type || stage.type === 'reconnecting' || stage.type === 'ended') {
      this.#status = { ...stage, lostMs: this.#status.lostMs }
    }
    return this.#status
  }
}

/** The stage of a session none of whose channels reconnects: that of the channel that is least far. */
const stageOf = (states: readonly SessionState[]): SessionStage => {
  const running = states.filter((state) => !isEndState(state)).map((state) => sessionStates.indexOf(state))
  if (running.length === 0) return { type: 'ended', outcome: outcomeOf(states) }
  const first = Math.min(...running)
  if (first < sessionStates.indexOf('streaming')) return { type: 'connecting' }
  return { type: first < sessionStates.indexOf('finalizing') ? 'live' : 'finishing' }
}

/** As in the report of `ledger`: a source that completes without a state of its own is done. */
const outcomeOf = (states: readonly SessionState[]): 'done' | 'stopped' | 'failed' =>
  states.includes('failed') ? 'failed' : states.includes('stopped') ? 'stopped' : 'done'
