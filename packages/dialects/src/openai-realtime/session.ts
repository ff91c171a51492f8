import { either } from 'fp-ts'
import { Subscription, type Observable, type Subscriber, type TeardownLogic, type Unsubscribable } from 'rxjs'
import { decodeSamples } from 'rxspeech/internal/audio/codec'
import { FrameAligner } from 'rxspeech/internal/audio/frame-aligner'
import { bytesOf } from 'rxspeech/internal/audio/pcm'
import { isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { Inputs, MachineHost } from 'rxspeech/internal/kernel/machine'
import { readRecognizerMessage, writeRecognizerRequest } from 'rxspeech/internal/protocol/recognizer-messages'
import type { SocketMessage } from 'rxspeech/internal/transport/link'
import type { Conversation, DialectClient } from 'rxspeech-server/listen/dialect'
import { PauseCounter, type Pausable } from 'rxspeech-server/sessions/back-pressure'
import { clientError, isUnreadable } from 'rxspeech-server/sessions/client-error'
import { serveConversation } from 'rxspeech-server/sessions/conversation-host'
import { pacedSender } from '../conversation/paced-sender.js'
import { OpenAiError } from '../openai-errors/openai-error.js'
import { readClientEvent, type ClientEvent, type Unreadable } from './client-event.js'
import { realtimeMachine } from './machine.js'
import type { InputFormat, SessionSettings } from './settings.js'
import type { RealtimeAction, RealtimeInput, RealtimeOutput } from './state.js'

export interface RealtimeOptions {
  readonly client: Pick<DialectClient, 'sessionId' | 'findModel' | 'requests' | 'onFault'>
  readonly settings: SessionSettings
  readonly conversation: Conversation
}

/**
 * Serves a transcription session: from the messages of its client to those for it. Completion closes the socket
 * normally, an error with its code. Unsubscribe to abort.
 */
export const serveRealtime = (
  incoming$: Observable<SocketMessage>,
  link: Pausable,
  { client, settings, conversation }: RealtimeOptions,
): Observable<SocketMessage> =>
  serveConversation(
    realtimeMachine({ sessionId: client.sessionId, findModel: client.findModel, settings }),
    (sent) => new RealtimeHost({ incoming$, link, client, conversation }, sent),
  )

interface RealtimeParts {
  readonly incoming$: Observable<SocketMessage>
  readonly link: Pausable
  readonly client: RealtimeOptions['client']
  readonly conversation: Conversation
}

type Posted = Inputs<RealtimeInput>

/** Performs the decisions of the machine. Audio does not pass it while a recognition runs. */
class RealtimeHost implements MachineHost<RealtimeInput, RealtimeOutput, RealtimeAction> {
  readonly #parts: RealtimeParts
  readonly #sent: Subscriber<SocketMessage>
  /** Pauses the socket while a message of the client needs more time. */
  readonly #untilNext: Pausable
  readonly #sendAudio: (audio: Uint8Array) => void
  #isReady = true
  #eventCount = 0
  #audioMs = 0
  /** Where audio goes while a recognition takes it. */
  #take: ((audio: Uint8Array) => void) | undefined

  constructor(parts: RealtimeParts, sent: Subscriber<SocketMessage>) {
    const pauses = new PauseCounter(parts.link)
    this.#parts = parts
    this.#sent = sent
    this.#untilNext = pauses.reason()
    this.#sendAudio = pacedSender(parts.conversation, pauses.reason())
  }

  perform(action: RealtimeAction, inputs: Posted): TeardownLogic {
    switch (action.type) {
      case 'listen':
        return this.#listen(inputs)
      case 'converse':
        return this.#converse(inputs)
      case 'take-audio':
        return this.#takeAudio(action.format, action.first)
      case 'again':
        return this.#handle(action.event, inputs)
      case 'next':
        return this.#continue()
    }
  }

  emit(output: RealtimeOutput): void {
    switch (output.type) {
      case 'event': {
        const { type, ...fields } = output.event
        this.#eventCount += 1
        return this.#sent.next(JSON.stringify({ type, event_id: `event_${this.#eventCount}`, ...fields }))
      }
      case 'request':
        return this.#parts.conversation.send(writeRecognizerRequest(output.request))
    }
  }

  onFailure(error: unknown): RealtimeInput {
    return { type: 'client-ended', error: clientError(error, this.#parts.client), audioMs: this.#audioMs }
  }

  /** Not as an uncaught exception, which would end the service. */
  report(error: unknown): void {
    this.#parts.client.onFault?.(error)
  }

  #listen(inputs: Posted): Unsubscribable {
    const ended = (error?: SpeechError): void => inputs.post({ type: 'client-ended', error, audioMs: this.#audioMs })
    return this.#parts.incoming$.subscribe({
      next: (message) => {
        try {
          const error = this.#receive(message, inputs)
          if (error !== undefined) ended(error)
        } catch (error) {
          inputs.post(this.onFailure(error))
        }
      },
      complete: () => ended(),
      error: (error: unknown) => ended(isUnreadable(error) ? error : undefined),
    })
  }

  /** Returns why the session ends, if the client sends too much. */
  #receive(message: SocketMessage, inputs: Posted): SpeechError | undefined {
    const event = readClientEvent(message)
    const isAudio = event.type === 'append'
    if (isAudio && event.audio.length === 0) return this.#parts.client.requests.takeShort()
    if (isAudio && this.#take !== undefined) {
      this.#take(event.audio)
      return undefined
    }
    const verdict = this.#parts.client.requests.take(isAudio ? 0 : message.length)
    // Many clients connect again after any close but of a violation.
    if (verdict === 'end')
      return event.type === 'unreadable' ? tooManyUnreadable() : this.#parts.client.requests.refusal()
    this.#isReady = false
    this.#post(verdict === 'refuse' ? this.#refused(event) : event, inputs)
    if (!this.#isReady) this.#untilNext.pause()
    return undefined
  }

  #refused({ eventId }: ClientEvent | Unreadable): Unreadable {
    const error = new OpenAiError(429, this.#parts.client.requests.refusal().message, 'too_many_requests')
    return { type: 'unreadable', error, eventId }
  }

  #post(event: ClientEvent | Unreadable, inputs: Posted): void {
    inputs.post({ type: 'client', event, audioMs: this.#audioMs })
  }

  /** A message whose recognition runs by now. */
  #handle(event: ClientEvent, inputs: Posted): void {
    if (event.type !== 'append') return this.#post(event, inputs)
    this.#take?.(event.audio)
    this.#continue()
  }

  #continue(): void {
    this.#isReady = true
    this.#untilNext.resume()
  }

  #converse(inputs: Posted): Subscription {
    const { conversation } = this.#parts
    const ended = (error?: SpeechError): void =>
      inputs.post({ type: 'recognizer-ended', error, audioMs: this.#audioMs })
    const reading = new Subscription(() => conversation.close())
    reading.add(
      conversation.incoming$.subscribe({
        next: (received) => {
          const read = readRecognizerMessage(String(received))
          if (either.isLeft(read)) ended(read.left.error)
          else inputs.post({ type: 'recognizer', message: read.right, audioMs: this.#audioMs })
        },
        complete: () => ended(),
        error: (error: unknown) => ended(isSpeechError(error) ? error : new SpeechError('internal', String(error))),
      }),
    )
    return reading
  }

  #takeAudio(format: InputFormat, first: Uint8Array): () => void {
    const take = audioDecoder(format, (samples) => {
      this.#audioMs += (samples.length * 500) / format.rate
      this.#sendAudio(samples)
    })
    this.#take = take
    if (first.length > 0) take(first)
    return () => (this.#take = undefined)
  }
}

const tooManyUnreadable = (): SpeechError =>
  new SpeechError('invalid-field', 'Too many messages could not be read; correct them.')

/** Passes on the 16-bit samples of audio that may be cut anywhere. */
const audioDecoder = ({ type }: InputFormat, pass: (samples: Uint8Array) => void): ((audio: Uint8Array) => void) => {
  if (type === 'audio/pcm') {
    const aligner = new FrameAligner(2)
    return (audio) => {
      const samples = aligner.push(audio)
      if (samples.length > 0) pass(samples)
    }
  }
  const encoding = type === 'audio/pcmu' ? 'ulaw' : 'alaw'
  return (audio) => pass(bytesOf(decodeSamples(audio, encoding)))
}
