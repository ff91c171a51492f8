import { either } from 'fp-ts'
import { Observable, Subscription, take, type Subscriber } from 'rxjs'
import { samplesOf } from '../../audio/pcm.js'
import { isSpeechError, refusalText, SpeechError } from '../../errors/speech-error.js'
import {
  recognizerSuccess,
  readRecognizerRequest,
  type RecognizeRequest,
  type RecognizerRequest,
  type RecognizerRequestName,
  writeRecognizerMessage,
  type RecognizerMessage,
} from '../../protocol/recognizer-messages.js'
import type { ServiceState } from '../../protocol/states.js'
import type { SocketMessage } from '../../transport/link.js'
import { tenantOf } from '../sessions/rights.js'
import { batchModels } from '../sessions/batch-models.js'
import { clientError, unreadable } from '../sessions/client-error.js'
import { inTime } from '../sessions/in-time.js'
import { SerialQueue } from '../sessions/serial-queue.js'
import { PaceLimit } from '../sessions/pace-limit.js'
import { PauseCounter, type Pausable } from '../sessions/pause-counter.js'
import { RecognitionSession } from './recognition-session.js'
import { RequestLimit } from '../sessions/request-limit.js'
import type { Drain, RecognizerContext } from '../sessions/session-context.js'

/**
 * The service's side of the recognition socket (service.md 4.2, decisions.md): from what a client says to what it is
 * told. Recognitions run one after another; a socket on which none runs for `idleMs` is closed in good order. An error,
 * always one for clients, closes the socket as the error table says. An error of `incoming$` is the end of the client,
 * except for what it sent and cannot be read, which it is told. Unsubscribe aborts.
 */
export const serveRecognizer = (
  incoming$: Observable<SocketMessage>,
  link: Pausable,
  terms: RecognizerContext,
): Observable<SocketMessage> =>
  new Observable((subscriber) => {
    const conversation = new RecognizerConversation(link, terms, subscriber)
    subscriber.add(() => {
      conversation.release()
    })
    const over = (): void => {
      conversation.clientLeft()
      subscriber.complete()
    }
    subscriber.add(
      incoming$.subscribe({
        next: (message) => {
          conversation.receive(message)
        },
        complete: over,
        error: (error: unknown) => {
          conversation.clientFailed(error)
        },
      }),
    )
  })

/** `idle` after a recognition: audio that was on its way is ignored; before the first it is refused. */
type State =
  | { readonly name: Extract<ServiceState, 'opened' | 'started'> | 'idle' | 'closed' }
  | {
      readonly name: Extract<ServiceState, 'running' | 'flushing'>
      readonly run: RecognitionSession
      readonly life: Subscription
      readonly pace: PaceLimit
    }

class RecognizerConversation {
  readonly #pauses: PauseCounter
  readonly #terms: RecognizerContext
  readonly #subscriber: Subscriber<SocketMessage>
  readonly #line: SerialQueue<SocketMessage>
  readonly #requests: RequestLimit
  readonly #owned = new Subscription()
  #state: State = { name: 'opened' }
  #drained = false
  #idle = Subscription.EMPTY

