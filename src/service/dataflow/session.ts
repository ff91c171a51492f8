import { catchError, EMPTY, from, map, Observable, of, take, tap, type Subscriber } from 'rxjs'
import { refusalText } from '../../errors/refusal.js'
import { runMachine } from '../../kernel/machine.js'
import { schedule } from '../../kernel/timers.js'
import { contentType, dataflowSuccess, type StartRequest } from '../../protocol/dataflow-messages.js'
import { eventName } from '../../protocol/dataflow-events.js'
import type { DataflowMessage, Link } from '../../transport/link.js'
import type { SessionWatch } from '../monitor/session-watch.js'
import type { SpeechMark } from '../monitor/speech-times.js'
import type { NodeItem } from '../nodes/core/node.js'
import type { AudioIntake } from '../sessions/audio-intake.js'
import { PauseCounter, SerialQueue, type Pausable } from '../sessions/back-pressure.js'
import { clientError, isUnreadable } from '../sessions/client-error.js'
import { RequestLimit, type RequestVerdict } from '../sessions/request-limit.js'
import type { Admission, DataflowContext, SessionLimits } from '../sessions/session-context.js'
import {
  dataflowMachine,
  type ClientMessage,
  type DataflowAction,
  type DataflowInput,
  type DataflowOutput,
  type Timeout,
} from './machine.js'
import { decodeMessage, isAudio, itemMessage, responseMessage } from './protocol.js'
import { ProjectSession } from './project-session.js'

/** What a session needs of its link beside the messages that arrive. */
type SessionLink = Pausable & Pick<Link<unknown, unknown>, 'close'>

/**
 * Serves one dataflow stream (PROTOCOL 3): from the messages of a client to the messages for it. Completion ends the
 * stream in good order; an error, always one for clients, ends it with the status of that error. An error of `incoming$`
 * means that the client is gone, except for a message that cannot be read, which is answered. Unsubscribe to cancel.
 */
export const serveDataflow = (
  incoming$: Observable<DataflowMessage>,
  link: SessionLink,
  context: DataflowContext,
): Observable<DataflowMessage> =>
  new Observable((subscriber) => {
    const session = new DataflowSession(incoming$, link, context, subscriber)
    subscriber.add(
      runMachine(dataflowMachine, session.perform).subscribe({
        next: session.emit,
        complete: () => subscriber.complete(),
        error: (error: unknown) => subscriber.error(error),
      }),
    )
  })

/** What the machine decides, done. Audio and events do not pass the machine. */
class DataflowSession {
  readonly #incoming$: Observable<DataflowMessage>
  readonly #link: SessionLink
  readonly #pauses: PauseCounter
  readonly #context: DataflowContext
  readonly #client: Subscriber<DataflowMessage>
  readonly #requests: RequestLimit
  #queue: SerialQueue<DataflowMessage | 'finished'> | undefined
  /** Where audio goes while a project takes it. */
  #intake: AudioIntake | undefined
  #isFirstRequest = true
  /** When the Start came, by the scheduler's clock. */
  #askedAtMs = 0

  constructor(
    incoming$: Observable<DataflowMessage>,
    link: SessionLink,
    context: DataflowContext,
    client: Subscriber<DataflowMessage>,
  ) {
    this.#incoming$ = incoming$
    this.#link = link
    this.#pauses = new PauseCounter(link)
    this.#context = context
    this.#client = client
    this.#requests = new RequestLimit(context.limits, context.scheduler)
  }

  readonly perform = (action: DataflowAction): Observable<DataflowInput> => {
    try {
      return this.#perform(action)
    } catch (error) {
      return of(this.#fault(error))
    }
  }

  readonly emit = (output: DataflowOutput): void => {
    const { watch } = this.#context
    switch (output.type) {
      case 'response': {
        const result = output.error === undefined ? dataflowSuccess : refusalText(output.error)
        this.#client.next(responseMessage(result, output.request))
        return
      }
      case 'leaving':
        this.#link.close(output.reason)
        return
      case 'started':
        watch?.started(output.project.facts)
        return
      case 'declined':
        watch?.refused(output.error.code)
        return
      case 'flushing':
        watch?.flushing()
        return
      case 'stopped':
      case 'gone':
        watch?.ended(output.type)
        return
      case 'fault':
        this.#context.onFault?.(output.error)
    }
  }

  #perform(action: DataflowAction): Observable<DataflowInput> {
    switch (action.type) {
      case 'listen':
        return this.#listen()
      case 'next-message':
        this.#queue?.next()
        return EMPTY
      case 'wait':
        return this.#wait(action.timeout, action.delayMs)
      case 'admit':
        return this.#admit(action.request)
      case 'hold':
        return this.#hold(action.admission)
      case 'open':
        return this.#open(action.request, action.admission)
      case 'take-audio':
        return this.#takeAudio(action.project)
      case 'run':
        return this.#run(action.project)
      case 'drain':
        action.project.drain()
        return EMPTY
      case 'finish':
        action.project.finish()
        return EMPTY
      case 'update':
        return of({ type: 'updated', error: action.project.update(action.request) })
      case 'abort':
        action.project.abort(action.error)
        return EMPTY
    }
  }

  #wait(timeout: Timeout, delayMs = limitOf(timeout, this.#context.limits)): Observable<DataflowInput> {
    return new Observable((inputs) =>
      schedule(this.#context.scheduler, delayMs, () => inputs.next({ type: 'timeout', timeout }), { ref: true }),
    )
  }

