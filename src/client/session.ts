import {
  EMPTY,
  Observable,
  Subscription,
  take,
  type ObservableInput,
  type Subscriber,
  type TeardownLogic,
  type Unsubscribable,
} from 'rxjs'
import { toSpeechError, type SpeechError } from '../errors/speech-error.js'
import { MachineRun, observing, type Inputs, type MachineHost } from '../kernel/machine.js'
import { schedule } from '../kernel/timers.js'
import type { SessionEvent, Slots } from '../protocol/session-event.js'
import { checkSource, isPulled } from './audio/audio-feed.js'
import { AudioPump } from './audio/audio-pump.js'
import { ReplayBuffer, type Gap } from './audio/replay-buffer.js'
import { Connection, type Connect, type Route } from './connection.js'
import { LedgerReporter } from './ledger-reporter.js'
import { ClientMachine } from './machine.js'
import { pulledBounds } from './options.js'
import type { SessionSettings } from './settings.js'
import type { OpenTelemetry } from '../tracing/open-telemetry.js'
import type { Ending } from './protocol.js'
import { ResultTimeline } from './results/timeline.js'
import { isFixedToken, SessionToken } from './token.js'
import {
  isDeciding,
  type AuthorizeAction,
  type ClientAction,
  type ClientInput,
  type ClientOutput,
  type ObservedInput,
  type ReceiveOutput,
  type SessionPolicy,
  type Snapshot,
} from './states.js'

/** The parameters of a session: how it connects, and the options of the user. */
export interface SessionPlan<In, Out> {
  readonly settings: SessionSettings
  readonly policy: SessionPolicy
  readonly connect: Connect<In, Out>
  /** Changes by the user during the session. */
  readonly updates$?: Observable<ClientInput> | undefined
  /** Fails the session from outside, for example when the other session of a stereo pair has failed. */
  readonly abort$?: Observable<SpeechError> | undefined
  /** Runs the session on another machine than `ClientMachine`. */
  readonly run?: RunSession<In, Out> | undefined
}

/** Runs a machine on a session, and ends its subscriber with the result. */
export type RunSession<In, Out> = (
  session: SessionHost<In, Out>,
  subscriber: Subscriber<SessionEvent>,
) => Pick<MachineRun<never, never, never, never>, 'start' | 'unsubscribe'>

export interface SessionHost<In, Out> extends MachineHost<
  ClientInput,
  ClientOutput,
  ClientAction | RoutedAction<In, Out>
> {
  /** Completes an input whose turn has come. */
  observe(input: ClientInput): ObservedInput
  readonly snapshot: Snapshot
}

/** `route`: that of the chosen service, if there are several. */
export type RoutedAction<In, Out> = AuthorizeAction & { readonly route?: Route<In, Out> | undefined }

/**
 * Creates the session of a source.
 *
 * @typeParam S the slots of the model, as `rxspeech models types` writes them.
 */
export type Recognition<S extends Slots = Slots> = (source: ObservableInput<Uint8Array>) => Observable<SessionEvent<S>>

/** A recognition of `recognize`, `dataflow` or `failover`. */
export interface PlannedRecognition<S extends Slots = Slots> extends Recognition<S> {
  /** How its sessions run; `failover` joins it with those of other services. */
  readonly plan: RecognitionPlan
}

/** A session over one channel, with its number if there are two. `abort$` fails it. */
export type RecognizeChannel = (
  source: ObservableInput<Uint8Array>,
  channel?: 0 | 1,
  abort$?: Observable<SpeechError>,
) => Observable<SessionEvent>

/** A session that is about to run. */
export interface SessionRequest {
  /** The only channel of the session; absent if it takes all of them. */
  readonly channel?: 0 | 1 | undefined
  /** Fails the session. */
  readonly abort$?: Observable<SpeechError> | undefined
  /** The header that each of its connections sends. */
  readonly traceparent?: string | undefined
  /** Whether its source is pulled. */
  readonly isPulled?: boolean | undefined
}

/** How the sessions of a recognition run. */
export interface RecognitionPlan<In = unknown, Out = unknown> {
  /**
   * Plans one session; for operators that compose recognitions.
   *
   * @internal
   */
  readonly sessionOf: (request: SessionRequest) => SessionPlan<In, Out>
  /**
   * Runs one session for each of two channels; absent if one session takes all.
   *
   * @internal
   */
  readonly stereoOf?: ((recognizeChannel: RecognizeChannel) => Recognition) | undefined
  /** Records each session as a span. @default sessions are not traced */
  readonly openTelemetry?: OpenTelemetry | undefined
}

/** The properties of a session that its decisions depend on. */
export const policyOf = (settings: SessionSettings, ending: Ending): SessionPolicy => ({
  ...ending,
  deadlines: settings.deadlines,
  resumption: settings.resumption,
  isContinuous: settings.continuous,
  isTokenRenewable: !isFixedToken(settings.token),
})

