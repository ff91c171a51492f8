import { readFileSync } from 'node:fs'
import { codeOf } from 'rxspeech/internal/errors/speech-error'
import { decodeText } from 'rxspeech-engines/models/decode-text'
import { flag, repeatedFlag, type FlagValues, type ParseValue } from '../parsing/flags.js'
import { text } from '../parsing/values.js'
import { usageError } from '../process/failure.js'

/** The lines of a file with something but a comment. */
const phrasesOfFile: ParseValue<readonly string[]> = (typed, name) => {
  let content: string | undefined
  try {
    content = decodeText(readFileSync(typed))
  } catch (error) {
    throw usageError(`${name} names ${typed}, which cannot be read (${codeOf(error) ?? 'unknown'}).`, error)
  }
  if (content === undefined) throw usageError(`${name} names ${typed}, which is not text in UTF-8; save it as UTF-8.`)
  return content.split(/\r?\n/).flatMap((line) => line.replace(/#.*$/, '').trim() || [])
}

/** Sentences that are recognized in addition to those of the model. */
export const phraseFlags = {
  phrase: repeatedFlag(
    '<text>',
    'a sentence that the model is to recognize, too, if it takes phrases; may be repeated',
    text,
  ),
  phrases: flag('<file>', 'a file with such sentences, one per line; # starts a comment', phrasesOfFile),
}

/** Those that were typed, then those of the file; undefined if there are none. */
export const typedPhrases = ({
  phrase,
  phrases = [],
}: FlagValues<typeof phraseFlags>): readonly string[] | undefined =>
  phrase.length + phrases.length === 0 ? undefined : [...phrase, ...phrases]
