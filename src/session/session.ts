import { Subscription, take, type Observable, type ObservableInput, type Subscriber, type Unsubscribable } from 'rxjs'
import { SpeechError, toSpeechError } from '../errors/speech-error.js'
import { later } from '../time/later.js'
import type { UpdateRequest } from '../protocol/dataflow-requests.js'
import type { FinalEvent, SessionEvent } from '../protocol/session-event.js'
import { isFixedToken } from './ask-token.js'
import { feedAudio, isPulled, type AudioFeed, type AudioSink } from './audio/audio-feed.js'
import { AudioOutlet, type OutletReport } from './audio/audio-outlet.js'
import { AudioTape, type Gap } from './audio/audio-tape.js'
import type { Ending, Heard } from './dialogue.js'
import type { Equipment, Equipped } from './equipment.js'
import { Line, type LineNews, type LineOwner, type LinePlan } from './line.js'
import {
  isWait,
  step,
  type Command,
  type MachineInput,
  type MachineState,
  type Manners,
  type Standing,
} from './session-machine.js'
import { RetryBudget } from './retry-budget.js'
import { pulledBounds, type SessionSettings } from './session-options.js'
import { SessionToken } from './session-token.js'
import { SessionAccount, type AccountOwner } from './session-account.js'
import type { Updates } from './updates.js'

/** What one kind of session brings: how it connects, what it says there, and what the user asked for. */
export interface SessionPlan<In, Out> extends LinePlan<In, Out> {
  readonly settings: SessionSettings
  readonly ending: Ending
  /** For each session its own: changes that the user asks for while it streams. */
  readonly newUpdates?: () => Updates
  /** Fails the session from without, such as when the other half of a pair has failed. */
  readonly abort$?: Observable<SpeechError>
}

/** A recognition has brought the session forward that lasted so long, or made so much audio definitive. */
const progressAfterMs = 10_000
const progressOfMs = 200

/** What is told also after a stop. */
const isAnswer = (event: SessionEvent): boolean => event.type === 'response' || event.type === 'unknown'

/** Something that happened, and on which line: what a line says that was left is not heard. */
interface News<In, Out> {
  readonly line?: Line<In, Out>
  readonly what: MachineInput | Heard
}

/**
 * Runs one session: does what the machine commands and tells it what happens. Inputs that arrive while a command runs
 * (a handler that finalizes or stops from within `next`, a service in memory that answers at once) wait in line, so
 * that every step sees a whole state and events keep their order.
 */
