import { type Subscription, type ObservableInput, type Subscriber, type Unsubscribable } from 'rxjs'
import { SpeechError, toSpeechError } from '../errors/speech-error.js'
import { schedule } from '../kernel/timers.js'
import type { UpdateRequest } from '../protocol/dataflow-messages.js'
import type { SessionEvent } from '../protocol/session-event.js'
import { isFixedToken } from './ask-token.js'
import { feedAudio, isPulled, type AudioFeed, type AudioSink } from './audio/audio-feed.js'
import { AudioPump, type AudioPumpEvents } from './audio/audio-pump.js'
import { ReplayBuffer, type Gap } from './audio/replay-buffer.js'
import type { DecodedMessage } from './protocol.js'
import type { Equipment, Equipped } from './equipment.js'
import { Line, type LineNews, type LineOwner, type SessionNews } from './connection.js'
import { Mailbox } from '../kernel/mailbox.js'
import { startDeadline } from './session-deadlines.js'
import { step } from './machine.js'
import type { Command, MachineInput, MachineState, ProtocolTraits } from './session-states.js'
import { RetryBudget } from './retry-budget.js'
import { pulledBounds, type SessionSettings } from './options.js'
import type { SessionPlan } from './session-plan.js'
import { followSignals } from './session-signals.js'
import { SessionToken } from './session-token.js'
import { Recognitions, repeatedFinal } from './recognitions.js'
import { LedgerReporter, type LedgerOwner } from './ledger-reporter.js'
import type { Updates } from './updates.js'

/** What is told also after a stop. */
const isAnswer = (event: SessionEvent): boolean => event.type === 'response' || event.type === 'unknown'

/**
 * Runs one session: does what the machine commands and tells it what happens. Inputs that arrive while a command runs
 * (a handler that finalizes or stops from within `next`, a service in memory that answers at once) wait in line, so
 * that every step sees a whole state and events keep their order.
 */
