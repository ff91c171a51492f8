import { map, Observable, Subscription, take, tap, type Subscriber } from 'rxjs'
import { isSpeechError, refusalText, SpeechError } from '../../errors/speech-error.js'
import {
  contentType,
  type DataflowRequestName,
  type StartRequest,
  dataflowSuccess,
} from '../../protocol/dataflow-messages.js'
import type { ServiceState } from '../../protocol/states.js'
import type { CloseReason, DataflowMessage, Link } from '../../transport/link.js'
import { clientError, unreadable } from '../sessions/client-error.js'
import { dataflowAct, type DataflowAct, type SessionRequest } from './protocol.js'
import { itemMessage, responseMessage } from './messages.js'
import { SerialQueue } from '../sessions/serial-queue.js'
import { openSession, takeAudio, type OpenSession } from './open-session.js'
import { PauseCounter, type Pausable } from '../sessions/pause-counter.js'
import { RequestLimit, type RequestVerdict } from '../sessions/request-limit.js'
import type { Admission, DataflowContext, Drain } from '../sessions/session-context.js'
import { noteSpeech, startedSession } from './watch-project.js'

/**
 * The service's side of the dataflow stream (service.md 4.1, decisions.md): from what a client says to what it is told.
 * Completion ends the stream in good order; an error, always one for clients, ends it with that error's status.
 * An error of `incoming$` is the end of the client, except for what it sent and cannot be read, which it is told.
 * Unsubscribe cancels.
 */
export const serveDataflow = (
  incoming$: Observable<DataflowMessage>,
  link: Leavable,
  terms: DataflowContext,
): Observable<DataflowMessage> =>
  new Observable((subscriber) => {
    const conversation = new DataflowConversation(link, terms, subscriber)
    subscriber.add(() => {
      conversation.release()
    })
    subscriber.add(
      incoming$.subscribe({
        next: (message) => {
          conversation.receive(message)
        },
        complete: () => {
          conversation.clientFinished()
        },
        error: (error: unknown) => {
          conversation.clientFailed(error)
        },
      }),
    )
  })

/** decisions.md, named states of the service; `refused` and `stopped` end the stream at once. */
type State =
  | { readonly name: Extract<ServiceState, 'opened' | 'started' | 'ended'> }
  | { readonly name: Extract<ServiceState, 'running' | 'flushing'>; readonly session: OpenSession }

/** What a conversation needs of its link beside what comes from it. */
type Leavable = Pausable & Pick<Link<unknown, unknown>, 'close'>

class DataflowConversation {
  readonly #link: Leavable
  readonly #pauses: PauseCounter
  readonly #terms: DataflowContext
  readonly #subscriber: Subscriber<DataflowMessage>
  readonly #line: SerialQueue<DataflowMessage | 'finished'>
  readonly #requests: RequestLimit
  readonly #owned = new Subscription()
  #state: State = { name: 'opened' }
  /** How the stream ends when the project has said its last to that. */
  #lastWord: (() => void) | undefined
  #leaving: CloseReason | undefined
  #deadline: Subscription

