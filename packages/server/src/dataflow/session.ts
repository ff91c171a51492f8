import { map, Subscription, type Observable, type Subscriber, type TeardownLogic } from 'rxjs'
import { refusalText } from 'rxspeech/internal/errors/refusal'
import type { Inputs, MachineHost } from 'rxspeech/internal/kernel/machine'
import { contentType, type StartRequest } from 'rxspeech/internal/protocol/dataflow-messages'
import { eventName } from 'rxspeech/internal/protocol/event-name'
import { dataflowSuccess } from 'rxspeech/internal/protocol/operation-result'
import type { DataflowMessage, Link } from 'rxspeech/internal/transport/link'
import type { SessionWatch, SpeechMark } from '../monitor/session-watch.js'
import type { NodeItem } from '../nodes/core/node.js'
import type { Pausable } from '../sessions/back-pressure.js'
import { ConversationHost, serveConversation } from '../sessions/conversation-host.js'
import type { End } from '../sessions/conversation.js'
import { contextOf, givenId, type Admission, type DataflowContext } from '../sessions/session-context.js'
import { dataflowMachine, type DataflowAction, type DataflowInput, type DataflowOutput } from './machine.js'
import { audioOf, decodeMessage, itemMessage, responseMessage, type ClientRequest } from './protocol.js'
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
  serveConversation(dataflowMachine, (client) => new DataflowHost(incoming$, link, context, client))

/** A message of the client, or its half-close. */
type Received = DataflowMessage | 'finished'

/** Performs the decisions of the machine. Events do not pass it. */
class DataflowHost
  extends ConversationHost<Received, ClientRequest, DataflowContext>
  implements MachineHost<DataflowInput, DataflowOutput, DataflowAction>
{
  readonly #link: SessionLink
  readonly #client: Subscriber<DataflowMessage>
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
    super({ incoming$, link, context, finished: 'finished' })
    this.#link = link
    this.#client = client
  }

  perform(action: DataflowAction, inputs: Inputs<DataflowInput>): TeardownLogic {
    switch (action.type) {
      case 'admit':
        return this.#admit(action.request, inputs)
      case 'hold':
        return this.#hold(action.admission, inputs)
      case 'open':
        return this.#open(action.request, action.admission, inputs)
      case 'run':
        return this.#run(action.session, inputs)
      case 'update':
        return inputs.post({ type: 'updated', error: action.project.update(action.request) })
      case 'abort':
        return action.project.abort(action.error)
      default:
        return this.performCommon(action, inputs)
    }
  }

  emit(output: DataflowOutput): void {
    switch (output.type) {
      case 'response': {
        const { error, request } = output
        const sessionId = error === undefined && request === 'Start' ? givenId(this.context) : undefined
        const result = error === undefined ? dataflowSuccess : refusalText(error)
        return this.#client.next(responseMessage(result, request, sessionId))
      }
      case 'leaving':
        if (output.isDrained) this.context.watch?.ended('drained')
        return this.#link.close(output.reason)
      default:
        return this.emitCommon(output)
    }
  }

  protected audioOf(message: Received): Uint8Array | undefined {
    return message === 'finished' ? undefined : audioOf(message)
  }

  /** The first request has its own deadline and limits. */
  protected lengthOf(message: Received): number | undefined {
    if (message === 'finished' || message.contentType !== contentType.request) return undefined
    const { length } = message.content
    if (this.#startLength !== undefined) return length
    this.#startLength = length
    return undefined
  }

  protected decode(message: Received): ClientRequest | End<'unreadable'> {
    return message === 'finished' ? { type: 'finished' } : decodeMessage(message)
  }

  /** The Start counts for its token with the admission, and what ends the session with its Start. */
  protected isCounted({ type }: ClientRequest): boolean {
    return type === 'Update' || type === 'invalid-request'
  }

  #admit({ token, tenant }: StartRequest, inputs: Inputs<DataflowInput>): void {
    const { admit, scheduler } = this.context
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
    this.requests.joinToken(requests)
    this.requests.takeOfToken(this.#startLength ?? 0)
    this.context.watch?.granted(clientId)
    held.add(this.endWhen(ended$, inputs))
    return held
  }

  #open(request: StartRequest, admission: Admission, inputs: Inputs<DataflowInput>): void {
    const link = this.pauses.reason()
    const context = contextOf(this.context, admission)
    const options = { request, rights: admission.rights, context, link, requestedAtMs: this.#requestedAtMs }
    ProjectSession.open(options).then(
      (project) => inputs.post({ type: 'ready', project }),
      (cause: unknown) => {
        const input = this.#startFailed(cause)
        if (input.error !== undefined) this.requests.startRefused(input.error)
        inputs.post(input)
      },
    )
  }

  #run({ output$ }: ProjectSession, inputs: Inputs<DataflowInput>): Subscription {
    const { watch } = this.context
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
      error: (error: unknown) => inputs.post({ type: 'end', cause: 'project-failed', error: this.clientError(error) }),
    })
  }

  #startFailed(error: unknown): Extract<DataflowInput, { readonly type: 'end' }> {
    return { type: 'end', cause: 'start-failed', error: this.clientError(error) }
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