/**
 * Cold: each subscription runs one session with one subscription to the source. Unsubscribing aborts it at once. Throws
 * `invalid-options` if the source is not a source of audio.
 */
export const openSession = <In, Out>(
  plan: SessionPlan<In, Out>,
  source: ObservableInput<Uint8Array>,
): Observable<SessionEvent> => {
  checkSource(source)
  return new Observable((subscriber) => new Session(plan, source, subscriber).run())
}

/** Performs the decisions of a session's machine on its audio, results and connections. */
class Session<In, Out> implements SessionHost<In, Out> {
  readonly #plan: SessionPlan<In, Out>
  readonly #subscriber: Subscriber<SessionEvent>
  readonly #route: Route<In, Out>
  readonly #buffer: ReplayBuffer
  readonly #pump: AudioPump<Out>
  readonly #ledger: LedgerReporter
  /** Whether `reconnecting` was the last emitted state. */
  #isReconnecting = false
  /** The open or opening connections: one, or two during a handover. */
  #connections: readonly Connection<In, Out>[] = []
  readonly #results: ResultTimeline

  constructor(plan: SessionPlan<In, Out>, source: ObservableInput<Uint8Array>, subscriber: Subscriber<SessionEvent>) {
    const { settings } = plan
    const bounds = isPulled(source) ? pulledBounds(settings.bounds) : settings.bounds
    this.#plan = plan
    this.#subscriber = subscriber
    this.#route = { connect: plan.connect, tokens: new SessionToken(settings), session: {} }
    this.#buffer = new ReplayBuffer(bounds)
    this.#results = new ResultTimeline(this.#buffer, bounds.format, settings.scheduler)
    this.#pump = new AudioPump(this.#buffer, source, settings)
    this.#ledger = new LedgerReporter(this.#buffer, bounds.format, this)
  }

  run(): void {
    const run =
      this.#plan.run?.(this, this.#subscriber) ??
      new MachineRun(
        observing(new ClientMachine(this.#plan.policy), (input: ClientInput) => this.observe(input)),
        this,
        this.#subscriber,
      )
    // Added to the subscriber instead of returned, because the consumer may unsubscribe during the first step.
    this.#subscriber.add(run)
    run.start()
  }

  /** Whether the service sends no times; for the ledger. */
  get isEstimated(): boolean {
    return this.#results.isEstimated
  }

  observe(input: ClientInput): ObservedInput {
    return isDeciding(input) ? { ...input, snapshot: this.snapshot } : input
  }

  get snapshot(): Snapshot {
    const buffer = this.#buffer
    const { hasSentAudio, progressMs, isWhole, isAnswered, isUnread } = this.#results
    const { isSent, pendingFromMs, hasSound } = buffer
    const nowMs = this.#plan.settings.scheduler.now()
    return { nowMs, isSent, hasSentAudio, pendingFromMs, hasSound, progressMs, isWhole, isAnswered, isUnread }
  }

  // Outputs and actions of the machine

  emit(output: ClientOutput, answer: (input: ClientInput) => void): void {
    if (output.do === 'receive') this.#receive(output, answer)
    else if (output.do === 'read') this.#read(output.event)
    else if (output.do === 'emit') this.#subscriber.next(output.event)
    else for (const event of this.#report(output)) this.#subscriber.next(event)
  }

  onIdle(): void {
    this.#pump.pull()
  }

  perform(action: ClientAction | RoutedAction<In, Out>, inputs: Inputs<ClientInput>): TeardownLogic {
    switch (action.do) {
      case 'begin':
        return inputs.post({ type: 'begin' })
      case 'watch-signals':
        return this.#watchSignals(inputs)
      case 'watch-updates':
        return this.#plan.updates$?.subscribe((input) => inputs.post(input))
      case 'capture':
        return this.#pump.capture(inputs)
      case 'listen':
        return this.#pump.listen(inputs)
      case 'wait':
        return this.#wait(action, inputs)
      default:
        return this.#onConnection(action, inputs)
    }
  }

  onFailure(error: unknown): ClientInput {
    return { type: 'failed', error: toSpeechError(error, 'internal', 'The session failed; see the cause.') }
  }

  #receive({ event, signal, as }: ReceiveOutput, answer: (input: ClientInput) => void): void {
    const results = this.#results
    const final = event.type === 'final' ? event : undefined
    if (as !== 'ignored') this.#pump.onActivity()
    if (as !== 'ignored' && final !== undefined && final.error === undefined && results.isRepeated(final)) {
      for (const repeated of results.repeat(final)) this.#subscriber.next(repeated)
      return
    }
    const held = as === 'held' ? final : undefined
    if (held !== undefined) results.hold(held)
    const hasProgress = as === 'read' && this.#read(event)
    if (signal === undefined && final === undefined && !hasProgress) return
    answer({ type: 'read', signal, held, hasProgress, isLast: final !== undefined && results.isFinal })
  }

  /**
   * Emits an event of the service, with the times of the source, and the ledger if it has changed. Returns whether more
   * audio is definitive than before.
   */
  #read(message: SessionEvent): boolean {
    const event = this.#results.read(message)
    const { events, hasProgress } = this.#ledger.report()
    if (event !== undefined) this.#subscriber.next(event)
    for (const ledger of events) this.#subscriber.next(ledger)
    return hasProgress
  }

  /** Performs an output. The returned events are emitted before the next output is performed. */
  #report(output: Exclude<ClientOutput, { readonly do: 'emit' | 'read' | 'receive' }>): readonly SessionEvent[] {
    const results = this.#results
    switch (output.do) {
      case 'continue-after':
        return output.finals.flatMap((final) => results.continueAfter(final) ?? [])
      case 'begin':
        return this.#begin(output)
      case 'pause': {
        const gaps = this.#buffer.endRecognition()
        const events = this.#reportGaps(gaps)
        this.#buffer.listen()
        return [...events, ...this.#ledger.report().events]
      }
      case 'expect-finals':
        results.expectFinals()
        return []
      case 'confirm-finals':
        results.confirmFinals()
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
        const bufferedMs = this.#buffer.pendingMs
        this.#isReconnecting = true
        return [{ type: 'connection', state: 'reconnecting', ...output.event, bufferedMs }]
      }
      case 'report-ledger':
        return this.#ledger.report().events
      case 'close-ledger':
        return this.#ledger.close()
    }
  }

