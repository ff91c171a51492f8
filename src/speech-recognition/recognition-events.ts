import type { ErrorCode } from '../errors/error-table.js'

/** Why a recognition failed, by the names of the Web Speech API. */
export type RecognitionErrorCode =
  | 'no-speech'
  | 'aborted'
  | 'audio-capture'
  | 'network'
  | 'not-allowed'
  | 'service-not-allowed'
  | 'language-not-supported'

const listOf = <Item, Fields extends object>(items: readonly Item[], fields: Fields) =>
  Object.assign([...items], { item: (index: number): Item => items[index] as Item }, fields)

/** A result with one alternative. */
export const resultOf = (transcript: string, confidence: number, isFinal: boolean): SpeechRecognitionResult =>
  listOf([{ transcript, confidence }], { isFinal })

/**
 * The events `result` and `nomatch`.
 *
 * @example
 * const recognition = new (createSpeechRecognition({ url, token, models: 'call' }))()
 * recognition.onresult = ({ results, resultIndex }) => console.log(results[resultIndex]?.[0]?.transcript)
 */
export class RecognitionResultEvent extends Event {
  /** The index of the first result that has changed. */
  readonly resultIndex: number
  /** The definitive results since the start, then the interim ones. */
  readonly results: SpeechRecognitionResultList

  constructor(resultIndex: number, results: readonly SpeechRecognitionResult[], type: 'result' | 'nomatch' = 'result') {
    super(type)
    this.resultIndex = resultIndex
    this.results = listOf(results, {})
  }
}

/**
 * The event `error`.
 *
 * @example
 * const recognition = new (createSpeechRecognition({ url, token, models: 'call' }))()
 * recognition.onerror = ({ error, message }) => console.error(error, message)
 */
export class RecognitionErrorEvent extends Event {
  /** The name of the Web Speech API. */
  readonly error: RecognitionErrorCode
  /** A sentence that says what to do. */
  readonly message: string

  constructor(error: RecognitionErrorCode, message: string) {
    super('error')
    this.error = error
    this.message = message
  }
}

const errorCodes: Partial<Readonly<Record<ErrorCode, RecognitionErrorCode>>> = {
  'microphone-denied': 'not-allowed',
  'microphone-unsupported': 'not-allowed',
  'microphone-missing': 'audio-capture',
  'microphone-busy': 'audio-capture',
  'microphone-lost': 'audio-capture',
  'source-failed': 'audio-capture',
  unauthenticated: 'service-not-allowed',
  'tenant-denied': 'service-not-allowed',
  'model-denied': 'service-not-allowed',
}

/** The name of the Web Speech API for an error of a session. */
export const recognitionErrorOf = (code: ErrorCode): RecognitionErrorCode => errorCodes[code] ?? 'network'
