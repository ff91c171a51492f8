import { either } from 'fp-ts'
import type { Unsubscribable } from 'rxjs'
import type { Conversation } from 'rxspeech-server/listen/dialect'
import type { Pausable } from 'rxspeech-server/sessions/back-pressure'
import { errorTable } from 'rxspeech/internal/errors/error-table'
import { refusalError } from 'rxspeech/internal/errors/refusal'
import { SpeechError, toSpeechError } from 'rxspeech/internal/errors/speech-error'
import { eventName } from 'rxspeech/internal/protocol/event-name'
import { isSuccess } from 'rxspeech/internal/protocol/operation-result'
import {
  readRecognizerMessage,
  writeRecognizerRequest,
  type RecognizeRequest,
  type RecognizerEvent,
  type RecognizerFinal,
  type RecognizerMessage,
} from 'rxspeech/internal/protocol/recognizer-messages'
import { pacedSender } from '../conversation/paced-sender.js'
import { joinSegments, segmentOf, type Segment } from './messages.js'

/** What a channel reports. Times are milliseconds since its first sample. */
export interface ChannelListener {
  speechStarted(startMs: number): void
  speechEnded(): void
  interim(segment: Segment): void
  /** A segment of speech is over; its text is empty if there was none. */
  segment(segment: Segment): void
  /** The channel cannot continue, and reports nothing more. */
  failed(error: SpeechError): void
}

export interface ListenChannelOptions {
  readonly converse: () => Promise<Conversation>
  readonly request: RecognizeRequest
  readonly listener: ChannelListener
  /** Paused while audio cannot be taken. */
  readonly source: Pausable
}

type State =
  /** The next audio begins a recognition. */
  | { readonly name: 'idle' }
  | { readonly name: 'running' }
  /** The results of the audio so far are being completed. */
  | { readonly name: 'finishing'; readonly segments: Segment[]; readonly onFinished: OnFinished }
  | { readonly name: 'closed' }

type OnFinished = (segment: Segment | undefined) => void

/** The end of the audio that the voice activity does not read, because it fills no frame. */
const maxUnheardMs = 20

/**
 * One channel of a socket: recognitions one after another, because only the end of one completes an open segment. The
 * audio of a recognition that ends by itself must have been read; otherwise the channel fails, so that the client knows.
 */
export class ListenChannel {
  readonly #options: ListenChannelOptions
  #state: State = { name: 'idle' }
  #conversation: Conversation | undefined
  #send: ((message: string | Uint8Array) => void) | undefined
  #reading: Unsubscribable | undefined
  #onStarted: ((error: SpeechError | undefined) => void) | undefined
  /** Of the recognitions before the current one. */
  #endedBytes = 0
  #sentBytes = 0

  constructor(options: ListenChannelOptions) {
    this.#options = options
  }

  /** Begins the first recognition. Rejects with the reason if the service refuses it. */
  async open(): Promise<void> {
    await this.#connect()
    await new Promise<void>((resolve, reject) => {
      this.#onStarted = (error) => (error === undefined ? resolve() : reject(error))
      this.#start()
    })
  }

  /** The end of the audio so far, in milliseconds. */
  get positionMs(): number {
    return this.#msOf(this.#endedBytes + this.#sentBytes)
  }

  /** Takes 16-bit samples. */
  push(samples: Uint8Array): void {
    if (samples.length === 0) return
    if (this.#state.name === 'idle') this.#start()
    this.#sentBytes += samples.length
    this.#send?.(samples)
  }

  /** Completes the results of the audio so far, and passes on those that were not reported yet as one. */
  finish(onFinished: OnFinished): void {
    if (this.#state.name === 'idle') onFinished(undefined)
    if (this.#state.name !== 'running') return
    this.#state = { name: 'finishing', segments: [], onFinished }
    this.#send?.(writeRecognizerRequest({ request: 'finalize-recognition' }))
  }

  /** Stops to report, while the client does not read. */
  pause(): void {
    this.#conversation?.pause()
  }

  resume(): void {
    this.#conversation?.resume()
  }

  close(): void {
    this.#state = { name: 'closed' }
    this.#reading?.unsubscribe()
    this.#conversation?.close()
  }

  async #connect(): Promise<void> {
    const { converse, source } = this.#options
    const conversation = await converse()
    this.#conversation = conversation
    if (this.#state.name === 'closed') {
      conversation.close()
      return
    }
    this.#send = pacedSender(conversation, source)
    this.#reading = conversation.incoming$.subscribe({
      next: (message) => this.#read(String(message)),
      error: (error: unknown) => this.#fail(toSpeechError(error, 'internal', errorTable.internal.help)),
      complete: () => this.#onClosed(),
    })
  }