  #begin({ isNextRecognition, event }: Extract<ClientOutput, { readonly do: 'begin' }>): readonly SessionEvent[] {
    const results = this.#results
    const { hasBegun } = results
    const { replayedMs, gaps, isRepeated } = results.begin()
    if (isRepeated) this.#pump.slow('as spoken')
    const events: SessionEvent[] = []
    if (!hasBegun || this.#isReconnecting || event) {
      events.push({ type: 'connection', state: 'streaming', ...event })
    }
    if (hasBegun) events.push({ type: 'resumed', replayedMs, ...(isNextRecognition ? { isNextRecognition } : {}) })
    this.#isReconnecting = false
    return [...events, ...this.#reportGaps(gaps), ...this.#ledger.report().events]
  }

  #reportGaps(gaps: readonly Gap[]): readonly SessionEvent[] {
    return gaps.flatMap((gap): readonly SessionEvent[] => [{ type: 'gap', ...gap }, ...this.#ledger.report().events])
  }

  #wait(action: Extract<ClientAction, { readonly do: 'wait' }>, inputs: Inputs<ClientInput>): Unsubscribable {
    return schedule(this.#plan.settings.scheduler, action.delayMs, () => inputs.post(action.input), action)
  }

  #onConnection(
    action: Extract<ClientAction, { readonly connection: number }> | RoutedAction<In, Out>,
    inputs: Inputs<ClientInput>,
  ): TeardownLogic {
    if (action.do === 'authorize') return this.#authorize(action, inputs)
    const connection = this.#connections.find(({ id }) => id === action.connection)
    if (connection === undefined) return undefined
    switch (action.do) {
      case 'dial':
        return connection.dial(action.update)
      case 'start':
        return connection.start()
      case 'restart':
        return connection.restart()
      case 'send-audio':
        return connection.open && this.#pump.send(connection.open, inputs)
      case 'send-update':
        return connection.update(action.update)
      case 'finalize':
        return connection.finalize(action.by)
      case 'stop':
        return connection.stop()
    }
  }

  /** Gets a token and runs the connection during its lifetime. */
  #authorize(action: RoutedAction<In, Out>, inputs: Inputs<ClientInput>): TeardownLogic {
    const route = action.route ?? this.#route
    const connection = new Connection(action.connection, route, inputs)
    this.#connections = this.#connections.concat(connection)
    connection.authorize(route.tokens, action.need)
    return () => {
      this.#connections = this.#connections.filter((open) => open !== connection)
      connection.unsubscribe()
    }
  }

  /** The user's signals during the session; each counts once. */
  #watchSignals(inputs: Inputs<ClientInput>): TeardownLogic {
    const { finalize$ = EMPTY, stop$ = EMPTY } = this.#plan.settings
    const { abort$ = EMPTY } = this.#plan
    if (finalize$ === EMPTY && stop$ === EMPTY && abort$ === EMPTY) return undefined
    const follow = (name: string, signal$: Observable<unknown>, input: ClientInput): Subscription =>
      signal$.pipe(take(1)).subscribe({
        next: () => inputs.post(input),
        error: (cause: unknown) => {
          const error = toSpeechError(cause, 'source-failed', `${name} failed; see the cause.`)
          inputs.post({ type: 'failed', error })
        },
      })
    const signals = new Subscription()
    signals.add(abort$.subscribe((error) => inputs.post({ type: 'failed', error })))
    signals.add(follow('finalize$', finalize$, { type: 'audio-over' }))
    signals.add(follow('stop$', stop$, { type: 'stop' }))
    return signals
  }
}
