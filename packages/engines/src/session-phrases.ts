// The phrases of a session: sentences that it recognizes in addition to those of its model (PROTOCOL 3.4 and 4.2).
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { listOf } from 'rxspeech/internal/protocol/collections'
import { quoteText } from './models/decode-text.js'
import { codec } from 'rxspeech/internal/protocol/validation'
import type { Engine } from './engine.js'
import { isWord, wordsOf } from './models/grammar.js'

const maxPhrases = 100
const maxWords = 10
const maxLength = 200

/** The maximum length of a reason: a client shows 300 characters, after the code. */
const maxSentence = 270

const refused = (sentence: string): SpeechError => new SpeechError('invalid-field', sentence)

const faultOf = (phrase: string): string | undefined => {
  if (phrase.length > maxLength) return `has more than ${maxLength} characters`
  const words = wordsOf(phrase)
  if (words.length === 0) return 'has no word'
  if (words.length > maxWords) return `has ${words.length} words; at most ${maxWords} are possible`
  const bad = words.find((word) => !isWord(word))
  return bad === undefined ? undefined : `has ${quoteText(bad)}, which cannot be a word`
}

/** The phrases in an option of a node. */
export const phrasesOption = listOf(
  codec(
    `a phrase of 1 to ${maxWords} words`,
    (phrase): phrase is string => typeof phrase === 'string' && faultOf(phrase) === undefined,
  ),
  { maxLength: maxPhrases },
)

/**
 * The phrases as engines get them, in lower case without punctuation; undefined without phrases. Throws `invalid-field`
 * with the index of the phrase that is too long, empty or has something that cannot be a word, and if there are too
 * many.
 *
 * @param name of the field or setting
 */
export const readSessionPhrases = (
  phrases: readonly string[] | undefined,
  name: string,
): readonly string[] | undefined => {
  if (phrases === undefined || phrases.length === 0) return undefined
  if (phrases.length > maxPhrases) {
    throw refused(`${name} has ${phrases.length} phrases; at most ${maxPhrases} are possible.`)
  }
  return phrases.map((phrase, index) => {
    const fault = faultOf(phrase)
    if (fault !== undefined) throw refused(`${name}[${index}] ${fault}.`)
    return wordsOf(phrase).join(' ')
  })
}

/**
 * Resolves if the engine takes these phrases; rejects with `invalid-field` and the reason, or with the error of an
 * engine that cannot check them.
 *
 * @param name of the field or setting
 */
export const requirePhrases = async (
  engine: Engine,
  phrases: readonly string[] | undefined,
  name: string,
): Promise<void> => {
  if (phrases === undefined) return
  if (engine.capabilities.phrases !== true) {
    throw refused(
      `${name} cannot be used with this model, whose engine takes no phrases of a session; leave them out, or choose a model that takes them, such as one of a grammar.`,
    )
  }
  const faults = (await engine.checkPhrases?.(phrases)) ?? []
  const [first, ...others] = faults.map(({ index, reason }) =>
    index === undefined ? `${name} ${reason}` : `${name}[${index}] ${reason}`,
  )
  if (first === undefined) return
  throw refused(
    others.reduce((text, other) => (text.length + other.length < maxSentence ? `${text} ${other}` : text), first),
  )
}