  /** The service closes a conversation without a recognition after a while. Only an open one shows that it drains. */
  #onClosed(): void {
    if (this.#state.name !== 'idle') {
      this.#fail(unheard())
      return
    }
    const { source } = this.#options
    source.pause()
    this.#connect().then(
      () => source.resume(),
      (error: unknown) => this.#fail(toSpeechError(error, 'internal', errorTable.internal.help)),
    )
  }

  #start(): void {
    this.#state = { name: 'running' }
    this.#send?.(writeRecognizerRequest({ request: 'recognize', ...this.#options.request }))
  }

  #read(text: string): void {
    const read = readRecognizerMessage(text)
    if (either.isLeft(read)) this.#fail(read.left.error)
    else this.#handle(read.right)
  }

  #handle(message: RecognizerMessage): void {
    const { listener } = this.#options
    switch (message.message) {
      case 'recognize-response': {
        const error = errorOf(message)
        const onStarted = this.#onStarted
        this.#onStarted = undefined
        if (onStarted !== undefined) onStarted(error)
        else if (error !== undefined) this.#fail(error)
        return
      }
      case 'finalize-recognition-response': {
        const error = this.#state.name === 'finishing' ? errorOf(message) : undefined
        if (error !== undefined) this.#fail(error)
        return
      }
      case 'partial-result':
        listener.interim(segmentOf(message, this.#beganMs))
        return
      case 'milestone-result':
        this.#addSegment(segmentOf(message, this.#beganMs))
        return
      case 'event':
        this.#onEvent(message)
        return
      case 'final-result':
        this.#onFinal(message)
        return
      case 'stop-recognition-response':
    }
  }

  #onEvent({ name, startMs = 0, endMs = startMs }: RecognizerEvent): void {
    const { listener } = this.#options
    if (name === eventName.noMatch) this.#addSegment(segmentOf({ text: '', startMs, endMs }, this.#beganMs))
    else if (name === eventName.speechStarted) listener.speechStarted(this.#beganMs + startMs)
    else if (name === eventName.speechEnded) listener.speechEnded()
  }

  #addSegment(segment: Segment): void {
    if (this.#state.name === 'finishing') this.#state.segments.push(segment)
    else this.#options.listener.segment(segment)
  }

  #onFinal(final: RecognizerFinal): void {
    const error = errorOf(final)
    const { heardMs = Infinity } = final
    if (error !== undefined || heardMs < this.#msOf(this.#sentBytes) - maxUnheardMs) {
      this.#fail(error ?? unheard())
      return
    }
    const state = this.#state
    this.#endedBytes += this.#sentBytes
    this.#sentBytes = 0
    this.#state = { name: 'idle' }
    if (state.name === 'finishing') state.onFinished(joinSegments(state.segments))
  }

  /** What was recognized before is reported. */
  #fail(error: SpeechError): void {
    const state = this.#state
    if (state.name === 'closed') return
    this.close()
    const rest = state.name === 'finishing' ? joinSegments(state.segments) : undefined
    if (rest !== undefined) this.#options.listener.segment(rest)
    const onStarted = this.#onStarted
    this.#onStarted = undefined
    if (onStarted === undefined) this.#options.listener.failed(error)
    else onStarted(error)
  }

  get #beganMs(): number {
    return this.#msOf(this.#endedBytes)
  }

  #msOf(byteCount: number): number {
    return (byteCount * 500) / this.#options.request.sampleRateHz
  }
}

const errorOf = ({ operationResult }: { readonly operationResult: string }): SpeechError | undefined =>
  isSuccess(operationResult) ? undefined : refusalError(operationResult)

const unheard = (): SpeechError =>
  new SpeechError('going-away', 'The service has ended the recognition, and has not read all audio; connect again.')