export class Session<In, Out> implements AudioSink, OutletReport, AccountOwner, Equipped<In, Out>, LineOwner<In, Out> {
  readonly tape: AudioTape
  readonly #plan: SessionPlan<In, Out>
  readonly #manners: Manners
  readonly #subscriber: Subscriber<SessionEvent>
  readonly #tokens: SessionToken
  readonly #outlet: AudioOutlet<Out>
  readonly #feed: AudioFeed
  readonly #account: SessionAccount
  readonly #updates: Updates | undefined
  readonly #budget: RetryBudget | undefined
  readonly #signals = new Subscription()
  readonly #inbox: News<In, Out>[] = []
  #state: MachineState = { name: 'idle', audioOver: false }
  #busy = false
  #feedWaits = false
  /** With an error: how the connection ends tells whether another one mends it. */
  #failedFinals: readonly FinalEvent[] = []
  /** Whether the next stream follows a recognition that the service has ended. */
  #isNextRecognition = false
  #line: Line<In, Out>
  /** From the first connection on. */
  #equipment: Equipment<In, Out> | undefined
  /**
   * Set once the service has refused audio as too fast: what is sent again is sent slower. And once it has ended a
   * recognition without a sign of how far it had read: then no faster than it was spoken, for only the clock tells that.
   */
  #pace: 'none' | 'with bursts' | 'as spoken' = 'none'
  #streamsSinceMs = Infinity
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
    this.tape = new AudioTape(isPulled(source) ? pulledBounds(bounds) : bounds)
    this.#account = new SessionAccount(this.tape, bounds.format, this)
    this.#outlet = new AudioOutlet(this.tape, scheduler, this)
    this.#feed = feedAudio(source, this)
  }

  begin(): void {
    const { finalize$, stop$ } = this.#plan.settings
    // The signals first: what they say while the session begins counts.
    this.#signals.add(this.#plan.abort$?.subscribe((error) => this.#fail(error)))
    this.#obey('finalize$', finalize$, () => this.end())
    this.#obey('stop$', stop$, () => this.#dispatch({ type: 'stop' }))
    this.#dispatch({ type: 'begin' })
    if (!this.#subscriber.closed) this.#feed.resume()
  }

  /** Lets go of everything; what the service still says is not heard. */
  release(): void {
    this.#deadline?.unsubscribe()
    this.#outlet.close()
    this.#feed.close()
    this.#equipment?.silence.stop()
    this.#equipment?.succession?.cancel()
    this.#signals.unsubscribe()
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

  /** What comes next: more from a pulled source, or the end. */
  idle(): void {
    if (this.#state.name === 'draining') this.#dispatch({ type: 'drained' })
    // Not within a command: a source that emits at once would hold back all inputs until it has ended.
    else if (this.#busy) this.#feedWaits = true
    else this.#feed.resume()
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

  #obey(name: string, signal$: Observable<unknown> | undefined, act: () => void): void {
    const error = (cause: unknown): void =>
      this.#fail(toSpeechError(cause, 'source-failed', `${name} failed; see the cause.`))
    this.#signals.add(signal$?.pipe(take(1)).subscribe({ next: act, error }))
  }

  #fail(error: SpeechError): void {
    this.#dispatch({ type: 'failed', error })
  }

  #dispatch(what: MachineInput | Heard, line?: Line<In, Out>): void {
    this.#inbox.push(line === undefined ? { what } : { what, line })
    if (this.#busy) return
    this.#busy = true
    for (let news = this.#inbox.shift(); news !== undefined; news = this.#inbox.shift()) {
      if (this.#subscriber.closed) break
      const { line: other, what } = news
      if (other !== undefined && other !== this.#line) this.#equipment?.succession?.hears(other, what)
      else if ('event' in what) this.#hear(what)
      else this.#step(this.#isAllSaid(what) ? { type: 'link-ended' } : what)
    }
    this.#busy = false
    if (!this.#feedWaits) return
    this.#feedWaits = false
    this.#feed.resume()
  }

  /** However a connection ends once every channel has its final: it was the last word that was asked for. */
  #isAllSaid({ type }: MachineInput): boolean {
    const isFinalizing = this.#state.name === 'finalizing'
    return type === 'link-failed' && isFinalizing && this.#equipment?.results.isAnswered === true
  }

  #hear({ event, meaning }: Heard): void {
    this.#equipment?.silence.broken()
    // Who stopped wants no more results; a service may still send what it had (service.md 4.2, stop-recognition). And
    // what a start is answered on another connection was answered before.
    if (this.#state.name === 'stopping') this.#tellIf(isAnswer(event), event)
    else if (event.type !== 'final') this.#tellIf(!this.#isAnsweredAgain(meaning), event)
    else if (!this.#takesFinal(event)) return
    if (meaning !== undefined && !this.#subscriber.closed) this.#step({ type: 'heard', meaning })
  }

  #tellIf(isTold: boolean, event: SessionEvent): void {
    if (isTold) this.tell(event)
  }

  /** Returns whether a final is one more, and does not only repeat the one before it. */
  #takesFinal(event: FinalEvent): boolean {
    const results = this.#equipment?.results
    if (results?.isRepeated(event) === true) {
      const reason = 'A second final of a recognition.'
      this.emit({ type: 'unknown', reason, raw: event.text })
      return false
    }
    if (event.error !== undefined && this.#manners.resumes) {
      this.#failedFinals = [...this.#failedFinals, event]
      results?.hold(event)
      return true
    }
    this.tell(event)
    if (results?.isFinal === true) this.#dispatch({ type: 'all-final' })
    return true
  }

  #isAnsweredAgain(meaning: Heard['meaning']): boolean {
    const isStarted = meaning?.type === 'start-answer' && meaning.error === undefined
    return isStarted && this.#state.name === 'starting' && this.#equipment?.results.hasBegun === true
  }

  #step(said: MachineInput): void {
    // Here, so that a handler that stops at the first of two gaps hears the second as well.
    if (said.type === 'audio-over') this.#outlet.end()
    // It may have waited in line while audio was sent.
    const input = said.type === 'audio-over' ? { ...said, drained: this.tape.isSent } : said
    const { state, commands } = step(this.#state, input, this.#manners, this.#standing())
    const { name } = this.#state
    this.#state = state
    if (state.name !== name) this.#setDeadline()
    for (const command of commands) {
      if (this.#subscriber.closed) return
      this.#execute(command)
    }
  }

  /** Looked at, if at all, before the step has its effects. */
  #standing(): Standing {
    const { tape } = this
    const results = this.#equipment?.results
    const lastedMs = this.#plan.settings.scheduler.now() - this.#streamsSinceMs
    return {
      isWhole: results?.isWhole ?? true,
      get isUnread() {
        return results?.isUnread ?? false
      },
      get hasSound() {
        return tape.hasSound
      },
      hasProgress: lastedMs >= progressAfterMs || (results?.progressMs ?? 0) >= progressOfMs,
    }
  }

  #setDeadline(): void {
    const { name } = this.#state
    const { deadlines, scheduler } = this.#plan.settings
    this.#deadline?.unsubscribe()
    // A connection may break unseen, and then nothing else holds a process that has to be told of it.
    this.#deadline = isWait(name)
      ? later(
          scheduler,
          deadlines[name],
          () => this.#dispatch({ type: 'deadline', ...this.tape.pending }),
          'holds the process',
        )
      : undefined
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
        return this.#start()
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
        this.#pace = 'as spoken'
        return
      case 'reconnect':
        return this.#reconnect(command.error)
      case 'finalize':
        return this.#finalize()
      case 'stop':
        return connection?.link.send(connection.dialogue.stop())
      case 'tell':
        for (const final of this.#takeFailedFinals()) this.tell(final)
        return
      case 'settle':
        // One that broke says nothing of what was sent.
        if (this.#failedFinals.length === 0) this.tape.settle(this.tape.sent)
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

  #start(): void {
    this.#equipment ??= this.#line.connection?.equip(this)
    this.#line.start()
  }

  /** Leaves the connection, for its successor where there is one; the finals that it said belong to it alone. */
  #leave(successor: Line<In, Out> | undefined): void {
    const { results, silence } = this.#equipment ?? {}
    this.#line.leave()
    silence?.stop()
    this.#outlet.close()
    if (successor !== undefined) this.#line = successor
    for (const final of this.#takeFailedFinals()) this.emit(results?.continueAfter(final))
  }

  #takeFailedFinals(): readonly FinalEvent[] {
    const finals = this.#failedFinals
    this.#failedFinals = []
    return finals
  }

  /** The service has ended the recognition: until the next one, nothing goes out. */
  #rest(): void {
    this.#outlet.close()
    this.#equipment?.silence.stop()
    this.#equipment?.succession?.cancel()
    this.#isNextRecognition = true
    for (const gap of this.tape.rest()) this.#account.gap(gap)
    this.tape.listen()
    this.#account.tell()
    this.#feedWaits = true
  }

  /** Leaves the connection that failed, and waits for the time of the next attempt. */
  #reconnect(error: SpeechError): void {
    const { succession } = this.#equipment ?? {}
    this.#isNextRecognition = false
    const successor = succession?.take()
    this.#leave(successor)
    succession?.cancel()
    this.#account.tell()
    if (this.#subscriber.closed) return
    // Before all that waits in line, which may be its loss.
    if (successor !== undefined) return this.#step({ type: 'taken-over' })
    if (error.code === 'too-fast' && this.#pace === 'none') this.#pace = 'with bursts'
    const { scheduler } = this.#plan.settings
    const next = this.#budget?.next(scheduler.now(), error)
    if (next === undefined) return this.#fail(error)
    this.#deadline = later(scheduler, next.delayMs, () => this.#dispatch({ type: 'retry' }), 'holds the process')
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
    const { link, dialogue } = connection
    const { results, newPace, succession } = this.#equipment
    const isAnother = results.hasBegun
    const { replayedMs, gaps } = results.begin()
    const isNext = this.#isNextRecognition && { isNextRecognition: true as const }
    this.#isNextRecognition = false
    this.emit({
      type: 'connection',
      ...(isAnother ? { state: 'resumed', replayedMs, ...isNext } : { state: 'streaming' }),
    })
    for (const gap of gaps) this.#account.gap(gap)
    this.#account.tell()
    if (this.#subscriber.closed) return
    this.#streamsSinceMs = this.#plan.settings.scheduler.now()
    this.#budget?.streams(this.#streamsSinceMs)
    // What was asked after this line had been made does not stand in its start.
    const asked = this.#updates?.asked
    if (asked !== undefined && asked !== this.#line.update) this.#ask(asked)
    this.#updates?.listen(
      (update) => this.#ask(update),
      (error) => this.#fail(error),
    )
    if (this.#subscriber.closed) return
    const { sent } = this.tape
    succession?.plan(this.#line, () => this.tape.sent > sent)
    this.#outlet.open(link, dialogue, this.#pace === 'none' ? undefined : newPace(this.#pace === 'with bursts'))
  }

  #ask(update: UpdateRequest): void {
    const { connection } = this.#line
    const asks = this.#state.name === 'streaming' || this.#state.name === 'draining'
    const message = asks ? connection?.dialogue.update?.(update) : undefined
    if (message !== undefined) connection?.link.send(message)
  }

  #finalize(): void {
    this.#feed.close()
    this.#outlet.close()
    this.#equipment?.silence.stop()
    this.#equipment?.succession?.cancel()
    this.#equipment?.results.ask()
    const { connection } = this.#line
    if (this.#manners.finalizeBy === 'half-close') connection?.link.finish()
    else connection?.link.send(connection.dialogue.finalize())
  }
}
