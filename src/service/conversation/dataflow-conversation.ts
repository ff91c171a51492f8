import { either } from 'fp-ts'
import { map, Observable, Subscription, take, tap, type Subscriber } from 'rxjs'
import { bytesPerFrame } from '../../audio/format.js'
import { isSpeechError, refusalText, SpeechError } from '../../errors/speech-error.js'
import { contentType } from '../../protocol/content-type.js'
import {
  readDataflowRequest,
  type DataflowRequest,
  type DataflowRequestName,
  type StartRequest,
  type UpdateRequest,
} from '../../protocol/dataflow-requests.js'
import { writeDataflowResponse } from '../../protocol/dataflow-responses.js'
import { writeEventEnvelope } from '../../protocol/event-envelope.js'
import { dataflowSuccess } from '../../protocol/operation-result.js'
import { eventName } from '../../protocol/recognition-events.js'
import type { ServiceState } from '../../protocol/states.js'
import type { DataflowMessage } from '../../transport/link.js'
import type { StartedSession } from '../monitor/session-watch.js'
import type { SpeechMark } from '../monitor/speech-times.js'
import type { NodeItem } from '../nodes/node.js'
import type { ProjectRegistry } from '../project/project.js'
import { batchModels } from './batch-models.js'
import { clientError, unreadable } from './client-error.js'
import { inTime } from './in-time.js'
import { MessageLine } from './message-line.js'
import { PaceLimit } from './pace-limit.js'
import { PauseReasons, type Pausable } from './pause-reasons.js'
import { ProjectRun } from './project-run.js'
import type { SessionTerms } from './session-terms.js'

export interface DataflowTerms extends SessionTerms {
  readonly projects: ProjectRegistry
  /** Where nodes may keep recordings; nowhere when left out. */
  readonly recordingsFolder?: string
}

/**
 * The service's side of the dataflow stream (service.md 4.1, decisions.md): from what a client says to what it is told.
 * Completion ends the stream in good order; an error, always one for clients, ends it with that error's status.
 * An error of `incoming$` is the end of the client, except for what it sent and cannot be read, which it is told.
 * Unsubscribe cancels.
 */
