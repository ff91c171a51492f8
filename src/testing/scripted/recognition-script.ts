import { Type, type Any } from 'io-ts'
import { isErrorCode, type ErrorCode } from '../../errors/error-table.js'
import { SpeechError } from '../../errors/speech-error.js'
import { listOf } from '../../protocol/collections.js'
import { isJsonObject } from '../../protocol/json-object.js'
import { nearestName } from '../../protocol/nearest-name.js'
import type { Word } from '../../protocol/session-event.js'
import { checkOptions, codec, isText, number, oneOf, optionsOf, text, type Codec } from '../../protocol/validation.js'

/** A word of a script. */
export interface ScriptedWord {
  /** Without spaces. */
  readonly text: string
  /** Milliseconds since the first sample of the session. */
  readonly startMs: number
  /** Milliseconds since the first sample of the session. */
  readonly endMs: number
  /** 0 to 1. @default 0.9 */
  readonly confidence?: number | undefined
}

/** A text that is recognized as a whole: a final result, and partial results before it. */
export interface ScriptedUtterance {
  /** The text; its words are spread evenly. Omit it if `words` are given. */
  readonly text?: string | undefined
  /** The words with their times, in order. */
  readonly words?: readonly ScriptedWord[] | undefined
  /** Where a `text` begins, in milliseconds. @default 500 ms after the one before it; at once for the first, and after a finalize */
  readonly startMs?: number | undefined
  /** Where a `text` ends, in milliseconds. @default 300 ms a word */
  readonly endMs?: number | undefined
  /** The texts of its partial results, spread evenly. @default one with each further word */
  readonly partials?: readonly string[] | undefined
  /**
   * What makes it final: a `pause`, which is `finalAfterMs` of further audio, or only a `finalize` of the client, such
   * as a commit. @default 'pause'
   */
  readonly until?: 'pause' | 'finalize' | undefined
  /** How much audio after its end makes it final, in milliseconds. @default 300 */
  readonly finalAfterMs?: number | undefined
}

/** The recognition fails here. */
export interface ScriptedFailure {
  /** A code of `errorTable`. */
  readonly error: ErrorCode
  /** The sentence of the error. @default 'The script ends with this error.' */
  readonly message?: string | undefined
  /** In milliseconds of audio. @default with the final of the utterance before it */
  readonly atMs?: number | undefined
}

/** One thing that a session hears: a text, an utterance with its times, or a failure of the service. */
export type ScriptedItem = string | ScriptedUtterance | ScriptedFailure

/** What a session hears: a text, or several in their order. */
export type SessionScript = ScriptedItem | readonly ScriptedItem[]

/** The same for every session, or one for each in turn; after the last one the first follows. Plain data, also as JSON. */
export type RecognitionScript = SessionScript | { readonly sessions: readonly SessionScript[] }

const timeMs = number({ min: 0 })
const errorCode = codec('a code of docs/ERRORS.md', (value): value is ErrorCode => isText(value) && isErrorCode(value))

const word = optionsOf<ScriptedWord>()(
  { text, startMs: timeMs, endMs: timeMs },
  { confidence: number({ min: 0, max: 1 }) },
)

const utterance = optionsOf<ScriptedUtterance>()(
  {},
  {
    text,
    words: listOf(word),
    startMs: timeMs,
    endMs: timeMs,
    partials: listOf(text),
    until: oneOf('pause', 'finalize'),
    finalAfterMs: timeMs,
  },
  'a text, or an object with text, words or error',
)

const failure = optionsOf<ScriptedFailure>()({ error: errorCode }, { message: text, atMs: timeMs })

/** The codec that the form of the value names, so that an issue is about what was meant. */
const byForm = <A>(name: string, codecOf: (input: unknown) => Any): Codec<A> =>
  new Type<A, unknown>(
    name,
    (input): input is A => codecOf(input).is(input),
    (input, context) => codecOf(input).validate(input, context),
    (value) => value,
  )

const item = byForm<ScriptedItem>('a text or an object', (input) => {
  if (isText(input)) return text
  return isMeant(input, 'error') ? failure : utterance
})

/** Whether an object has the option that decides its form, perhaps misspelled. */
const isMeant = (input: unknown, option: 'sessions' | 'error'): boolean => {
  const known = Object.keys({ ...utterance.codecs, ...failure.codecs, sessions })
  return isJsonObject(input) && Object.keys(input).some((key) => nearestName(key, known) === option)
}

const session = byForm<SessionScript>('a text, an object or a list of them', (input) =>
  Array.isArray(input) ? listOf(item) : item,
)

const sessions = optionsOf<Extract<RecognitionScript, { readonly sessions: unknown }>>()(
  { sessions: listOf(session) },
  {},
)

export const recognitionScript: Codec<RecognitionScript> = byForm<RecognitionScript>(
  'a text, an object or a list of them',
  (input) => (isMeant(input, 'sessions') ? sessions : session),
)

/** A text as a session hears it. All times are milliseconds of the audio of the session. */
export interface PreparedUtterance {
  readonly type: 'utterance'
  readonly startMs: number
  readonly words: readonly Required<Word>[]
  /** Whether the script has the times; otherwise the words are spread over the audio that arrived. */
  readonly isTimed: boolean
  readonly partials: readonly PreparedPartial[]
  /** `Infinity` if only the client makes it final. */
  readonly finalAtMs: number
}

export interface PreparedPartial {
  readonly atMs: number
  readonly text: string
  readonly stableLength: number
}

export interface PreparedFailure {
  readonly type: 'failure'
  readonly atMs: number
  readonly error: SpeechError
}

export type ScriptStep = PreparedUtterance | PreparedFailure

const wordMs = 300
const gapMs = 500
const defaultConfidence = 0.9