  constructor(link: Pausable, terms: RecognizerContext, subscriber: Subscriber<SocketMessage>) {
    this.#pauses = new PauseCounter(link)
    this.#terms = terms
    this.#subscriber = subscriber
    this.#requests = new RequestLimit(terms.limits, terms.scheduler)
    this.#line = new SerialQueue(this.#pauses.reason(), (message) => this.#handle(message), this.#fail)
    this.#rest({ name: 'opened' })
    this.#owned.add(
      terms.drain$.pipe(take(1)).subscribe((drain) => {
        this.#drain(drain)
      }),
    )
    this.#owned.add(terms.ended$.pipe(take(1)).subscribe(this.#expel))
  }

  receive(message: SocketMessage): void {
    this.#line.push(message)
  }

  /** In the middle of a recognition that is without a word. */
  clientLeft(): void {
    if ('run' in this.#state) this.#terms.watch?.ended('gone')
  }

  /** The connection is gone, unless it only carried what cannot be read: that is told, first of all to what runs. */
  clientFailed(error: unknown): void {
    if (isSpeechError(error) && unreadable.has(error.code)) this.#fail(error)
    else {
      this.clientLeft()
      this.#subscriber.complete()
    }
  }

  release(): void {
    if ('life' in this.#state) this.#state.life.unsubscribe()
    this.#state = { name: 'closed' }
    this.#line.clear()
    this.#idle.unsubscribe()
    this.#owned.unsubscribe()
  }

  #handle(message: SocketMessage): Promise<void> | undefined {
    if (this.#state.name === 'closed') return undefined
    if (typeof message !== 'string') {
      this.#audio(message)
      return undefined
    }
    const verdict = this.#requests.take(message.length)
    if (verdict === 'end') {
      this.#fail(this.#requests.refusal())
      return undefined
    }
    const read = readRecognizerRequest(message)
    const request = verdict === 'refuse' ? tooMany(read, 'run' in this.#state, this.#requests) : read
    if (either.isRight(request)) return this.#request(request.right)
    const { error, request: name } = request.left
    if (name === 'recognize' && 'run' in this.#state && verdict === 'handle') this.#respond(name, secondRecognize())
    else if (name !== undefined) this.#respond(name, error)
    else if ('run' in this.#state) this.#broken(this.#state.run, error)
    else this.#subscriber.error(error)
    return undefined
  }

  #audio(bytes: Uint8Array): void {
    if (this.#state.name === 'opened') {
      this.#subscriber.error(new SpeechError('not-started', 'Audio came before recognize; send recognize first.'))
    } else if (this.#state.name === 'running') {
      const { run, pace } = this.#state
      if (bytes.length % 2 === 0) {
        const tooFast = pace.take(bytes.length / 2)
        if (tooFast !== undefined) this.#broken(run, tooFast)
        // No audio is no sign of life either.
        else if (bytes.length > 0) run.audio(samplesOf(bytes))
      } else {
        const text = `An audio message of ${bytes.length} bytes cuts a sample; send a multiple of 2 bytes.`
        this.#broken(run, new SpeechError('cut-sample', text))
      }
    }
  }

  #request(request: RecognizerRequest): Promise<void> | undefined {
    switch (request.request) {
      case 'recognize':
        if ('run' in this.#state) {
          this.#respond('recognize', secondRecognize())
          return undefined
        }
        if (this.#drained) {
          this.#respond('recognize', goingAway())
          return undefined
        }
        return this.#recognize(request)
      case 'stop-recognition':
        this.#stop()
        return undefined
      case 'finalize-recognition':
        this.#finalize()
        return undefined
    }
  }

  async #recognize(request: RecognizeRequest): Promise<void> {
    const before = this.#state.name === 'idle' ? 'idle' : 'opened'
    this.#state = { name: 'started' }
    this.#idle.unsubscribe()
    const { limits, scheduler } = this.#terms
    const { models, allowBatch } = batchModels(this.#terms.models)
    const { sampleRateHz } = request
    const askedAtMs = scheduler.now()
    try {
      const late = new SpeechError('engine-failed', 'The recognition could not be made ready in time; try again.')
      const opening = RecognitionSession.open(request, { ...this.#terms, models }, this.#pauses.reason())
      const run = await inTime(opening, limits.openWithinMs, scheduler, late)
      if (!this.#subscriber.closed)
        this.#run(run, request, new PaceLimit({ limits, scheduler, sampleRateHz, askedAtMs, allowBatch }))
    } catch (error) {
      if (this.#subscriber.closed) return
      this.#respond('recognize', clientError(error, this.#terms))
      this.#rest({ name: before })
    }
  }

  /** No recognition runs: a while may pass until the next, but not for ever. */
  #rest(state: State & { readonly name: 'opened' | 'idle' }): void {
    // A client may close within the answer that it was just given.
    if (this.#subscriber.closed) return
    this.#state = state
    if (state.name === 'idle') this.#terms.watch?.rests()
    const { scheduler, limits } = this.#terms
    if (limits.idleMs === 0) return
    this.#idle = scheduler.schedule(() => {
      this.#subscriber.complete()
    }, limits.idleMs)
  }

  #run(run: RecognitionSession, { modelName, sampleRateHz }: RecognizeRequest, pace: PaceLimit): void {
    const life = new Subscription()
    this.#state = { name: 'running', run, life, pace }
    this.#terms.watch?.started({
      tenant: tenantOf(this.#terms.rights),
      model: modelName,
      recognitionId: run.recognitionId,
      sampleRateHz,
      pendingSamples: () => run.pendingSamples,
    })
    this.#respond('recognize', undefined, run.recognitionId)
    life.add(
      this.#terms.scheduler.schedule(() => {
        this.#flush()
      }, this.#terms.limits.maxSessionMs),
    )
    let final: RecognizerMessage | undefined
    life.add(
      run.output$.subscribe({
        next: (message) => {
          if (message.message === 'final-result') final = message
          else this.#say(message)
        },
        complete: () => {
          life.unsubscribe()
          this.#over(final)
        },
        error: (error: unknown) => {
          this.#broken(run, clientError(error, this.#terms))
        },
      }),
    )
  }

  #stop(): void {
    if (!('run' in this.#state)) {
      this.#respond('stop-recognition', noRecognition())
      return
    }
    const { run, life } = this.#state
    life.unsubscribe()
    this.#respond('stop-recognition', undefined, run.recognitionId)
    this.#over()
  }

  #finalize(): void {
    if (!('run' in this.#state)) {
      this.#respond('finalize-recognition', noRecognition())
      return
    }
    // The service is closing and has dropped what came since the pause: its final is not the end that the client asks for.
    if (this.#drained && this.#state.name === 'running' && this.#state.run.isDeaf) {
      this.#respond('finalize-recognition', goingAway(), this.#state.run.recognitionId)
      return
    }
    this.#respond('finalize-recognition', undefined, this.#state.run.recognitionId)
    this.#flush()
  }

  #flush(): void {
    if (this.#state.name !== 'running') return
    const { run, life } = this.#state
    this.#state = { ...this.#state, name: 'flushing' }
    life.add(
      this.#terms.scheduler.schedule(() => {
        this.#fail(new SpeechError('engine-failed', 'The last results did not come in time; try again.'))
      }, this.#terms.limits.flushWithinMs),
    )
    this.#terms.watch?.flushing()
    run.finish()
  }

  /** A recognition is over, and another may follow: within its final, where a client in memory asks at once. */
  #over(final?: RecognizerMessage): void {
    this.#rest({ name: 'idle' })
    if (final !== undefined) this.#say(final)
    if (this.#drained) this.#goAway()
  }

  /** The recognition cannot go on: its one final says why, then the socket closes. */
  #broken(run: RecognitionSession, error: SpeechError): void {
    this.#say(run.failure(error))
    this.#subscriber.error(error)
  }

  readonly #fail = (error: unknown): void => {
    if (this.#subscriber.closed) return
    const told = clientError(error, this.#terms)
    if ('run' in this.#state) this.#broken(this.#state.run, told)
    else this.#subscriber.error(told)
  }

  #drain({ pauseWithinMs }: Drain): void {
    this.#drained = true
    if (this.#state.name === 'running') this.#retire(this.#state, pauseWithinMs)
    else if (this.#state.name !== 'flushing') this.#goAway()
  }

  /** Whoever speaks may finish, so that who goes on elsewhere begins in a pause. */
  #retire({ run, life }: Extract<State, { readonly life: Subscription }>, withinMs: number): void {
    if (withinMs <= 0) {
      this.#flush()
      return
    }
    life.add(
      this.#terms.scheduler.schedule(() => {
        this.#flush()
      }, withinMs),
    )
    run.retire()
  }

  #goAway(): void {
    this.#dismiss(goingAway())
  }

  /** The token is good no longer: what runs is not flushed, its final says why. */
  readonly #expel = (error: SpeechError): void => {
    if ('run' in this.#state) this.#broken(this.#state.run, error)
    else this.#dismiss(error)
  }

  #dismiss(error: SpeechError): void {
    if (this.#state.name === 'started') this.#respond('recognize', error)
    this.#subscriber.error(error)
  }

  #respond(request: RecognizerRequestName, error?: SpeechError, recognitionId = ''): void {
    if (error !== undefined) this.#terms.watch?.refused(error.code)
    const operationResult = error === undefined ? recognizerSuccess : refusalText(error)
    this.#say({ message: `${request}-response`, operationResult, recognitionId })
  }

  #say(message: RecognizerMessage): void {
    this.#subscriber.next(writeRecognizerMessage(message))
  }
}

/** A request that is one too many is refused, unless it ends what runs. */
const tooMany = (
  read: ReturnType<typeof readRecognizerRequest>,
  isRunning: boolean,
  requests: RequestLimit,
): ReturnType<typeof readRecognizerRequest> => {
  const { request } = either.isRight(read) ? read.right : read.left
  return request === undefined || (isRunning && request !== 'recognize')
    ? read
    : either.left({ request, error: requests.refusal() })
}

const secondRecognize = (): SpeechError =>
  new SpeechError('already-started', 'A recognition runs on this connection; finalize or stop it first.')

const goingAway = (): SpeechError => new SpeechError('going-away', 'The service is closing; connect again later.')

const noRecognition = (): SpeechError =>
  new SpeechError('no-recognition', 'No recognition runs on this connection; send recognize first.')
