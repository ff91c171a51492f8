import { map, Observable, Subscription, take, type Subscriber, type TeardownLogic, type Unsubscribable } from 'rxjs'
import { refusalText } from 'rxspeech/internal/errors/refusal'
import { type Inputs, type MachineHost, MachineRun } from 'rxspeech/internal/kernel/machine'
import { schedule } from 'rxspeech/internal/kernel/timers'
import { contentType, type StartRequest } from 'rxspeech/internal/protocol/dataflow-messages'
import { eventName } from 'rxspeech/internal/protocol/event-name'
import { dataflowSuccess } from 'rxspeech/internal/protocol/operation-result'
import type { DataflowMessage, Link } from 'rxspeech/internal/transport/link'
import type { SessionWatch, SpeechMark } from '../monitor/session-watch.js'
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
import { decodeMessage, isAudio, itemMessage, responseMessage, type DecodedMessage } from './protocol.js'
import { ProjectSession } from './project-session.js'

/** The members of the link that a session needs in addition to the incoming messages. */
type SessionLink = Pausable & Pick<Link<unknown, unknown>, 'close'>

/**
 * Serves one dataflow stream (PROTOCOL 3): from the messages of a client to the messages for it. Completion ends the
 * stream normally; an error, always one for clients, ends it with the status of that error. An error of `incoming$`
 * means that the client has disconnected, except for an unreadable message, which is answered. Unsubscribe to cancel.
 */
export const serveDataflow = (
  incoming$: Observable<DataflowMessage>,
  link: SessionLink,
  context: DataflowContext,
): Observable<DataflowMessage> =>
  new Observable((subscriber) => {
    const session = new DataflowSession(incoming$, link, context, subscriber)
    const run = new MachineRun(dataflowMachine, session, subscriber)
    // Added and not returned: the client may disconnect while the first step runs.
    subscriber.add(run)
    run.start()
  })

/** Performs the decisions of the machine. Audio and events do not pass the machine. */
class DataflowSession implements MachineHost<DataflowInput, DataflowOutput, DataflowAction> {
  readonly #incoming$: Observable<DataflowMessage>
  readonly #link: SessionLink
  readonly #pauses: PauseCounter
  readonly #context: DataflowContext
  readonly #client: Subscriber<DataflowMessage>
  readonly #requests: RequestLimit
  #queue: SerialQueue<DataflowMessage | 'finished'> | undefined
  /** The destination of audio while a project takes it. */
  #intake: AudioIntake | undefined
  /** The characters of the Start, which is the first request. */
  #startLength: number | undefined
  /** When the Start arrived, by the scheduler's clock. */
  #requestedAtMs = 0

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

  perform(action: DataflowAction, inputs: Inputs<DataflowInput>): TeardownLogic {
    switch (action.type) {
      case 'listen':
        return this.#listen(inputs)
      case 'next-message':
        return this.#queue?.next()
      case 'wait':
        return this.#wait(action.timeout, inputs, action.delayMs)
      case 'admit':
        return this.#admit(action.request, inputs)
      case 'hold':
        return this.#hold(action.admission, inputs)
      case 'open':
        return this.#open(action.request, action.admission, inputs)
      case 'take-audio':
        return this.#takeAudio(action.project)
      case 'run':
        return this.#run(action.project, inputs)
      case 'drain':
        return action.project.drain()
      case 'finish':
        return action.project.finish()
      case 'update':
        return inputs.post({ type: 'updated', error: action.project.update(action.request) })
      case 'abort':
        return action.project.abort(action.error)
    }
  }

