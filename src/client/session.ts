import { catchError, defer, EMPTY, map, merge, mergeMap, Observable, of, take, type ObservableInput } from 'rxjs'
import { toSpeechError, type SpeechError } from '../errors/speech-error.js'
import { runMachine } from '../kernel/machine.js'
import { schedule } from '../kernel/timers.js'
import type { SessionEvent } from '../protocol/session-event.js'
import { isFixedToken } from './token.js'
import { checkSource, isPulled } from './audio/audio-feed.js'
import { AudioPump } from './audio/audio-pump.js'
import { ReplayBuffer, type Gap } from './audio/replay-buffer.js'
import { Connection, type Connect } from './connection.js'
import { LedgerReporter } from './ledger-reporter.js'
import { createClientMachine } from './machine.js'
import { pulledBounds } from './options.js'
import type { SessionSettings } from './settings.js'
import type { Ending } from './protocol.js'
import type { ResultTimeline } from './results/timeline.js'
import { SessionToken } from './token.js'
import type { ClientAction, ClientInput, ClientOutput, SessionFacts, TokenNeed } from './states.js'

/** What one kind of session brings: how it connects, what it says there, and what the user asked for. */
export interface SessionPlan<In, Out> {
  readonly settings: SessionSettings
  readonly ending: Ending
  readonly connect: Connect<In, Out>
  /** What the user changes while it streams. */
  readonly updates$?: Observable<ClientInput> | undefined
  /** Fails the session from outside, such as when the other half of a pair has failed. */
  readonly abort$?: Observable<SpeechError> | undefined
}

/**
 * Cold: each subscription is one session over one subscription of the source; unsubscribing aborts it at once.
 * Throws `invalid-options` for a source that is none.
 */
export const openSession = <In, Out>(
  plan: SessionPlan<In, Out>,
  source: ObservableInput<Uint8Array>,
): Observable<SessionEvent> => {
  checkSource(source)
  return defer(() => new Session(plan, source).run())
}

/** Carries out what the machine of a session decides, on its audio, its results and its connections. */
class Session<In, Out> {
  readonly #plan: SessionPlan<In, Out>
  readonly #tokens: SessionToken
  readonly #buffer: ReplayBuffer
  readonly #pump: AudioPump<Out>
  readonly #ledger: LedgerReporter
  readonly #connections = new Map<number, Connection<In, Out>>()
  /** From the first connection on. */
  #results: ResultTimeline | undefined
  #hasProgress = false

  constructor(plan: SessionPlan<In, Out>, source: ObservableInput<Uint8Array>) {
    const { settings } = plan
    const bounds = isPulled(source) ? pulledBounds(settings.bounds) : settings.bounds
    this.#plan = plan
    this.#tokens = new SessionToken(settings)
    this.#buffer = new ReplayBuffer(bounds)
    this.#pump = new AudioPump(this.#buffer, source, settings.scheduler)
    this.#ledger = new LedgerReporter(this.#buffer, bounds.format, () => this.#results?.isEstimated ?? false)
  }

  run(): Observable<SessionEvent> {
    const { settings, ending } = this.#plan
    const { deadlines, resumption, continuous: isContinuous, token } = settings
    const policy = { ...ending, deadlines, resumption, isContinuous, isTokenRenewable: !isFixedToken(token) }
    const machine = createClientMachine(policy, this.#facts())
    const perform = (action: ClientAction): Observable<ClientInput> => this.#perform(action)
    return runMachine(machine, perform, { onIdle: () => this.#pump.pull() }).pipe(
      mergeMap((output) => this.#report(output)),
    )
  }

  #facts(): SessionFacts {
    const { scheduler } = this.#plan.settings
    const buffer = this.#buffer
    const results = (): ResultTimeline | undefined => this.#results
    const hasProgress = (): boolean => this.#hasProgress
    return {
      get nowMs() {
        return scheduler.now()
      },
      get isSent() {
        return buffer.isSent
      },
      get hasSentAudio() {
        return results()?.hasSentAudio ?? false
      },
      get pendingFromMs() {
        return buffer.pendingFromMs
      },
      get hasSound() {
        return buffer.hasSound
      },
      get progressMs() {
        return results()?.progressMs ?? 0
      },
      get hasProgress() {
        return hasProgress()
      },
      get isFinal() {
        return results()?.isFinal ?? false
      },
      get isWhole() {
        return results()?.isWhole ?? true
      },
      get isAnswered() {
        return results()?.isAnswered ?? false
      },
      get isUnread() {
        return results()?.isUnread ?? false
      },
      isRepeated: (final) => results()?.isRepeated(final) ?? false,
    }
  }

  /** Carries out an output; what it returns is emitted before the next one is. */
  #report(output: ClientOutput): readonly SessionEvent[] {
    const results = this.#results
    switch (output.do) {
      case 'emit':
        return [output.event]
      case 'activity':
        this.#pump.onActivity()
        return []
      case 'read': {
        const event = results === undefined ? output.event : results.read(output.event)
        const { events, hasProgress } = this.#ledger.report()
        this.#hasProgress = hasProgress
        return event === undefined ? events : [event, ...events]
      }
      case 'repeated-final':
        results?.repeat(output.event)
        return [{ type: 'unknown', reason: 'A second final of a recognition.', raw: output.event.text }]
      case 'hold-final':
        results?.hold(output.event)
        return []
      case 'continue-after':
        return output.finals.flatMap((final) => results?.continueAfter(final) ?? [])
      case 'begin':
        return this.#begin(output.isNextRecognition)
      case 'rest': {
        const gaps = this.#buffer.rest()
        const events = this.#reportGaps(gaps)
        this.#buffer.listen()
        return [...events, ...this.#ledger.report().events]
      }
      case 'expect-finals':
        results?.ask()
        return []
      case 'settle':
        this.#buffer.settle(this.#buffer.sent)
        return []
      case 'end-audio':
        return this.#reportGaps(this.#buffer.end())
      case 'gap':
        return this.#reportGaps([output.gap])
      case 'drop':
        return this.#reportGaps(this.#buffer.drop(output.cause))
      case 'slow':
        this.#pump.slow(output.speed)
        return []
      case 'reconnecting': {
        const { attempt, delayMs, cause } = output
        const bufferedMs = this.#buffer.pendingMs
        return [{ type: 'connection', state: 'reconnecting', attempt, delayMs, bufferedMs, cause }]
      }
      case 'report-ledger':
        return this.#ledger.report().events
      case 'close-ledger':
        return this.#ledger.close()
    }
  }

  #begin(isNextRecognition: boolean): readonly SessionEvent[] {
    const results = this.#results
    if (results === undefined) return []
    const { hasBegun } = results
    const { replayedMs, gaps } = results.begin()
    const event: SessionEvent = hasBegun
      ? { type: 'connection', state: 'resumed', replayedMs, ...(isNextRecognition ? { isNextRecognition } : {}) }
      : { type: 'connection', state: 'streaming' }
    return [event, ...this.#reportGaps(gaps), ...this.#ledger.report().events]
  }

  #reportGaps(gaps: readonly Gap[]): readonly SessionEvent[] {
    return gaps.flatMap((gap): readonly SessionEvent[] => [
      { type: 'connection', state: 'gap', ...gap },
      ...this.#ledger.report().events,
    ])
  }

  #perform(action: ClientAction): Observable<ClientInput> {
    switch (action.do) {
      case 'begin':
        return of({ type: 'begin' })
      case 'watch-signals':
        return this.#signals()
      case 'watch-updates':
        return this.#plan.updates$ ?? EMPTY
      case 'capture':
        return this.#pump.capture()
      case 'listen':
        return this.#pump.listen()
      case 'wait':
        return this.#wait(action)
      default:
        return this.#onConnection(action)
    }
  }

