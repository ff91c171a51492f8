import { joinBytes } from 'rxspeech/internal/audio/format'
import { refusalError } from 'rxspeech/internal/errors/refusal'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { Effect, MachineResult, Step } from 'rxspeech/internal/kernel/machine'
import { eventName } from 'rxspeech/internal/protocol/event-name'
import { isSuccess } from 'rxspeech/internal/protocol/operation-result'
import type { RecognizeRequest, RecognizerMessage } from 'rxspeech/internal/protocol/recognizer-messages'
import { invalidField, modelNotFound, OpenAiError, toOpenAiError } from '../openai-errors/openai-error.js'
import type { ClientEvent, Unreadable } from './client-event.js'
import { findItem, shownItem, withoutItem } from './items.js'
import { updateSettings } from './setting-rows.js'
import { isEarly, recognizeRequestOf, sessionOf, type SessionSettings } from './settings.js'
import { SpeechStep, type ServerEvent } from './speech.js'
import type {
  Begin,
  Live,
  RealtimeAction,
  RealtimeInput,
  RealtimeOutput,
  RealtimeSession,
  RealtimeState,
} from './state.js'

const noAudio: Uint8Array = new Uint8Array(0)

/** How much audio waits for the first settings: 2 s at 24 kHz, and more if no model was named. */
const maxEarlyBytes = { withModel: 96_000, withoutModel: 1_048_576 } as const

/** A final may leave out as much audio, which fills no frame of the voice activity. */
const maxUnheardMs = 20

/** One step of the machine. */
export class RealtimeStep {
  #state: Live
  readonly #audioMs: number
  readonly #session: RealtimeSession
  readonly #outputs: RealtimeOutput[] = []
  readonly #effects: Effect<RealtimeAction>[] = []
  #result: MachineResult | undefined
  /** Whether the message of the client is not done yet. */
  #isAgain = false

  constructor(state: Live, audioMs: number, session: RealtimeSession) {
    this.#state = state
    this.#audioMs = audioMs
    this.#session = session
  }

  take(input: RealtimeInput): Step<RealtimeState, RealtimeOutput, RealtimeAction> {
    const wasBusy = this.#isBusy
    this.#handle(input)
    if (this.#result !== undefined) {
      return { state: { name: 'ended', result: this.#result }, outputs: this.#outputs }
    }
    const isDone = !this.#isAgain && !this.#isBusy && (wasBusy || input.type === 'client')
    if (isDone) this.#effects.push({ lifetime: 'session', action: { type: 'next' } })
    return { state: this.#state, outputs: this.#outputs, effects: this.#effects }
  }

  get #isBusy(): boolean {
    const { name } = this.#state.recognition
    return name === 'starting' || name === 'finishing'
  }

  #handle(input: RealtimeInput): void {
    switch (input.type) {
      case 'client':
        return this.#handleClient(input.event)
      case 'recognizer':
        return this.#handleRecognizer(input.message)
      case 'client-ended':
        return input.error === undefined ? this.#end('complete') : this.#fail(input.error)
      case 'recognizer-ended':
        return input.error === undefined ? this.#expire() : this.#fail(input.error)
    }
  }

  #handleClient(event: ClientEvent | Unreadable): void {
    try {
      switch (event.type) {
        case 'unreadable':
          return this.#refuse(event.error, event.eventId)
        case 'update':
          return this.#update(updateSettings(this.#state.settings, event.session), event.eventId)
        case 'append':
          return event.audio.length === 0 ? undefined : this.#append(event)
        case 'commit':
          return this.#commit(event)
        case 'clear':
          return this.#clear()
        case 'retrieve':
        case 'delete':
          return this.#answerItem(event.type, event.itemId)
      }
    } catch (error) {
      if (!(error instanceof OpenAiError)) throw error
      this.#refuse(error, event.eventId)
    }
  }

  #append(event: Extract<ClientEvent, { readonly type: 'append' }>): void {
    const { hasSettings, settings } = this.#state
    const hasModel = this.#requestOf(settings) !== undefined
    if (hasModel && hasSettings) return this.#begin({ type: 'message', event })
    const early = joinBytes(this.#state.early, event.audio)
    if (early.length <= (hasModel ? maxEarlyBytes.withModel : maxEarlyBytes.withoutModel)) return this.#set({ early })
    this.#begin({ type: 'message', event })
  }

