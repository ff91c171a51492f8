import { Observable, Subscription, take, type Subscriber, type TeardownLogic, type Unsubscribable } from 'rxjs'
import type { SoundFault } from 'rxspeech/internal/audio/sound-check/sound-warning'
import { type Inputs, type MachineHost, MachineRun } from 'rxspeech/internal/kernel/machine'
import { schedule } from 'rxspeech/internal/kernel/timers'
import {
  type RecognizeRequest,
  type RecognizerMessage,
  writeRecognizerMessage,
} from 'rxspeech/internal/protocol/recognizer-messages'
import type { SocketMessage } from 'rxspeech/internal/transport/link'
import type { AudioIntake } from '../sessions/audio-intake.js'
import { PauseCounter, SerialQueue, type Pausable } from '../sessions/back-pressure.js'
import { clientError, isUnreadable } from '../sessions/client-error.js'
import { RequestLimit } from '../sessions/request-limit.js'
import type { RecognizerContext, SessionLimits } from '../sessions/session-context.js'
import {
  recognizerMachine,
  type ClientMessage,
  type RecognizerAction,
  type RecognizerInput,
  type RecognizerOutput,
  type Timeout,
} from './machine.js'
import { decodeMessage, responseMessage } from './protocol.js'
import { RecognitionSession } from './recognition-session.js'

/**
 * Serves one recognition socket (PROTOCOL 4): from the messages of a client to the messages for it. Completion closes
 * the socket normally; an error, always one for clients, closes it with the code of docs/ERRORS.md. An error of
 * `incoming$` means that the client has disconnected, except for an unreadable message, which is answered. Unsubscribe
 * to abort.
 */
export const serveRecognizer = (
  incoming$: Observable<SocketMessage>,
  link: Pausable,
  context: RecognizerContext,
): Observable<SocketMessage> =>
  new Observable((subscriber) => {
    const session = new RecognizerSession(incoming$, link, context, subscriber)
    const run = new MachineRun(recognizerMachine, session, subscriber)
    // Added and not returned: the client may disconnect while the first step runs.
    subscriber.add(run)
    run.start()
  })

/** Performs the decisions of the machine. Audio and results do not pass the machine. */
class RecognizerSession implements MachineHost<RecognizerInput, RecognizerOutput, RecognizerAction> {
  readonly #incoming$: Observable<SocketMessage>
  readonly #pauses: PauseCounter
  readonly #context: RecognizerContext
  readonly #client: Subscriber<SocketMessage>
  readonly #requests: RequestLimit
  #queue: SerialQueue<SocketMessage> | undefined
  /** The destination of audio while a recognition takes it. */
  #intake: AudioIntake | undefined
  #hasOpened = false
  /** The faults of the audio that were reported: once for a connection, whose recognitions have the same source. */
  readonly #warned = new Set<SoundFault>()

  constructor(
    incoming$: Observable<SocketMessage>,
    link: Pausable,
    context: RecognizerContext,
    client: Subscriber<SocketMessage>,
  ) {
    this.#incoming$ = incoming$
    this.#pauses = new PauseCounter(link)
    this.#context = context
    this.#client = client
    this.#requests = new RequestLimit(context.limits, context.scheduler, context.requests)
  }

  perform(action: RecognizerAction, inputs: Inputs<RecognizerInput>): TeardownLogic {
    switch (action.type) {
      case 'listen':
        return this.#listen(inputs)
      case 'next-message':
        return this.#queue?.next()
      case 'wait':
        return this.#wait(action.timeout, inputs, action.delayMs)
      case 'open':
        return this.#open(action.request, inputs)
      case 'take-audio':
        return this.#takeAudio(action.recognition)
      case 'run':
        return this.#run(action.recognition, inputs)
      case 'drain':
        return action.recognition.drain()
      case 'finish':
        return action.recognition.finish()
    }
  }