export const dataflowConversation = (
  incoming$: Observable<DataflowMessage>,
  link: Pausable,
  terms: DataflowTerms,
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
  | {
      readonly name: Extract<ServiceState, 'running' | 'flushing'>
      readonly run: ProjectRun
      readonly frameBytes: number
      readonly pace: PaceLimit
    }

const noBytes = new Uint8Array(0)

class DataflowConversation {
  readonly #pauses: PauseReasons
  readonly #terms: DataflowTerms
  readonly #subscriber: Subscriber<DataflowMessage>
  readonly #line: MessageLine<DataflowMessage | 'finished'>
  readonly #owned = new Subscription()
  #state: State = { name: 'opened' }
  /** How the stream ends when the project has said its last to that. */
  #lastWord: (() => void) | undefined
  #deadline: Subscription

  constructor(link: Pausable, terms: DataflowTerms, subscriber: Subscriber<DataflowMessage>) {
    this.#pauses = new PauseReasons(link)
    this.#terms = terms
    this.#subscriber = subscriber
    this.#line = new MessageLine(this.#pauses.reason(), (message) => this.#handle(message), this.#fail)
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
    if (message === 'finished') {
      if (this.#state.name === 'opened')
        this.#refuse(new SpeechError('not-started', 'The stream ended without a Start message.'))
      else this.#flush()
      return undefined
    }
    switch (message.contentType) {
      case contentType.audio:
        this.#audio(message)
        return undefined
      case contentType.request:
        return this.#request(message.content)
      default: {
        const text = `content_type ${message.contentType} is not for clients; send REQUEST (2) with JSON or AUDIO (0) with bytes.`
        this.#refuse(new SpeechError('unknown-content-type', text))
        return undefined
      }
    }
  }

  #audio({ content, binaryContent: bytes }: DataflowMessage): void {
    const { length } = bytes
    if (length === 0 && content !== '') {
      const text = 'An AUDIO message carries text and no bytes; a request needs content_type REQUEST (2).'
      this.#refuse(new SpeechError('empty-audio', text))
    } else if (this.#state.name === 'opened') {
      this.#refuse(
        new SpeechError('not-started', 'Audio came before Start; send Start first and wait for its response.'),
      )
    } else if (this.#state.name === 'running') {
      const { frameBytes, run, pace } = this.#state
      if (length % frameBytes === 0) {
        const tooFast = pace.take(length / frameBytes)
        if (tooFast !== undefined) this.#refuse(tooFast)
        // No audio is no sign of life either.
        else if (length > 0) {
          this.#terms.watch?.audio(length / frameBytes)
          run.audio(bytes)
        }
      } else {
        const text = `An audio message of ${length} bytes cuts a sample; send a multiple of ${frameBytes} bytes.`
        this.#refuse(new SpeechError('cut-sample', text))
      }
    }
  }

  #request(content: string): Promise<void> | undefined {
    const request = readDataflowRequest(content)
    if (either.isLeft(request)) {
      const { error, request: name } = request.left
      if (this.#state.name === 'opened') this.#refuse(error)
      else this.#refuseRequest(name === 'Start' ? secondStart() : error, name)
      return undefined
    }
    if (this.#state.name !== 'opened') {
      this.#inSession(request.right)
      return undefined
    }
    if (request.right.request === 'Start') return this.#start(request.right)
    this.#refuse(
      new SpeechError('not-started', `${request.right.request} came before Start; send Start first.`),
      request.right.request,
    )
    return undefined
  }

  async #start(request: StartRequest): Promise<void> {
    this.#state = { name: 'started' }
    this.#deadline.unsubscribe()
    const { limits, scheduler } = this.#terms
    const { models, allowBatch } = batchModels(this.#terms.models)
    const askedAtMs = scheduler.now()
    try {
      const { rights, ended$, release, clientId } = await this.#soon(this.#terms.admit(request.token, request.tenant))
      if (this.#subscriber.closed) {
        release()
        return
      }
      this.#owned.add(release)
      if (clientId !== undefined) this.#terms.watch?.granted(clientId)
      this.#owned.add(ended$.pipe(take(1)).subscribe(this.#expel))
      if (this.#isOver()) return
      const run = await this.#soon(ProjectRun.open(request, rights, { ...this.#terms, models }, this.#pauses.reason()))
      const { sampleRateHz } = request.audio
      const pace = new PaceLimit({ limits, scheduler, sampleRateHz, askedAtMs, allowBatch })
      if (!this.#subscriber.closed) this.#run(run, request, pace)
    } catch (error) {
      this.#refuse(clientError(error, this.#terms.onFault))
    }
  }

  #soon<Outcome>(work: Promise<Outcome>): Promise<Outcome> {
    const late = new SpeechError('engine-failed', 'The session could not be made ready in time; try again.')
    return inTime(work, this.#terms.limits.openWithinMs, this.#terms.scheduler, late)
  }

  #run(run: ProjectRun, request: StartRequest, pace: PaceLimit): void {
    this.#state = { name: 'running', run, frameBytes: bytesPerFrame(request.audio), pace }
    this.#terms.watch?.started(startedSession(run, request))
    this.#respond(dataflowSuccess, 'Start')
    this.#deadline = this.#terms.scheduler.schedule(() => {
      this.#flush()
    }, run.maxSessionMs)
    this.#owned.add(
      run.output$.pipe(tap(this.#watchItem), map(messageOf)).subscribe({
        next: (message) => {
          this.#subscriber.next(message)
        },
        complete: () => {
          this.#subscriber.complete()
        },
        error: this.#projectFailed,
      }),
    )
  }

  #inSession(request: DataflowRequest): void {
    const { request: name } = request
    switch (name) {
      case 'Start':
        this.#refuseRequest(secondStart(), name)
        return
      case 'Update':
        this.#update(request)
        return
      case 'Finalize':
        this.#respond(dataflowSuccess, name)
        this.#flush()
        return
      case 'Stop':
        this.#respond(dataflowSuccess, name)
        this.#terms.watch?.ended('stopped')
        this.#state = { name: 'ended' }
        this.#subscriber.complete()
    }
  }

  /** An Update that a node refuses changes nothing. */
  #update(request: UpdateRequest): void {
    const refusal = 'run' in this.#state ? this.#state.run.update(request) : undefined
    this.#respond(refusal === undefined ? dataflowSuccess : refusalText(refusal), 'Update')
  }

  #flush(): void {
    if (this.#state.name !== 'running') return
    const { run } = this.#state
    this.#state = { ...this.#state, name: 'flushing' }
    this.#deadline.unsubscribe()
    this.#deadline = this.#terms.scheduler.schedule(() => {
      this.#fail(new SpeechError('engine-failed', 'The last results did not come in time; try again.'))
    }, this.#terms.limits.flushWithinMs)
    this.#terms.watch?.flushing()
    run.finish()
  }

  readonly #drain = (): void => {
    if (this.#state.name === 'running') this.#flush()
    else if (this.#state.name === 'opened' || this.#state.name === 'started') {
      const text = 'The service is closing; start the session elsewhere or later.'
      this.#refuse(new SpeechError('going-away', text))
    }
  }

  /** The token is good no longer, and neither is what it had asked for: nothing more is recognised or flushed. */
  readonly #expel = (error: SpeechError): void => {
    if (this.#state.name === 'started') this.#refuse(error)
    else this.#fail(error)
  }

  #isOver(): boolean {
    return this.#subscriber.closed
  }

  /** The session cannot go on, by no fault of the client's. */
  readonly #fail = (error: unknown): void => {
    if (this.#subscriber.closed) return
    const told = clientError(error, this.#terms.onFault)
    this.#breakOff(told, () => {
      this.#end(told)
    })
  }

  /** Every refusal has its response, that of a Start where none was accepted; the stream then ends with the error's status. */
  #refuse(
    error: SpeechError,
    request: DataflowRequestName | undefined = 'run' in this.#state ? undefined : 'Start',
  ): void {
    this.#breakOff(error, () => {
      this.#respond(refusalText(error), request)
      this.#end(error)
    })
  }

  /** What recognises says its final first, one a channel unless the session was stopped (decisions.md: final-result). */
  #breakOff(error: SpeechError, lastWord: () => void): void {
    if (!('run' in this.#state)) {
      lastWord()
      return
    }
    const { run } = this.#state
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

  /** The session goes on. */
  #refuseRequest(error: SpeechError, request?: DataflowRequestName): void {
    this.#terms.watch?.refused(error.code)
    this.#respond(refusalText(error), request)
  }

  readonly #watchItem = (item: NodeItem): void => {
    if (this.#terms.watch === undefined || item.type !== 'event') return
    const { name, channel = -1, startMs = -1, endMs = -1 } = item.event
    const type = speechMarks.get(name)
    if (type !== undefined) this.#terms.watch.heard({ type, startMs, endMs }, channel)
  }

  #respond(operationResult: string, request?: DataflowRequestName): void {
    this.#subscriber.next({
      contentType: contentType.response,
      content: writeDataflowResponse(operationResult, request),
      binaryContent: noBytes,
    })
  }
}