  #update(settings: SessionSettings, eventId: string | undefined): void {
    const { recognition, settings: before } = this.#state
    const request = this.#requestOf(settings)
    const isOther = settings.turns !== before.turns
    const isSame = !isOther && JSON.stringify(request) === JSON.stringify(this.#requestOf(before))
    if (request === undefined || (isSame && recognition.name === 'running')) return this.#accept(settings)
    const begin = { type: 'update', settings, eventId } as const
    // What was appended before another way to divide the audio is an item.
    if (isOther && this.#isOfClient && this.#hasAudio) this.#commitItem()
    if (recognition.name === 'running') this.#finish(begin)
    else this.#begin(begin)
  }

  #accept(settings: SessionSettings): void {
    this.#set({ settings, hasSettings: true })
    this.#send({ type: 'session.updated', session: sessionOf(this.#session.sessionId, settings) })
  }

  #commit(event: ClientEvent): void {
    if (this.#state.early.length > 0) return this.#begin({ type: 'message', event })
    if (!this.#hasAudio) throw emptyBuffer()
    this.#commitItem()
    if (this.#state.recognition.name === 'running') this.#finish('commit')
  }

  #commitItem(): void {
    const { takenMs } = this.#state
    const atMs = Math.round(this.#audioMs)
    this.#speak((step) => step.commit(Math.round(takenMs), atMs))
    // Without a recognition there is no further text.
    if (this.#state.recognition.name !== 'running') this.#speak((step) => step.completeAll(atMs))
    this.#set({ takenMs: this.#audioMs })
  }

  #clear(): void {
    const { recognition } = this.#state
    const mustWait = recognition.name === 'running' && this.#hasAudio
    this.#speak((step) => step.clear())
    this.#set({ takenMs: this.#audioMs, early: noAudio })
    if (mustWait) this.#finish('clear')
    else this.#send({ type: 'input_audio_buffer.cleared' })
  }

  #answerItem(what: 'retrieve' | 'delete', id: string): void {
    const { speech } = this.#state
    const item = findItem(speech.items, id)
    if (item === undefined) throw unknownItem(id)
    if (what === 'retrieve') return this.#send({ type: 'conversation.item.retrieved', item: shownItem(item) })
    this.#set({ speech: { ...speech, items: withoutItem(speech.items, id) } })
    this.#send({ type: 'conversation.item.deleted', item_id: id })
  }

  /** Begins a recognition, whose answer shows whether the engine takes its settings. */
  #begin(begin: Begin): void {
    const settings = begin.type === 'update' ? begin.settings : this.#state.settings
    const request = this.#requestOf(settings)
    if (request === undefined) throw noModel()
    this.#set({ recognition: { name: 'starting', begin } })
    this.#outputs.push({ type: 'request', request: { request: 'recognize', ...request } })
  }