export class Session<In, Out>
  implements AudioSink, AudioPumpEvents, LedgerOwner, Equipped<In, Out>, LineOwner<In, Out>
{
  readonly tape: ReplayBuffer
  readonly #plan: SessionPlan<In, Out>
  readonly #manners: ProtocolTraits
  readonly #subscriber: Subscriber<SessionEvent>
  readonly #tokens: SessionToken
  readonly #outlet: AudioPump<Out>
  readonly #feed: AudioFeed
  readonly #account: LedgerReporter
  readonly #updates: Updates | undefined
  readonly #budget: RetryBudget | undefined
  readonly #recognitions: Recognitions
  #signals: Subscription | undefined
  readonly #mailbox = new Mailbox<SessionNews<In, Out>>(
    (news) => this.#handle(news),
    () => this.#feedOn(),
  )
  #state: MachineState = { name: 'idle', audioOver: false }
  #feedWaits = false
  #line: Line<In, Out>
  /** From the first connection on. */
  #equipment: Equipment<In, Out> | undefined
  #deadline: Unsubscribable | undefined

  constructor(plan: SessionPlan<In, Out>, source: ObservableInput<Uint8Array>, subscriber: Subscriber<SessionEvent>) {
    const { bounds, token, resumption, continuous, scheduler } = plan.settings
    this.#plan = plan
    this.#subscriber = subscriber
    this.#updates = plan.newUpdates?.()
    this.#budget = resumption && new RetryBudget(resumption)
    this.#tokens = new SessionToken(plan.settings)
    this.#line = this.newLine()
    const { endsWith, finalizeBy } = plan.ending
    this.#manners = {
      endsWith,
      finalizeBy,
      renews: !isFixedToken(token),
      resumes: resumption !== undefined,
      continuous,
    }
    this.tape = new ReplayBuffer(isPulled(source) ? pulledBounds(bounds) : bounds)
    this.#recognitions = new Recognitions(this.tape, scheduler)
    this.#account = new LedgerReporter(this.tape, bounds.format, this)
    this.#outlet = new AudioPump(this.tape, scheduler, this)
    this.#feed = feedAudio(source, this)
  }

  begin(): void {
    // The signals first: what they say while the session begins counts.
    this.#signals = followSignals(this.settings, this.#plan.abort$, {
      end: () => this.end(),
      stop: () => this.#dispatch({ type: 'stop' }),
      abort: (error) => this.#fail(error),
    })
    this.#dispatch({ type: 'begin' })
    if (!this.#subscriber.closed) this.#feed.resume()
  }

  /** Lets go of everything; what the service still says is not heard. */
  release(): void {
    this.#deadline?.unsubscribe()
    this.#feed.close()
    this.#hush()
    this.#signals?.unsubscribe()
    this.#updates?.end()
    this.#line.leave()
  }

  // As the sink of its audio.

  wanted(): boolean {
    return this.#state.name === 'resting' || (this.#state.name === 'streaming' && this.#outlet.hasRoom)
  }

  chunk(bytes: Uint8Array): void {
    // By its property, for `instanceof` fails between realms; and JavaScript may send anything.
    if ((bytes as Partial<Uint8Array> | null | undefined)?.BYTES_PER_ELEMENT !== 1) {
      this.#fail(new SpeechError('invalid-options', 'The audio source must emit Uint8Array.'))
    } else if (this.#state.name === 'resting') {
      if (this.#outlet.hold(bytes)) this.#dispatch({ type: 'sound' })
    } else {
      this.#outlet.take(bytes)
      if (this.#state.name === 'streaming' && !this.#subscriber.closed) this.#equipment?.silence.audio()
    }
  }

  /** The source has ended, or `finalize$` says so. */
  end(): void {
    this.#feed.close()
    this.#dispatch({ type: 'audio-over', drained: this.tape.isSent })
  }

  fail(error: unknown): void {
    this.#fail(toSpeechError(error, 'source-failed', 'The audio source failed; see the cause.'))
  }

  // As whom its outlet tells.

  gap(gap: Gap): void {
    this.#account.gap(gap)
  }

  progress(): void {
    this.#dispatch({ type: 'progress' })
  }

  idle(): void {
    if (this.#state.name === 'draining') this.#dispatch({ type: 'drained' })
    // Not within a command: a source that emits at once would hold back all inputs until it has ended.
    else if (this.#mailbox.isBusy) this.#feedWaits = true
    else this.#feed.resume()
  }

  #feedOn(): void {
    if (!this.#feedWaits) return
    this.#feedWaits = false
    this.#feed.resume()
  }

  // As the owner of its lines and of what it is equipped with.

  get settings(): SessionSettings {
    return this.#plan.settings
  }

  get estimated(): boolean {
    return this.#equipment?.results.estimated ?? false
  }

  newLine(): Line<In, Out> {
    return new Line(this.#plan, this.#tokens, this.#updates?.asked, this)
  }

  hears(line: Line<In, Out>, news: LineNews): void {
    this.#dispatch(news, line)
  }

  leaves(line: Line<In, Out>): void {
    if (line === this.#line && this.#state.name === 'streaming') this.#equipment?.succession?.hurry()
  }

  due(): void {
    this.#dispatch({ type: 'succeed' })
  }

  tell(heard: SessionEvent): void {
    this.emit(this.#equipment?.results.read(heard))
    if (!this.#account.tell()) return
    this.#budget?.renew()
    this.#dispatch({ type: 'succeed' })
  }

  emit(event: SessionEvent | undefined): void {
    if (event !== undefined) this.#subscriber.next(event)
  }

  #fail(error: SpeechError): void {
    this.#dispatch({ type: 'failed', error })
  }

  #dispatch(what: MachineInput | DecodedMessage, line?: Line<In, Out>): void {
    this.#mailbox.post(line === undefined ? { what } : { what, line })
  }

  #handle({ line, what }: SessionNews<In, Out>): void {
    if (this.#subscriber.closed) return
    if (line !== undefined && line !== this.#line) this.#equipment?.succession?.hears(line, what)
    else if ('event' in what) this.#hear(what)
    else this.#step(this.#isAllSaid(what) ? { type: 'link-ended' } : what)
  }

  /** However a connection ends once every channel has its final: it was the last word that was asked for. */
  #isAllSaid({ type }: MachineInput): boolean {
    const isFinalizing = this.#state.name === 'finalizing'
    return type === 'link-failed' && isFinalizing && this.#equipment?.results.isAnswered === true
  }

  #hear({ event, meaning }: DecodedMessage): void {
    this.#equipment?.silence.broken()
    // Who stopped wants no more results; a service may still send what it had (service.md 4.2, stop-recognition). And
    // what a start is answered on another connection was answered before.
    const isTold =
      this.#state.name === 'stopping'
        ? isAnswer(event)
        : !(this.#state.name === 'starting' && this.#recognitions.isStartedAgain(meaning))
    const becomes = event.type === 'final' ? this.#recognitions.judge(event, this.#manners.resumes) : 'told'
    if (isTold && becomes === 'repeated') return this.emit(repeatedFinal(event))
    if (isTold && becomes === 'told') this.tell(event)
    if (event.type === 'final' && this.#equipment?.results.isFinal) this.#dispatch({ type: 'all-final' })
    if (meaning !== undefined && !this.#subscriber.closed) this.#step({ type: 'heard', meaning })
  }

  #step(said: MachineInput): void {
    // Here, so that a handler that stops at the first of two gaps hears the second as well.
    if (said.type === 'audio-over') this.#outlet.end()
    // It may have waited in line while audio was sent.
    const input = said.type === 'audio-over' ? { ...said, drained: this.tape.isSent } : said
    const { state, commands } = step(this.#state, input, this.#manners, this.#recognitions.standing)
    const { name } = this.#state
    this.#state = state
    if (state.name !== name) this.#setDeadline()
    for (const command of commands) {
      if (this.#subscriber.closed) return
      this.#execute(command)
    }
  }

  #setDeadline(): void {
    this.#deadline?.unsubscribe()
    const onTime = (): void => this.#dispatch({ type: 'deadline', ...this.tape.pending })
    this.#deadline = startDeadline(this.#state.name, this.settings, onTime)
  }

  #execute(command: Command): void {
    const { connection } = this.#line
    switch (command.do) {
      case 'announce':
        return this.emit({ type: 'connection', state: command.state })
      case 'authorize':
        return this.#authorize('any')
      case 'renew':
        return this.#authorize({ refused: this.#line.token })
      case 'dial':
        return this.#line.dial()
      case 'start':
        this.#equipment ??= connection?.equip(this)
        return this.#line.start()
      case 'stream':
        return this.#stream()
      case 'succeed':
        return this.#succeed()
      case 'rest':
        return this.#rest()
      case 'restart':
        return this.#line.restart()
      case 'leave':
        return this.#line.leave()
      case 'slow':
        return this.#outlet.slow('as spoken')
      case 'reconnect':
        return this.#reconnect(command.error)
      case 'finalize':
        return this.#finalize()
      case 'stop':
        return connection?.link.send(connection.dialogue.stop())
      case 'tell':
        return this.#recognitions.takeFailed().forEach((final) => this.tell(final))
      case 'settle':
        // One that broke says nothing of what was sent.
        if (!this.#recognitions.hasFailed) this.tape.settle(this.tape.sent)
        return
      case 'extend':
        return this.#setDeadline()
      case 'drop':
        this.#feed.close()
        this.#outlet.drop(command.cause)
        return this.#outlet.close()
      case 'complete':
        this.#account.close()
        return this.#subscriber.complete()
      case 'fail':
        this.#account.close()
        return this.#subscriber.error(command.error)
    }
  }

  /** Takes a token for another connection, where one was refused another token. */
  #authorize(need: Parameters<Line<In, Out>['authorize']>[0]): void {
    this.#line.leave()
    this.#line = this.newLine()
    this.#line.authorize(need)
  }

  /** Leaves the connection, for its successor where there is one; the finals that it said belong to it alone. */
  #leave(successor: Line<In, Out> | undefined): void {
    this.#line.leave()
    this.#equipment?.silence.stop()
    this.#outlet.close()
    if (successor !== undefined) this.#line = successor
    this.#continueAfterFailed()
  }

  /** The session goes on after finals with an error: only what they add to their milestones is told. */
  #continueAfterFailed(): void {
    for (const final of this.#recognitions.takeFailed()) this.emit(this.#equipment?.results.continueAfter(final))
  }

  /** No audio goes out, and no other connection is made for it. */
  #hush(): void {
    this.#outlet.close()
    this.#equipment?.silence.stop()
    this.#equipment?.succession?.cancel()
  }

  /** The service has ended the recognition: until the next one, nothing goes out. */
  #rest(): void {
    this.#hush()
    this.#recognitions.end('rests')
    this.#continueAfterFailed()
    for (const gap of this.tape.rest()) this.#account.gap(gap)
    this.tape.listen()
    this.#account.tell()
    this.#feedWaits = true
  }

  /** Leaves the connection that failed, and waits for the time of the next attempt. */
  #reconnect(error: SpeechError): void {
    const { succession } = this.#equipment ?? {}
    this.#recognitions.end('lost')
    const successor = succession?.take()
    this.#leave(successor)
    succession?.cancel()
    this.#account.tell()
    if (this.#subscriber.closed) return
    // Before all that waits in line, which may be its loss.
    if (successor !== undefined) return this.#step({ type: 'taken-over' })
    if (error.code === 'too-fast') this.#outlet.slow('with bursts')
    const { scheduler } = this.settings
    const next = this.#budget?.next(scheduler.now(), error)
    if (next === undefined) return this.#fail(error)
    this.#deadline = schedule(scheduler, next.delayMs, () => this.#dispatch({ type: 'retry' }), { ref: true })
    const bufferedMs = this.tape.pendingMs
    this.emit({ type: 'connection', state: 'reconnecting', ...next, bufferedMs, cause: error.code })
  }

  /** The successor that is ready, if one is, takes over. */
  #succeed(): void {
    const successor = this.#equipment?.succession?.take()
    if (successor === undefined) return
    this.#leave(successor)
    if (!this.#subscriber.closed) this.#stream()
  }

  #stream(): void {
    const { connection } = this.#line
    if (connection === undefined || this.#equipment === undefined) return
    const { results, newPace, succession } = this.#equipment
    const isAnother = results.hasBegun
    const { replayedMs, gaps } = results.begin()
    const told = this.#recognitions.begin(results)
    this.emit({
      type: 'connection',
      ...(isAnother ? { state: 'resumed', replayedMs, ...told } : { state: 'streaming' }),
    })
    for (const gap of gaps) this.#account.gap(gap)
    this.#account.tell()
    if (this.#subscriber.closed) return
    // Once the audio is over, only what the service says is progress: else one that always ends too early is asked forever.
    if (this.#state.name === 'streaming') this.#budget?.streams(this.#plan.settings.scheduler.now())
    const fail = (error: SpeechError): void => this.#fail(error)
    this.#updates?.listen(this.#line.update, (update) => this.#ask(update), fail)
    if (this.#subscriber.closed) return
    const { sent } = this.tape
    succession?.plan(this.#line, () => this.tape.sent > sent)
    this.#outlet.open(connection.link, connection.dialogue, newPace)
  }

  #ask(update: UpdateRequest): void {
    const { connection } = this.#line
    const asks = this.#state.name === 'streaming' || this.#state.name === 'draining'
    const message = asks ? connection?.dialogue.update?.(update) : undefined
    if (message !== undefined) connection?.link.send(message)
  }

  #finalize(): void {
    this.#feed.close()
    this.#hush()
    this.#equipment?.results.ask()
    const { connection } = this.#line
    if (this.#manners.finalizeBy === 'half-close') connection?.link.finish()
    else connection?.link.send(connection.dialogue.finalize())
  }
}