  constructor(link: Leavable, terms: DataflowContext, subscriber: Subscriber<DataflowMessage>) {
    this.#link = link
    this.#pauses = new PauseCounter(link)
    this.#terms = terms
    this.#subscriber = subscriber
    this.#requests = new RequestLimit(terms.limits, terms.scheduler)
    this.#line = new SerialQueue(this.#pauses.reason(), (message) => this.#handle(message), this.#fail)
    this.#deadline = terms.scheduler.schedule(() => {
      this.#refuse(new SpeechError('not-started', 'No Start message came in time; send it first.'))
    }, terms.limits.startWithinMs)
    this.#owned.add(terms.drain$.pipe(take(1)).subscribe(this.#drain))
  }

  receive(message: DataflowMessage): void {
    this.#line.push(message)
  }

  /** A half-close means Finalize, without the response (decisions.md: ending a gRPC session). */
  clientFinished(): void {
    this.#line.push('finished')
  }

  clientFailed(error: unknown): void {
    if (isSpeechError(error) && unreadable.has(error.code)) this.#refuse(error)
    else {
      this.#terms.watch?.ended('gone')
      this.#subscriber.complete()
    }
  }

  release(): void {
    this.#state = { name: 'ended' }
    this.#line.clear()
    this.#deadline.unsubscribe()
    this.#owned.unsubscribe()
  }

  #handle(message: DataflowMessage | 'finished'): Promise<void> | undefined {
    if (this.#state.name === 'ended') return undefined
    const verdict = this.#judge(message)
    if (verdict === 'end') {
      this.#refuse(this.#requests.refusal())
      return undefined
    }
    const act = dataflowAct(message, this.#state.name)
    if (act.type === 'start') return this.#start(act.request)
    this.#do(verdict === 'refuse' ? tooMany(act, this.#requests) : act)
    return undefined
  }

  /** The first message has a deadline and limits of its own. */
  #judge(message: DataflowMessage | 'finished'): RequestVerdict {
    return message === 'finished' || message.contentType !== contentType.request || this.#state.name === 'opened'
      ? 'handle'
      : this.#requests.take(message.content.length)
  }

  #do(act: Exclude<DataflowAct, { readonly type: 'start' }>): void {
    switch (act.type) {
      case 'request':
        this.#answer(act.request)
        return
      case 'audio':
        this.#audio(act.bytes)
        return
      case 'finish':
        this.#flush()
        return
      case 'refuse':
        this.#refuse(act.error, act.request)
        return
      case 'decline':
        this.#terms.watch?.refused(act.error.code)
        this.#respond(refusalText(act.error), act.request)
        return
      case 'nothing':
    }
  }

  async #start(request: StartRequest): Promise<void> {
    this.#state = { name: 'started' }
    this.#deadline.unsubscribe()
    try {
      const session = await openSession(request, this.#terms, this.#pauses.reason(), {
        isOver: () => this.#subscriber.closed,
        admitted: this.#admitted,
      })
      if (session !== undefined) this.#run(session, request)
    } catch (error) {
      this.#refuse(clientError(error, this.#terms))
    }
  }

  readonly #admitted = ({ release, clientId, ended$ }: Admission): void => {
    this.#owned.add(release)
    if (clientId !== undefined) this.#terms.watch?.granted(clientId)
    this.#owned.add(ended$.pipe(take(1)).subscribe(this.#expel))
  }

  #run(session: OpenSession, request: StartRequest): void {
    const { run } = session
    const { watch, scheduler } = this.#terms
    this.#state = { name: 'running', session }
    watch?.started(startedSession(run, request))
    this.#respond(dataflowSuccess, 'Start')
    this.#deadline = scheduler.schedule(() => {
      this.#leave('The session has lasted as long as one may; start another one.')
    }, run.maxSessionMs)
    // Within the pipeline, so that what a node tells and JSON cannot say ends the session and not the service.
    const message$ = run.output$.pipe(
      tap((item) => {
        noteSpeech(watch, item)
      }),
      map(itemMessage),
    )
    this.#owned.add(
      message$.subscribe({
        next: (message) => {
          this.#subscriber.next(message)
        },
        complete: () => {
          if (this.#leaving !== undefined) this.#link.close({ ...this.#leaving, orderly: true })
          this.#subscriber.complete()
        },
        error: this.#projectFailed,
      }),
    )
  }

  #audio(bytes: Uint8Array): void {
    if (this.#state.name !== 'running') return
    const refusal = takeAudio(this.#state.session, bytes, this.#terms.watch)
    if (refusal !== undefined) this.#refuse(refusal)
  }

  #answer(request: SessionRequest): void {
    switch (request.request) {
      case 'Update': {
        // One that a node refuses changes nothing.
        const refusal = 'session' in this.#state ? this.#state.session.run.update(request) : undefined
        this.#respond(refusal === undefined ? dataflowSuccess : refusalText(refusal), 'Update')
        return
      }
      case 'Finalize':
        this.#respond(dataflowSuccess, 'Finalize')
        this.#flush()
        return
      case 'Stop':
        this.#respond(dataflowSuccess, 'Stop')
        this.#terms.watch?.ended('stopped')
        this.#state = { name: 'ended' }
        this.#subscriber.complete()
    }
  }

  #flush(): void {
    if (this.#state.name !== 'running') return
    const { session } = this.#state
    this.#state = { name: 'flushing', session }
    this.#deadline.unsubscribe()
    this.#deadline = this.#terms.scheduler.schedule(() => {
      this.#fail(new SpeechError('engine-failed', 'The last results did not come in time; try again.'))
    }, this.#terms.limits.flushWithinMs)
    this.#terms.watch?.flushing()
    session.run.finish()
  }

  /** Whoever speaks may finish, so that who goes on elsewhere begins in a pause. */
  #retire({ run }: OpenSession, withinMs: number): void {
    const message = 'The service is closing; go on elsewhere or later.'
    if (withinMs <= 0) {
      this.#leave(message)
      return
    }
    this.#leaving = { code: 'going-away', message }
    this.#owned.add(
      this.#terms.scheduler.schedule(() => {
        this.#flush()
      }, withinMs),
    )
    run.retire()
  }

  /** Flushes unasked: a client that has more to say is told that it is not its own end. */
  #leave(message: string): void {
    if (this.#state.name !== 'running') return
    this.#leaving = { code: 'going-away', message }
    this.#flush()
  }

  readonly #drain = ({ pauseWithinMs }: Drain): void => {
    if (this.#state.name === 'running') this.#retire(this.#state.session, pauseWithinMs)
    else if (this.#state.name === 'opened' || this.#state.name === 'started') {
      const text = 'The service is closing; start the session elsewhere or later.'
      this.#refuse(new SpeechError('going-away', text))
    }
  }

  /** The token is good no longer, and neither is what it had asked for: nothing more is recognized or flushed. */
  readonly #expel = (error: SpeechError): void => {
    if (this.#state.name === 'started') this.#refuse(error)
    else this.#fail(error)
  }

  /** The session cannot go on, by no fault of the client's. */
  readonly #fail = (error: unknown): void => {
    if (this.#subscriber.closed) return
    const told = clientError(error, this.#terms)
    this.#breakOff(told, () => {
      this.#end(told)
    })
  }

  /** Every refusal has its response, that of a Start where none was accepted; the stream then ends with the error's status. */
  #refuse(
    error: SpeechError,
    request: DataflowRequestName | undefined = 'session' in this.#state ? undefined : 'Start',
  ): void {
    this.#breakOff(error, () => {
      this.#respond(refusalText(error), request)
      this.#end(error)
    })
  }

  /** What recognizes says its final first, one a channel unless the session was stopped (decisions.md: final-result). */
  #breakOff(error: SpeechError, lastWord: () => void): void {
    if (!('session' in this.#state)) {
      lastWord()
      return
    }
    const { run } = this.#state.session
    this.#state = { name: 'ended' }
    this.#lastWord = lastWord
    run.breakOff(error)
  }

  readonly #projectFailed = (error: unknown): void => {
    this.#state = { name: 'ended' }
    if (this.#lastWord === undefined) this.#fail(error)
    else this.#lastWord()
  }

  /** The closing link ends what comes from it, which must not be taken for a client that asks for the last results. */
  #end(error: SpeechError): void {
    this.#state = { name: 'ended' }
    this.#subscriber.error(error)
  }

  #respond(operationResult: string, request?: DataflowRequestName): void {
    this.#subscriber.next(responseMessage(operationResult, request))
  }
}

/** A request that is one too many is declined; `Finalize` and `Stop` end the session and are always taken. */
const tooMany = (
  act: Exclude<DataflowAct, { readonly type: 'start' }>,
  requests: RequestLimit,
): Exclude<DataflowAct, { readonly type: 'start' }> => {
  if (act.type === 'request' && act.request.request === 'Update') {
    return { type: 'decline', error: requests.refusal(), request: 'Update' }
  }
  return act.type === 'decline' ? { ...act, error: requests.refusal() } : act
}