  #onConnection(action: Extract<ClientAction, { readonly connection: number }>): Observable<ClientInput> {
    const { connection: id } = action
    if (action.do === 'authorize') return this.#authorize(id, action.need)
    const connection = this.#connections.get(id)
    if (connection === undefined) return EMPTY
    switch (action.do) {
      case 'dial':
        return connection.dial(action.update)
      case 'start':
        return this.#start(connection)
      case 'restart':
        connection.restart()
        return EMPTY
      case 'send-audio':
        return this.#sendAudio(connection)
      case 'send-update':
        connection.update(action.update)
        return EMPTY
      case 'finalize':
        connection.finalize(this.#plan.ending.finalizeBy)
        return EMPTY
      case 'stop':
        connection.stop()
        return EMPTY
    }
  }

  /** A token, and the connection as long as its lifetime lasts. */
  #authorize(id: number, need: TokenNeed): Observable<ClientInput> {
    const connection = new Connection(id, this.#plan.connect)
    return new Observable((subscriber) => {
      this.#connections.set(id, connection)
      subscriber.add(() => this.#connections.delete(id))
      subscriber.add(connection.authorize(this.#tokens, need).subscribe(subscriber))
    })
  }

  #start(connection: Connection<In, Out>): Observable<ClientInput> {
    const { bounds, scheduler } = this.#plan.settings
    if (connection.parts !== undefined) {
      this.#results ??= new connection.parts.ResultTimeline(this.#buffer, bounds.format, scheduler)
    }
    return connection.start()
  }

  #sendAudio({ route, parts }: Connection<In, Out>): Observable<ClientInput> {
    if (route === undefined || parts === undefined) return EMPTY
    const { bounds, scheduler, silenceTimeoutMs } = this.#plan.settings
    return this.#pump.send({
      ...route,
      createRateLimiter: (hasBursts) => new parts.RateLimiter(bounds.format, scheduler, hasBursts),
      createMonitor: (onInactive) => new parts.InactivityMonitor(silenceTimeoutMs, scheduler, onInactive),
    })
  }

  #wait({ delayMs, input, ref }: Extract<ClientAction, { readonly do: 'wait' }>): Observable<ClientInput> {
    return new Observable((subscriber) =>
      schedule(this.#plan.settings.scheduler, delayMs, () => subscriber.next(input), { ref }),
    )
  }

  /** What the user says while the session runs; each signal counts once. */
  #signals(): Observable<ClientInput> {
    const { finalize$ = EMPTY, stop$ = EMPTY } = this.#plan.settings
    if (finalize$ === EMPTY && stop$ === EMPTY && this.#plan.abort$ === undefined) return EMPTY
    const follow = (name: string, signal$: Observable<unknown>, input: ClientInput): Observable<ClientInput> =>
      signal$.pipe(
        take(1),
        map(() => input),
        catchError((cause: unknown) => {
          const error = toSpeechError(cause, 'source-failed', `${name} failed; see the cause.`)
          return of<ClientInput>({ type: 'failed', error })
        }),
      )
    return merge(
      (this.#plan.abort$ ?? EMPTY).pipe(map((error): ClientInput => ({ type: 'failed', error }))),
      follow('finalize$', finalize$, { type: 'audio-over' }),
      follow('stop$', stop$, { type: 'stop' }),
    )
  }
}