/** The steps of each session. Throws `invalid-options`, which says where the script is wrong. */
export const prepareScript = (script: RecognitionScript): readonly (readonly ScriptStep[])[] => {
  checkOptions(recognitionScript, script, 'The script')
  const all = isJsonObject(script) && 'sessions' in script ? script.sessions : [script]
  if (all.length === 0) throw invalidScript('sessions must not be empty')
  const prepared = all.map((each) => {
    const steps: ScriptStep[] = []
    for (const one of isList(each) ? each : [each]) steps.push(prepareItem(one, steps.at(-1)))
    return steps
  })
  const isSilent = prepared.flat().every((step) => step.type === 'utterance' && step.words.length === 0)
  // A file that is empty by mistake; several sessions say that they are meant so.
  if (isSilent && !(isJsonObject(script) && 'sessions' in script))
    throw invalidScript('there are no words; give a text, or {"sessions": [[]]} for sessions that hear nothing')
  return prepared
}

const isList = (value: SessionScript): value is readonly ScriptedItem[] => Array.isArray(value)

const prepareItem = (given: ScriptedItem, before: ScriptStep | undefined): ScriptStep => {
  if (typeof given !== 'string' && 'error' in given) {
    const { error, message = 'The script ends with this error.', atMs = endOf(before) } = given
    return { type: 'failure', atMs, error: new SpeechError(error, message) }
  }
  const shape = typeof given === 'string' ? { text: given } : given
  const { until = 'pause', finalAfterMs = 300 } = shape
  const words = wordsOf(shape, before)
  const startMs = words[0]?.startMs ?? endOf(before)
  const endMs = words.at(-1)?.endMs ?? startMs
  if (startMs < (before?.type === 'utterance' ? (before.words.at(-1)?.endMs ?? 0) : 0))
    throw invalidScript(`${JSON.stringify(textOf(words))} begins before the end of the text before it`)
  return {
    type: 'utterance',
    startMs,
    words,
    isTimed: (shape.words ?? shape.startMs ?? shape.endMs) !== undefined,
    partials: partialsOf(shape.partials, words, startMs, endMs),
    finalAtMs: until === 'finalize' ? Infinity : endMs + finalAfterMs,
  }
}

/** Where the next item begins that does not say so. */
const endOf = (before: ScriptStep | undefined): number => {
  if (before === undefined) return 0
  return before.type === 'failure' ? before.atMs : (before.words.at(-1)?.endMs ?? before.startMs)
}

const wordsOf = (
  { text: whole, words, startMs, endMs }: ScriptedUtterance,
  before: ScriptStep | undefined,
): readonly Required<Word>[] => {
  if ((whole === undefined) === (words === undefined)) throw invalidScript('give each utterance either text or words')
  if (words !== undefined) {
    words.forEach((each, at) => {
      if (each.endMs < each.startMs || each.startMs < (words[at - 1]?.endMs ?? 0))
        throw invalidScript(
          `the word ${JSON.stringify(each.text)} ends before it begins, or overlaps with the one before`,
        )
    })
    return words.map(({ confidence = defaultConfidence, ...each }) => ({ ...each, confidence }))
  }
  const texts = (whole ?? '').split(/\s+/).filter((each) => each !== '')
  const from = startMs ?? endOf(before) + (before === undefined ? 0 : gapMs)
  const to = endMs ?? from + texts.length * wordMs
  if (to < from) throw invalidScript(`${JSON.stringify(whole)} ends before it begins`)
  return spread(texts, from, to)
}

/** Words of equal length between two times. */
export const spread = (
  texts: readonly string[],
  fromMs: number,
  toMs: number,
  confidences: readonly number[] = [],
): readonly Required<Word>[] =>
  texts.map((each, at) => ({
    text: each,
    startMs: Math.round(fromMs + ((toMs - fromMs) * at) / texts.length),
    endMs: Math.round(fromMs + ((toMs - fromMs) * (at + 1)) / texts.length),
    confidence: confidences[at] ?? defaultConfidence,
  }))

/** Moves an utterance to another time. */
export const shifted = (step: PreparedUtterance, byMs: number): PreparedUtterance => ({
  ...step,
  startMs: step.startMs + byMs,
  words: step.words.map((each) => ({ ...each, startMs: each.startMs + byMs, endMs: each.endMs + byMs })),
  partials: step.partials.map((each) => ({ ...each, atMs: each.atMs + byMs })),
  finalAtMs: step.finalAtMs + byMs,
})

export const textOf = (words: readonly Word[]): string => words.map((each) => each.text).join(' ')

/** By default one partial result at the end of each word. */
const partialsOf = (
  texts: readonly string[] | undefined,
  words: readonly Word[],
  startMs: number,
  endMs: number,
): readonly PreparedPartial[] => {
  const atEnds = words.map(({ endMs: atMs }, at) => ({ atMs, text: textOf(words.slice(0, at + 1)) }))
  const given = texts?.map((each, at) => ({
    atMs: startMs + ((endMs - startMs) * (at + 1)) / texts.length,
    text: each,
  }))
  const shown = given ?? atEnds
  const final = textOf(words)
  return shown.map((each, at) => {
    const later = [...shown.slice(at + 1).map((next) => next.text), final]
    return { ...each, stableLength: Math.min(...later.map((next) => sharedWordsLength(each.text, next))) }
  })
}

/** How much of a text another one begins with, in whole words. */
const sharedWordsLength = (shown: string, later: string): number => {
  let length = 0
  const others = later.split(' ')
  for (const [at, each] of shown.split(' ').entries()) {
    if (others[at] !== each) break
    length += each.length + (at === 0 ? 0 : 1)
  }
  return length
}

const invalidScript = (problem: string): SpeechError => new SpeechError('invalid-options', `In the script, ${problem}.`)