  onFailure(error: unknown): DataflowInput {
    return { type: 'end', cause: 'fault', error: clientError(error, this.#context) }
  }

  /** Not as an uncaught exception, which would end the service. */
  report(error: unknown): void {
    this.#context.onFault?.(error)
  }

  emit(output: DataflowOutput): void {
    const { watch } = this.#context
    switch (output.type) {
      case 'response': {
        const result = output.error === undefined ? dataflowSuccess : refusalText(output.error)
        this.#client.next(responseMessage(result, output.request))
        return
      }
      case 'leaving':
        if (output.isDrained) watch?.ended('drained')
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

  #wait(
    timeout: Timeout,
    inputs: Inputs<DataflowInput>,
    delayMs = limitOf(timeout, this.#context.limits),
  ): Unsubscribable {
    return schedule(this.#context.scheduler, delayMs, () => inputs.post({ type: 'timeout', timeout }), { ref: true })
  }

  #listen(inputs: Inputs<DataflowInput>): Subscription {
    const queue = new SerialQueue<DataflowMessage | 'finished'>(this.#pauses.reason(), (message) =>
      this.#handle(message, inputs),
    )
    this.#queue = queue
    const listening = new Subscription(() => queue.clear())
    listening.add(
      this.#context.drain$
        .pipe(take(1))
        .subscribe(({ pauseWithinMs }) => inputs.post({ type: 'drain', pauseWithinMs })),
    )
    listening.add(
      this.#incoming$.subscribe({
        next: (message) => queue.push(message),
        complete: () => queue.push('finished'),
        error: (error: unknown) =>
          inputs.post(
            isUnreadable(error) ? { type: 'end', cause: 'unreadable', error } : { type: 'end', cause: 'client-left' },
          ),
      }),
    )
    return listening
  }

  /** Returns whether the message is done; otherwise the machine requests the next one. */
  #handle(message: DataflowMessage | 'finished', inputs: Inputs<DataflowInput>): boolean {
    try {
      if (message !== 'finished' && this.#intake !== undefined && isAudio(message)) {
        const tooMany = this.#intake.isShort(message.binaryContent) ? this.#requests.takeShort() : undefined
        const error = tooMany ?? this.#intake.take(message.binaryContent)
        if (error === undefined) return true
        inputs.post({ type: 'message', message: { type: 'end', cause: 'refused-audio', error } })
      } else inputs.post({ type: 'message', message: this.#decode(message) })
    } catch (error) {
      inputs.post(this.onFailure(error))
    }
    return false
  }

  #decode(message: DataflowMessage | 'finished'): ClientMessage {
    if (message === 'finished') return { type: 'finished' }
    const verdict = this.#count(message)
    if (verdict === 'end') return { type: 'end', cause: 'too-many-requests', error: this.#requests.refusal() }
    const decoded = decodeMessage(message)
    if (decoded.type === 'unreadable') return { type: 'end', cause: 'unreadable', error: decoded.error }
    if (decoded.type === 'audio') return this.#countAudio()
    return verdict === 'refuse' || this.#isBeyondToken(decoded.type, message)
      ? { ...decoded, excess: this.#requests.refusal() }
      : decoded
  }

  /** The first request has its own deadline and limits. */
  #count({ contentType: type, content }: DataflowMessage): RequestVerdict {
    if (type !== contentType.request) return 'handle'
    if (this.#startLength !== undefined) return this.#requests.take(content.length)
    this.#startLength = content.length
    return 'handle'
  }

  /** The Start counts for its token with the admission, and what ends the session with its Start. */
  #isBeyondToken(type: DecodedMessage['type'], { content }: DataflowMessage): boolean {
    return (type === 'Update' || type === 'invalid-request') && !this.#requests.takeOfToken(content.length)
  }

  /** Audio that no project takes. */
  #countAudio(): ClientMessage {
    const error = this.#requests.takeShort()
    return error === undefined ? { type: 'audio' } : { type: 'end', cause: 'too-many-requests', error }
  }

  #admit({ token, tenant }: StartRequest, inputs: Inputs<DataflowInput>): void {
    const { admit, scheduler } = this.#context
    this.#requestedAtMs = scheduler.now()
    admit(token, tenant).then(
      (admission) => {
        if (inputs.hasEnded) admission.release()
        else inputs.post({ type: 'admitted', admission })
      },
      (error: unknown) => {
        if (!inputs.hasEnded) inputs.post(this.#startFailed(error))
      },
    )
  }

  #hold({ release, clientId, ended$, requests }: Admission, inputs: Inputs<DataflowInput>): Subscription {
    const held = new Subscription(release)
    this.#requests.joinToken(requests)
    this.#requests.takeOfToken(this.#startLength ?? 0)
    this.#context.watch?.granted(clientId)
    held.add(ended$.pipe(take(1)).subscribe((error) => inputs.post({ type: 'end', cause: 'revoked', error })))
    return held
  }

  #open(request: StartRequest, { rights }: Admission, inputs: Inputs<DataflowInput>): void {
    const link = this.#pauses.reason()
    const options = { request, rights, context: this.#context, link, requestedAtMs: this.#requestedAtMs }
    ProjectSession.open(options).then(
      (project) => inputs.post({ type: 'ready', project }),
      (cause: unknown) => {
        const input = this.#startFailed(cause)
        if (input.error !== undefined) this.#requests.startRefused(input.error)
        inputs.post(input)
      },
    )
  }

  #takeAudio({ intake }: ProjectSession): () => void {
    this.#intake = intake
    return () => (this.#intake = undefined)
  }

  #run({ output$ }: ProjectSession, inputs: Inputs<DataflowInput>): Subscription {
    const { watch } = this.#context
    // An event that cannot be written as JSON is an error of the pipeline: it ends the session and not the service.
    const message$ = output$.pipe(
      map((item) => {
        watchSpeech(item, watch)
        return itemMessage(item)
      }),
    )
    return message$.subscribe({
      next: (message) => this.#client.next(message),
      complete: () => inputs.post({ type: 'project-ended' }),
      error: (error: unknown) =>
        inputs.post({ type: 'end', cause: 'project-failed', error: clientError(error, this.#context) }),
    })
  }

  #startFailed(error: unknown): Extract<DataflowInput, { readonly type: 'end' }> {
    return { type: 'end', cause: 'start-failed', error: clientError(error, this.#context) }
  }
}

/** The length of each wait; that of a session is the project's, and the one for a pause is part of the drain. */
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

/** The events of recognition that are about speech, of any node. */
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
