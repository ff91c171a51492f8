import { asyncScheduler, defer, ReplaySubject, Subscription, type ObservableInput, type SchedulerLike } from 'rxjs'
import type { AudioFormat } from '../audio/format.js'
import type { RecognizeOptions } from '../client/recognizer/recognize-on.js'
import type { Recognition } from '../client/session.js'
import { toSpeechError } from '../errors/speech-error.js'
import { schedule } from '../kernel/timers.js'
import { accumulate, emptyTranscript, isResult } from '../operators/results/transcript.js'
import { primaryLanguage } from '../protocol/language.js'
import { eventName } from '../protocol/event-name.js'
import type { SessionEvent } from '../protocol/session-event.js'
import {
  RecognitionErrorEvent,
  recognitionErrorOf,
  RecognitionResultEvent,
  resultOf,
  type RecognitionErrorCode,
} from './recognition-events.js'

/** The service that a page recognizes with. */
export interface SpeechRecognitionOptions extends Omit<
  RecognizeOptions,
  'model' | 'format' | 'finalize$' | 'stop$' | 'continuous'
> {
  /** The model of each language, such as `{ 'en-US': 'dictation' }`; a text is the model of every language. */
  readonly models: string | Readonly<Record<string, string>>
  /**
   * The languages of a model of several, by their codes of ISO 639, such as `['en', 'fr']`. If that of `lang` is one of
   * them, it is the `language` of the session. @default []
   */
  readonly languages?: readonly string[] | undefined
  /** The audio of each recognition. @default microphone() */
  readonly audio?: (() => ObservableInput<Uint8Array> & { readonly format: AudioFormat }) | undefined
  /**
   * How long a recognition that is not continuous waits for speech, in milliseconds; then it ends with the error
   * `no-speech`. @default 8_000
   */
  readonly noSpeechMs?: number | undefined
  /** The clock of `noSpeechMs`. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

type Handler = ((event: Event) => void) | null

/** `SpeechRecognition` of the Web Speech API. */
export interface RecognitionObject extends EventTarget {
  /** Selects the model, and with `languages` its language. @default that of the document, or `en-US` */
  lang: string
  /** Whether recognition goes on after the first definitive result. @default false */
  continuous: boolean
  /** Whether interim results are reported. @default false */
  interimResults: boolean
  /** Accepted; there is always one alternative. @default 1 */
  maxAlternatives: number
  /** Accepted and ignored: the model has the grammar. */
  grammars: unknown
  /** The service listens. */
  onstart: ((event: Event) => void) | null
  /** The microphone records. */
  onaudiostart: ((event: Event) => void) | null
  /** The first words are heard; `onspeechstart` follows. */
  onsoundstart: ((event: Event) => void) | null
  /** The first words are heard. */
  onspeechstart: ((event: Event) => void) | null
  /** Results are new or have changed. */
  onresult: ((event: RecognitionResultEvent) => void) | null
  /** There was speech that the model does not know; `results` are those before it. */
  onnomatch: ((event: RecognitionResultEvent) => void) | null
  /** No more words follow. */
  onspeechend: ((event: Event) => void) | null
  /** No more words follow; after `onspeechend`. */
  onsoundend: ((event: Event) => void) | null
  /** The microphone is released. */
  onaudioend: ((event: Event) => void) | null
  /** The recognition failed or was aborted; `end` follows. */
  onerror: ((event: RecognitionErrorEvent) => void) | null
  /** The last event; `start` is allowed again. */
  onend: ((event: Event) => void) | null
  /** Throws `InvalidStateError` while a recognition runs. */
  start(): void
  /** Ends the audio; the last result follows. */
  stop(): void
  /** Ends the recognition without further results. */
  abort(): void
}

/** The class, for `window.SpeechRecognition`. */
export type RecognitionClass = new () => RecognitionObject

/** What differs between Node and browsers. */
export interface RecognitionPlatform {
  readonly recognize: (options: RecognizeOptions) => Recognition
  readonly microphone: NonNullable<SpeechRecognitionOptions['audio']>
}

/** `createSpeechRecognition` of a platform. */
export const recognitionClassOn = (
  platform: RecognitionPlatform,
  options: SpeechRecognitionOptions,
): RecognitionClass =>
  class SpeechRecognition extends RecognitionTarget {
    constructor() {
      super(platform, options)
    }
  }

class RecognitionTarget extends EventTarget implements RecognitionObject {
  lang = ''
  continuous = false
  interimResults = false
  maxAlternatives = 1
  grammars: unknown = []
  declare onaudiostart: Handler
  declare onaudioend: Handler
  declare onsoundstart: Handler
  declare onsoundend: Handler
  declare onspeechstart: Handler
  declare onspeechend: Handler
  declare onstart: Handler
  declare onend: Handler
  declare onresult: RecognitionObject['onresult']
  declare onerror: RecognitionObject['onerror']
  declare onnomatch: RecognitionObject['onnomatch']
  readonly #platform: RecognitionPlatform
  readonly #options: SpeechRecognitionOptions
  #run: RecognitionRun | undefined

  constructor(platform: RecognitionPlatform, options: SpeechRecognitionOptions) {
    super()
    this.#platform = platform
    this.#options = options
    for (const name of eventNames) defineHandler(this, name)
  }

  start(): void {
    if (this.#run !== undefined) {
      throw new DOMException('A recognition runs already; call stop or abort first.', 'InvalidStateError')
    }
    const { continuous, interimResults } = this
    const lang = this.lang || globalThis.document?.documentElement.lang || 'en-US'
    this.#run = new RecognitionRun(
      { platform: this.#platform, options: this.#options, lang, continuous, interimResults },
      (event) => {
        if (event.type === 'end') this.#run = undefined
        this.dispatchEvent(event)
      },
    )
    this.#run.start()
  }

  stop(): void {
    this.#run?.stop()
  }

  abort(): void {
    this.#run?.abort()
  }
}

const eventNames = [
  ...['audiostart', 'audioend', 'soundstart', 'soundend', 'speechstart', 'speechend'],
  ...['start', 'end', 'result', 'error', 'nomatch'],
]

/**
 * The property `on…` of an event. Its function is a listener, whose place among the others is that of the first
 * assignment (HTML standard, event handler attributes). So the platform reports its exceptions, and dispatches to the
 * other listeners.
 */
const defineHandler = (target: EventTarget, name: string): void => {
  let handler: ((event: Event) => unknown) | null = null
  const listener = (event: Event): void => void handler?.call(target, event)
  Object.defineProperty(target, `on${name}`, {
    configurable: true,
    enumerable: true,
    get: () => handler,
    set: (given: unknown) => {
      handler = typeof given === 'function' ? (given as (event: Event) => unknown) : null
      if (handler === null) target.removeEventListener(name, listener)
      else target.addEventListener(name, listener)
    },
  })
}

interface RunSettings {
  readonly platform: RecognitionPlatform
  readonly options: SpeechRecognitionOptions
  readonly lang: string
  readonly continuous: boolean
  readonly interimResults: boolean
}

/** One recognition, from `start` to `end`. */
class RecognitionRun {
  readonly #settings: RunSettings
  readonly #dispatch: (event: Event) => void
  readonly #finalize$ = new ReplaySubject<void>(1)
  readonly #subscription = new Subscription()
  #transcript = emptyTranscript
  #results: readonly SpeechRecognitionResult[] = []
  /** The events that are open: each has an event for its end. */
  #open: readonly string[] = []
  /** Whether the next definitive result was an interim one before. */
  #isSuggested = false
  /** Whether it is aborted or has ended. */
  #isOver = false

  constructor(settings: RunSettings, dispatch: (event: Event) => void) {
    this.#settings = settings
    this.#dispatch = dispatch
  }

  start(): void {
    const { platform, lang, options } = this.#settings
    const {
      models,
      languages = [],
      audio = platform.microphone,
      noSpeechMs: _ms,
      scheduler: _clock,
      ...given
    } = options
    const model = modelOf(models, lang)
    const code = primaryLanguage(lang)
    const session = languages.some((known) => primaryLanguage(known) === code) ? { ...given, language: code } : given
    // Later, because a page adds its handlers after `start` as well as before.
    queueMicrotask(() => {
      if (this.#isOver) return
      if (model === undefined) {
        this.#fail('language-not-supported', `There is no model for ${lang}; add it to models.`)
        return
      }
      this.#subscription.add(
        defer(() => {
          const audio$ = audio()
          return platform.recognize({ ...session, model, format: audio$.format, finalize$: this.#finalize$ })(audio$)
        }).subscribe({
          next: (event) => this.#read(event),
          error: (cause: unknown) => {
            const { code, message } = toSpeechError(cause, 'internal', 'The recognition failed; see the cause.')
            this.#fail(recognitionErrorOf(code), message)
          },
          complete: () => this.#end(),
        }),
      )
    })
  }

  /** Ends the audio. */
  stop(): void {
    this.#finalize$.next()
  }

  /** Releases the microphone at once. The events follow in a later task, so that a page can listen after `abort`. */
  abort(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#subscription.unsubscribe()
    const { scheduler = asyncScheduler } = this.#settings.options
    schedule(scheduler, 0, () => this.#fail('aborted', 'The page aborted the recognition.'))
  }

  #fail(code: RecognitionErrorCode, message: string): void {
    this.#end(new RecognitionErrorEvent(code, message))
  }

  #read(event: SessionEvent): void {
    if (event.type === 'connection' && event.state === 'streaming') this.#listen()
    if (event.type === 'event' && event.name === eventName.noMatch) {
      this.#dispatch(new RecognitionResultEvent(this.#results.length, this.#results, 'nomatch'))
    }
    const before = this.#transcript
    this.#transcript = accumulate(before, event)
    const { added, transcript } = this.#transcript
    if (!isResult(event) || transcript === before.transcript) return
    const { partial = '' } = transcript.channels[0] ?? {}
    if (added.trim() !== '') this.#decide(added, event.type === 'partial' ? undefined : event.confidence)
    else if (partial.trim() !== '') this.#suggest(partial)
  }

  /** The service listens. */
  #listen(): void {
    if (this.#open.length > 0) return
    this.#dispatch(new Event('start'))
    this.#begin('audio')
    const { continuous, options } = this.#settings
    if (continuous) return
    const { noSpeechMs = 8_000, scheduler = asyncScheduler } = options
    const onSilence = (): void => {
      if (!this.#open.includes('speech')) this.#fail('no-speech', `No speech was recognized within ${noSpeechMs} ms.`)
    }
    this.#subscription.add(schedule(scheduler, noSpeechMs, onSilence))
  }

  #decide(text: string, confidence = 1): void {
    // One definitive result is all that a recognition has which is not continuous.
    if (!this.#settings.continuous && this.#results.length > 0) return
    // As in Chrome. Libraries take a definitive result that follows another one for a repetition of it.
    if (!this.#isSuggested) this.#suggest(text)
    this.#isSuggested = false
    this.#hear()
    if (this.#isOver) return
    this.#results = [...this.#results, resultOf(text, confidence, true)]
    this.#dispatch(new RecognitionResultEvent(this.#results.length - 1, this.#results))
    if (!this.#settings.continuous) this.stop()
  }

  #suggest(text: string): void {
    const { continuous, interimResults } = this.#settings
    this.#hear()
    if (this.#isOver || !interimResults || (!continuous && this.#results.length > 0)) return
    this.#isSuggested = true
    this.#dispatch(new RecognitionResultEvent(this.#results.length, [...this.#results, resultOf(text, 0, false)]))
  }

  #hear(): void {
    if (this.#open.includes('speech')) return
    this.#begin('sound')
    this.#begin('speech')
  }

  /** A handler may abort at each event. */
  #begin(name: string): void {
    if (this.#isOver) return
    this.#open = [name, ...this.#open]
    this.#dispatch(new Event(`${name}start`))
  }

  #end(error?: RecognitionErrorEvent): void {
    this.#isOver = true
    this.#subscription.unsubscribe()
    for (const name of this.#open) this.#dispatch(new Event(`${name}end`))
    if (error !== undefined) this.#dispatch(error)
    this.#dispatch(new Event('end'))
  }
}

/** The model of a language: of the same tag, or of the same language in another country. */
const modelOf = (models: SpeechRecognitionOptions['models'], lang: string): string | undefined => {
  if (typeof models === 'string') return models
  const tags = Object.keys(models)
  const tag =
    tags.find((known) => known.toLowerCase() === lang.toLowerCase()) ??
    tags.find((known) => primaryLanguage(known) === primaryLanguage(lang))
  return tag && models[tag]
}