  onFailure(error: unknown): RecognizerInput {
    return { type: 'end', cause: 'fault', error: clientError(error, this.#context) }
  }

  /** Not as an uncaught exception, which would end the service. */
  report(error: unknown): void {
    this.#context.onFault?.(error)
  }

  emit(output: RecognizerOutput): void {
    const { watch } = this.#context
    switch (output.type) {
      case 'response':
        this.#send(responseMessage(output.request, output.recognitionId, output.error))
        return
      case 'final':
        this.#send(output.message)
        return
      case 'failure':
        this.#send(output.recognition.failure(output.error))
        return
      case 'started':
        watch?.started(output.recognition.facts)
        return
      case 'declined':
        watch?.refused(output.error.code)
        return
      case 'flushing':
        watch?.flushing()
        return
      case 'idle':
        watch?.idle()
        return
      case 'gone':
        watch?.ended('gone')
        return
      case 'fault':
        this.#context.onFault?.(output.error)
    }
  }

  #wait(
    timeout: Timeout,
    inputs: Inputs<RecognizerInput>,
    delayMs = limitOf(timeout, this.#context.limits),
  ): Unsubscribable {
    return schedule(this.#context.scheduler, delayMs, () => inputs.post({ type: 'timeout', timeout }), { ref: true })
  }

  #listen(inputs: Inputs<RecognizerInput>): Subscription {
    const { drain$, ended$ } = this.#context
    const queue = new SerialQueue<SocketMessage>(this.#pauses.reason(), (message) => this.#handle(message, inputs))
    this.#queue = queue
    const listening = new Subscription(() => queue.clear())
    listening.add(drain$.pipe(take(1)).subscribe(({ pauseWithinMs }) => inputs.post({ type: 'drain', pauseWithinMs })))
    listening.add(ended$.pipe(take(1)).subscribe((error) => inputs.post({ type: 'end', cause: 'revoked', error })))
    listening.add(
      this.#incoming$.subscribe({
        next: (message) => queue.push(message),
        complete: () => inputs.post({ type: 'end', cause: 'client-left' }),
        error: (error: unknown) =>
          inputs.post(
            isUnreadable(error) ? { type: 'end', cause: 'unreadable', error } : { type: 'end', cause: 'client-left' },
          ),
      }),
    )
    return listening
  }

  /** Returns whether the message is done; otherwise the machine requests the next one. */
  #handle(message: SocketMessage, inputs: Inputs<RecognizerInput>): boolean {
    try {
      if (typeof message === 'string') inputs.post({ type: 'message', message: this.#decode(message) })
      else if (this.#intake === undefined) inputs.post({ type: 'message', message: this.#countAudio() })
      else {
        const tooMany = this.#intake.isShort(message) ? this.#requests.takeShort() : undefined
        const error = tooMany ?? this.#intake.take(message)
        if (error === undefined) return true
        inputs.post({ type: 'message', message: { type: 'end', cause: 'refused-audio', error } })
      }
    } catch (error) {
      inputs.post(this.onFailure(error))
    }
    return false
  }

  #decode(text: string): ClientMessage {
    const verdict = this.#requests.take(text.length)
    if (verdict === 'end') return { type: 'end', cause: 'too-many-requests', error: this.#requests.refusal() }
    const message = decodeMessage(text)
    if (message.type === 'unreadable') return { type: 'end', cause: 'unreadable', error: message.error }
    // What ends a recognition was counted with its beginning.
    const isEnd = message.type === 'stop-recognition' || message.type === 'finalize-recognition'
    const isExcess = (!isEnd && !this.#requests.takeOfToken(text.length)) || verdict === 'refuse'
    return isExcess ? { ...message, excess: this.#requests.refusal() } : message
  }

  /** Audio that no recognition takes. */
  #countAudio(): ClientMessage {
    const error = this.#requests.takeShort()
    return error === undefined ? { type: 'audio' } : { type: 'end', cause: 'too-many-requests', error }
  }

  #takeAudio({ intake }: RecognitionSession): () => void {
    this.#intake = intake
    return () => (this.#intake = undefined)
  }

  #open(request: RecognizeRequest, inputs: Inputs<RecognizerInput>): void {
    // A session that was admitted keeps its place, also for its next recognition.
    const context = this.#hasOpened ? { ...this.#context, checkModel: undefined } : this.#context
    RecognitionSession.open(request, context, this.#pauses.reason(), this.#warned).then(
      (recognition) => {
        this.#hasOpened = true
        inputs.post({ type: 'ready', recognition })
      },
      (cause: unknown) => {
        const error = clientError(cause, this.#context)
        this.#requests.startRefused(error)
        inputs.post({ type: 'not-ready', error })
      },
    )
  }

  #run(recognition: RecognitionSession, inputs: Inputs<RecognizerInput>): Unsubscribable {
    let final: RecognizerMessage | undefined
    return recognition.run({
      next: (message) => {
        if (message.message === 'final-result') final = message
        else this.#send(message)
      },
      audioClosed: () => inputs.post({ type: 'audio-closed' }),
      complete: () => inputs.post({ type: 'recognition-ended', final }),
      error: (error) =>
        inputs.post({ type: 'end', cause: 'recognition-failed', error: clientError(error, this.#context) }),
    })
  }

  #send(message: RecognizerMessage): void {
    this.#client.next(writeRecognizerMessage(message))
  }
}

/** The length of each wait; the one for a pause is part of the drain. */
const limitOf = (timeout: Timeout, limits: SessionLimits): number => {
  switch (timeout) {
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