const secondStart = (): SpeechError =>
  new SpeechError('already-started', 'The session runs already; open another stream.')

const startedSession = (run: ProjectRun, { tenant, projectName, audio }: StartRequest): StartedSession => ({
  tenant,
  project: projectName,
  sampleRateHz: audio.sampleRateHz,
  pendingSamples: () => run.pendingSamples,
  ...(run.model === undefined ? {} : { model: run.model }),
})

/** What the events of recognition say of speech, whichever node raised them. */
const speechMarks: ReadonlyMap<string, SpeechMark['type']> = new Map([
  [eventName.speechStarted, 'speech-started'],
  [eventName.speechEnded, 'speech-ended'],
  [eventName.partial, 'partial'],
  [eventName.milestone, 'milestone'],
])

/** Within the pipeline, so that what a node tells and JSON cannot say ends the session and not the service. */
const messageOf = (item: NodeItem): DataflowMessage =>
  item.type === 'audio'
    ? { contentType: contentType.audio, content: '', binaryContent: item.bytes }
    : {
        contentType: contentType.event,
        content: writeEventEnvelope({ ...nowhere, ...item.event }),
        binaryContent: noBytes,
      }

/** Each event has a channel and times, be it those that say that there are none (decisions.md: event envelope). */
const nowhere = { channel: -1, startMs: -1, endMs: -1 }
