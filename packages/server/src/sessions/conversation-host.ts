import { Observable, Subscription, take, type Subscriber, type TeardownLogic, type Unsubscribable } from 'rxjs'
import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { type Inputs, type Machine, type MachineHost, MachineRun } from 'rxspeech/internal/kernel/machine'
import { schedule } from 'rxspeech/internal/kernel/timers'
import type { AudioIntake } from './audio-intake.js'
import { PauseCounter, type Pausable } from './back-pressure.js'
import { clientError, isUnreadable } from './client-error.js'
import type {
  ClientMessage,
  CommonAction,
  CommonInput,
  CommonOutput,
  ConversationSession,
  End,
  Timeout,
} from './conversation.js'
import { RequestLimit, type RequestBucket } from './request-limit.js'
import type { SessionContext, SessionLimits } from './session-context.js'

/**
 * Serves one connection: runs a machine on its host, which sends to the subscriber. Completion ends the connection
 * normally; an error, always one for clients, ends it with the code of that error. Unsubscribe to abort.
 */
export const serveConversation = <State, Input, Output, Action, Sent>(
  machine: Machine<State, Input, Output, Action>,
  openHost: (client: Subscriber<Sent>) => MachineHost<Input, Output, Action>,
): Observable<Sent> =>
  new Observable((subscriber) => {
    const run = new MachineRun(machine, openHost(subscriber), subscriber)
    // Added and not returned: the client may disconnect while the first step runs.
    subscriber.add(run)
    run.start()
  })

/** What a client sends, and its end: an error means that it disconnected, unless a message was unreadable. */
export interface ConversationSource<Received, Context> {
  readonly incoming$: Observable<Received>
  readonly link: Pausable
  readonly context: Context
  /** The half-close of the client as a message. @default a client that completes its messages has left */
  readonly finished?: Received | undefined
  readonly ended$?: Observable<SpeechError> | undefined
  /** The requests of the token, if it is known from the beginning. */
  readonly ofToken?: RequestBucket | undefined
}

/**
 * The part of a conversation that does not depend on its interface: takes messages one after another, counts and
 * decodes them, passes audio to the session that runs, waits, and reports to the operator. Audio does not pass the
 * machine.
 */
export abstract class ConversationHost<Received, Request extends object, Context extends SessionContext> {
  protected readonly context: Context
  protected readonly pauses: PauseCounter
  protected readonly requests: RequestLimit
  readonly #source: ConversationSource<Received, Context>
  /** Pauses the link, which then delivers nothing, while a message needs more time. */
  readonly #untilNext: Pausable
  #isReady = true
  /** The half-close that arrived before its turn. */
  #waiting: Received | undefined
  /** The destination of audio while a session takes it. */
  #intake: AudioIntake | undefined

  constructor(source: ConversationSource<Received, Context>) {
    const { context, link, ofToken } = source
    this.#source = source
    this.context = context
    this.pauses = new PauseCounter(link)
    this.#untilNext = this.pauses.reason()
    this.requests = new RequestLimit(context.limits, context.scheduler, ofToken)
  }

  /** The bytes of an audio message. */
  protected abstract audioOf(message: Received): Uint8Array | undefined
  /** The characters of a message that counts as a request of the session. */
  protected abstract lengthOf(message: Received): number | undefined
  protected abstract decode(message: Received): Request | End<'unreadable'>
  /** Whether a request counts for the token, too. */
  protected abstract isCounted(request: Request): boolean

  protected performCommon(
    action: CommonAction<ConversationSession>,
    inputs: Inputs<CommonInput<Request>>,
  ): TeardownLogic {
    switch (action.type) {
      case 'listen':
        return this.#listen(inputs)
      case 'next-message':
        return this.#next(inputs)
      case 'wait':
        return this.#wait(action.timeout, inputs, action.delayMs)
      case 'take-audio':
        return this.#takeAudio(action.session)
      case 'drain':
        return action.session.drain()
      case 'finish':
        return action.session.finish()
    }
  }

  onFailure(error: unknown): End<'fault'> {
    return { type: 'end', cause: 'fault', error: this.clientError(error) }
  }

  /** Not as an uncaught exception, which would end the service. */
  report(error: unknown): void {
    this.context.onFault?.(error)
  }

  protected clientError(error: unknown): SpeechError {
    return clientError(error, this.context)
  }