  #listen(): Observable<DataflowInput> {
    return new Observable((inputs) => {
      const queue = new SerialQueue<DataflowMessage | 'finished'>(this.#pauses.reason(), (message) =>
        this.#handle(message, inputs),
      )
      this.#queue = queue
      inputs.add(() => queue.clear())
      inputs.add(
        this.#context.drain$
          .pipe(take(1))
          .subscribe(({ pauseWithinMs }) => inputs.next({ type: 'drain', pauseWithinMs })),
      )
      inputs.add(
        this.#incoming$.subscribe({
          next: (message) => queue.push(message),
          complete: () => queue.push('finished'),
          error: (error: unknown) =>
            inputs.next(
              isUnreadable(error) ? { type: 'end', cause: 'unreadable', error } : { type: 'end', cause: 'client-left' },
            ),
        }),
      )
    })
  }

  /** Returns whether the message is done; the machine asks for the next one otherwise. */
  #handle(message: DataflowMessage | 'finished', inputs: Subscriber<DataflowInput>): boolean {
    try {
      if (message !== 'finished' && this.#intake !== undefined && isAudio(message)) {
        const error = this.#intake.take(message.binaryContent)
        if (error === undefined) return true
        inputs.next({ type: 'message', message: { type: 'end', cause: 'refused-audio', error } })
      } else inputs.next({ type: 'message', message: this.#decode(message) })
    } catch (error) {
      inputs.next(this.#fault(error))
    }
    return false
  }

  #decode(message: DataflowMessage | 'finished'): ClientMessage {
    if (message === 'finished') return { type: 'finished' }
    const verdict = this.#count(message)
    if (verdict === 'end') return { type: 'end', cause: 'too-many-requests', error: this.#requests.refusal() }
    const decoded = decodeMessage(message)
    if (decoded.type === 'unreadable') return { type: 'end', cause: 'unreadable', error: decoded.error }
    return verdict === 'refuse' ? { ...decoded, excess: this.#requests.refusal() } : decoded
  }

  /** The first request has a deadline and limits of its own. */
  #count({ contentType: type, content }: DataflowMessage): RequestVerdict {
    if (type !== contentType.request) return 'handle'
    const isFirst = this.#isFirstRequest
    this.#isFirstRequest = false
    return isFirst ? 'handle' : this.#requests.take(content.length)
  }

  #admit({ token, tenant }: StartRequest): Observable<DataflowInput> {
    const { admit, scheduler } = this.#context
    this.#askedAtMs = scheduler.now()
    return new Observable<DataflowInput>((inputs) => {
      admit(token, tenant).then(
        (admission) => {
          if (inputs.closed) admission.release()
          else inputs.next({ type: 'admitted', admission })
        },
        (error: unknown) => {
          if (!inputs.closed) inputs.next(this.#startFailed(error))
        },
      )
    })
  }

  #hold({ release, clientId, ended$ }: Admission): Observable<DataflowInput> {
    return new Observable((inputs) => {
      inputs.add(release)
      if (clientId !== undefined) this.#context.watch?.granted(clientId)
      inputs.add(ended$.pipe(take(1)).subscribe((error) => inputs.next({ type: 'end', cause: 'revoked', error })))
    })
  }

  #open(request: StartRequest, { rights }: Admission): Observable<DataflowInput> {
    const link = this.#pauses.reason()
    const options = { request, rights, context: this.#context, link, askedAtMs: this.#askedAtMs }
    return from(ProjectSession.open(options)).pipe(
      map((project) => ({ type: 'ready', project }) as const),
      catchError((error: unknown) => of(this.#startFailed(error))),
    )
  }

  #takeAudio({ intake }: ProjectSession): Observable<never> {
    return new Observable(() => {
      this.#intake = intake
      return () => (this.#intake = undefined)
    })
  }

  #run({ output$ }: ProjectSession): Observable<DataflowInput> {
    const { watch } = this.#context
    // An event that cannot be written as JSON is an error of the pipeline: it ends the session and not the service.
    const message$ = output$.pipe(
      tap((item) => watchSpeech(item, watch)),
      map(itemMessage),
    )
    return new Observable((inputs) =>
      message$.subscribe({
        next: (message) => this.#client.next(message),
        complete: () => inputs.next({ type: 'project-ended' }),
        error: (error: unknown) =>
          inputs.next({ type: 'end', cause: 'project-failed', error: clientError(error, this.#context) }),
      }),
    )
  }

  #startFailed(error: unknown): DataflowInput {
    return { type: 'end', cause: 'start-failed', error: clientError(error, this.#context) }
  }

  #fault(error: unknown): DataflowInput {
    return { type: 'end', cause: 'fault', error: clientError(error, this.#context) }
  }
}

/** How long each wait is; that of a session is the project's, and the one for a pause is part of the drain. */
const limitOf = (timeout: Timeout, limits: SessionLimits): number => {
  switch (timeout) {
    case 'start':
      return limits.startWithinMs
    case 'open':
      return limits.openWithinMs
    case 'session':
      return limits.maxSessionMs
    case 'flush':
      return limits.flushWithinMs
    case 'pause':
      return 0
  }
}

/** The events of recognition that are about speech, whichever node raised them. */
const speechMarks: ReadonlyMap<string, SpeechMark['type']> = new Map([
  [eventName.speechStarted, 'speech-started'],
  [eventName.speechEnded, 'speech-ended'],
  [eventName.partial, 'partial'],
  [eventName.milestone, 'milestone'],
])

const watchSpeech = (item: NodeItem, watch: SessionWatch | undefined): void => {
  if (watch === undefined || item.type !== 'event') return
  const { name, channel = -1, startMs = -1, endMs = -1 } = item.event
  const type = speechMarks.get(name)
  if (type !== undefined) watch.speechMark({ type, startMs, endMs }, channel)
}