  #finish(then: 'commit' | 'clear' | Begin): void {
    this.#set({ recognition: { name: 'finishing', then } })
    this.#outputs.push({ type: 'request', request: { request: 'finalize-recognition' } })
  }

  #handleRecognizer(message: RecognizerMessage): void {
    const { originMs } = this.#state
    const { startMs = 0, endMs = startMs } = 'startMs' in message ? message : {}
    const place = { startMs: Math.round(originMs + startMs), endMs: Math.round(originMs + endMs) }
    switch (message.message) {
      case 'recognize-response':
        return this.#answered(message.operationResult)
      case 'partial-result':
        return this.#speak((step) => step.partial({ ...place, text: message.text }, message.stableLength ?? 0))
      case 'milestone-result':
        this.#speak((step) => step.segment({ ...place, text: message.text }))
        return this.#took(place.endMs)
      case 'event':
        if (message.name === eventName.speechStarted) this.#speak((step) => step.started(place.startMs))
        else if (message.name === eventName.speechEnded) {
          this.#speak((step) => step.stopped(place.endMs))
          this.#took(place.endMs)
        } else if (message.name === eventName.noMatch) this.#speak((step) => step.noMatch(place))
        return
      case 'final-result':
        return this.#finished(message.operationResult, message.heardMs)
      default:
    }
  }

  #answered(operationResult: string): void {
    const { recognition } = this.#state
    if (recognition.name !== 'starting') return
    const { begin } = recognition
    if (!isSuccess(operationResult)) {
      this.#set({ recognition: { name: 'none' } })
      const { eventId } = begin.type === 'update' ? begin : begin.event
      const error = toOpenAiError(refusalError(operationResult), 'session.audio.input.transcription.')
      this.#refuse(error ?? failed(), eventId)
      return
    }
    this.#set({ recognition: { name: 'running' }, originMs: this.#audioMs, hasSettings: true })
    if (begin.type === 'update') this.#accept(begin.settings)
    const { format } = this.#state.settings
    this.#effects.push({ lifetime: 'running', action: { type: 'take-audio', format, first: this.#state.early } })
    this.#set({ early: noAudio })
    if (begin.type !== 'message') return
    this.#effects.push({ lifetime: 'session', action: { type: 'again', event: begin.event } })
    this.#isAgain = true
  }

  /** A recognition has ended: as the client asked, or because it was silent or too long. */
  #finished(operationResult: string, heardMs = Infinity): void {
    // The conversation ends with the error.
    if (!isSuccess(operationResult)) return
    const { recognition, originMs } = this.#state
    if (originMs + heardMs < this.#audioMs - maxUnheardMs) return this.#fail(unheard())
    this.#speak((step) => step.completeAll(Math.round(this.#audioMs)))
    this.#set({ recognition: { name: 'none' } })
    if (recognition.name !== 'finishing') return
    if (recognition.then === 'clear') this.#send({ type: 'input_audio_buffer.cleared' })
    else if (recognition.then !== 'commit') this.#begin(recognition.then)
  }

  #speak(tell: (step: SpeechStep) => void): void {
    const { recognition, speech } = this.#state
    // Results of audio that the client has dropped.
    const isDropped = recognition.name === 'finishing' && recognition.then === 'clear' && speech.open.length === 0
    if (isDropped) return
    const step = new SpeechStep(speech, { isOfClient: this.#isOfClient, isEarly: isEarly(this.#state.settings) })
    tell(step)
    this.#set({ speech: step.speech })
    for (const event of step.events) this.#send(event)
  }

  get #isOfClient(): boolean {
    return this.#state.settings.turns === 'client'
  }

  get #hasAudio(): boolean {
    return this.#audioMs > this.#state.takenMs
  }

  /** The service has made an item of the audio before this position. */
  #took(endMs: number): void {
    if (!this.#isOfClient) this.#set({ takenMs: Math.max(this.#state.takenMs, Math.min(endMs, this.#audioMs)) })
  }

  /** Undefined if the client has named no model, and none is configured for that. */
  #requestOf(settings: SessionSettings): RecognizeRequest | undefined {
    const model = this.#session.findModel(settings.model ?? '')
    if (model !== undefined) return recognizeRequestOf(settings, model)
    if (settings.model === undefined) return undefined
    throw modelNotFound(settings.model)
  }

  #set(change: Partial<Omit<Live, 'name'>>): void {
    this.#state = { ...this.#state, ...change }
  }

  #send(event: ServerEvent): void {
    this.#outputs.push({ type: 'event', event })
  }

  /** Refuses a message of the client; the session continues as it was. */
  #refuse(error: OpenAiError, eventId: string | undefined): void {
    this.#send({ type: 'error', error: { ...error.fields, event_id: eventId ?? null } })
  }

  /** Ends the session with an error, which the close shows only to some clients. */
  #fail(error: SpeechError): void {
    const shown = toOpenAiError(error) ?? failed()
    this.#speak((step) => step.fail(shown))
    this.#refuse(shown, undefined)
    this.#end({ error })
  }

  /** The service ends a session without audio. */
  #expire(): void {
    const error = new OpenAiError(400, 'No audio has arrived for too long; connect again.', 'session_expired')
    if (this.#hasAudio) this.#speak((step) => step.fail(error))
    this.#refuse(error, undefined)
    this.#end('complete')
  }

  #end(result: MachineResult): void {
    this.#result = result
  }
}

const emptyBuffer = (): OpenAiError =>
  new OpenAiError(400, 'The input audio buffer is empty; append audio first.', 'input_audio_buffer_commit_empty')

const noModel = (): OpenAiError =>
  invalidField(
    'session.audio.input.transcription.model',
    'Name a model by session.update, as session.audio.input.transcription.model.',
    'missing_required_parameter',
  )

const unknownItem = (id: string): OpenAiError =>
  new OpenAiError(404, `There is no item ${JSON.stringify(id.slice(0, 100))}.`, 'item_not_found', 'item_id')

const failed = (): OpenAiError => new OpenAiError(500, 'The service failed; try again.', 'internal')

const unheard = (): SpeechError =>
  new SpeechError('going-away', 'The recognition ended before all audio was read; connect again, and send it again.')