  protected emitCommon(output: CommonOutput<ConversationSession>): void {
    const { watch, onFault } = this.context
    switch (output.type) {
      case 'started':
        return watch?.started(output.session.facts)
      case 'declined':
        return watch?.refused(output.error.code)
      case 'flushing':
        return watch?.flushing()
      case 'idle':
        return watch?.idle()
      case 'stopped':
      case 'gone':
        return watch?.ended(output.type)
      case 'fault':
        return onFault?.(output.error)
    }
  }

  protected endWhen(ended$: Observable<SpeechError>, inputs: Inputs<CommonInput<Request>>): Unsubscribable {
    return ended$.pipe(take(1)).subscribe((error) => inputs.post({ type: 'end', cause: 'revoked', error }))
  }

  #listen(inputs: Inputs<CommonInput<Request>>): Subscription {
    const { incoming$, finished, ended$ } = this.#source
    const { drain$ } = this.context
    const listening = new Subscription()
    listening.add(drain$.pipe(take(1)).subscribe(({ pauseWithinMs }) => inputs.post({ type: 'drain', pauseWithinMs })))
    if (ended$ !== undefined) listening.add(this.endWhen(ended$, inputs))
    const left = (): void => inputs.post({ type: 'end', cause: 'client-left' })
    listening.add(
      incoming$.subscribe({
        next: (message) => this.#receive(message, inputs),
        complete: () => {
          if (finished === undefined) left()
          else if (this.#isReady) this.#receive(finished, inputs)
          else this.#waiting = finished
        },
        error: (error: unknown) =>
          isUnreadable(error) ? inputs.post({ type: 'end', cause: 'unreadable', error }) : left(),
      }),
    )
    return listening
  }

  #receive(message: Received, inputs: Inputs<CommonInput<Request>>): void {
    this.#isReady = false
    if (this.#handle(message, inputs)) this.#isReady = true
    // The machine may have requested the next one already.
    else if (!this.#isReady) this.#untilNext.pause()
  }

  #next(inputs: Inputs<CommonInput<Request>>): void {
    this.#isReady = true
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting !== undefined) this.#receive(waiting, inputs)
    else this.#untilNext.resume()
  }

  /** Returns whether the message is done; otherwise the machine requests the next one. */
  #handle(message: Received, inputs: Inputs<CommonInput<Request>>): boolean {
    try {
      const audio = this.audioOf(message)
      const input = audio === undefined ? this.#decode(message) : this.#takeIn(audio)
      if (input === undefined) return true
      inputs.post({ type: 'message', message: input })
    } catch (error) {
      inputs.post(this.onFailure(error))
    }
    return false
  }

  #decode(message: Received): ClientMessage<Request> {
    const length = this.lengthOf(message)
    const verdict = length === undefined ? 'handle' : this.requests.take(length)
    if (verdict === 'end') return { type: 'end', cause: 'too-many-requests', error: this.requests.refusal() }
    const request = this.decode(message)
    if (isEnd(request) || length === undefined) return request
    const isBeyondToken = this.isCounted(request) && !this.requests.takeOfToken(length)
    return isBeyondToken || verdict === 'refuse' ? { ...request, excess: this.requests.refusal() } : request
  }

  /** Undefined if a session takes the audio. */
  #takeIn(audio: Uint8Array): ClientMessage<Request> | undefined {
    const intake = this.#intake
    const tooMany = intake?.isShort(audio) === false ? undefined : this.requests.takeShort()
    if (intake === undefined) {
      return tooMany === undefined ? { type: 'audio' } : { type: 'end', cause: 'too-many-requests', error: tooMany }
    }
    const error = tooMany ?? intake.take(audio)
    return error && { type: 'end', cause: 'refused-audio', error }
  }

  #takeAudio({ intake }: ConversationSession): () => void {
    this.#intake = intake
    return () => (this.#intake = undefined)
  }

  #wait(
    timeout: Timeout,
    inputs: Inputs<CommonInput<Request>>,
    delayMs = limitOf(timeout, this.context.limits),
  ): Unsubscribable {
    return schedule(this.context.scheduler, delayMs, () => inputs.post({ type: 'timeout', timeout }), { ref: true })
  }
}

const isEnd = (message: object): message is End<'unreadable'> => 'cause' in message

/** The length of each wait; the one for a pause is part of the drain. */
const limitOf = (timeout: Timeout, limits: SessionLimits): number => {
  switch (timeout) {
    case 'start':
      return limits.startWithinMs
    case 'open':
      return limits.openWithinMs
    case 'idle':
      return limits.idleMs === 0 ? Infinity : limits.idleMs
    case 'session':
      return limits.maxSessionMs
    case 'flush':
      return limits.flushWithinMs
    case 'pause':
      return 0
  }
}
