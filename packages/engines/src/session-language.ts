// The language of a session, which it chooses of those of its model (PROTOCOL 3.4 and 4.2).
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { Engine } from './engine.js'

/** A client shows 300 characters of a refusal, and some models have a hundred languages. */
const maxListed = 40

/**
 * Why the engine does not take this language, with `invalid-field`; undefined if it does.
 *
 * @param language as `primaryLanguage` returns it
 * @param name of the field or setting
 */
export const languageRefusal = (
  { capabilities }: Pick<Engine, 'capabilities'>,
  language: string | undefined,
  name: string,
): SpeechError | undefined => {
  const { languages } = capabilities
  if (language === undefined || languages?.includes(language) === true) return undefined
  const asked = `${name} ${JSON.stringify(language)}`
  if (languages === undefined) {
    return refused(`${asked} cannot be used with this model: its engine takes no language of a session.`)
  }
  const more = languages.length > maxListed ? ` and ${languages.length - maxListed} more` : ''
  const listed = languages.slice(0, maxListed).join(', ')
  return refused(`${asked} cannot be used with this model; it has ${listed}${more}.`)
}

const refused = (sentence: string): SpeechError => new SpeechError('invalid-field', sentence)
