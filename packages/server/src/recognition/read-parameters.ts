import type { RecognizeSettings } from 'rxspeech-engines/engine'
import { readSessionPhrases } from 'rxspeech-engines/session-phrases'
import { primaryLanguage } from 'rxspeech/internal/protocol/language'
import {
  engineParameters,
  pickParameters,
  type RecognitionParameters,
  segmentationParameters,
} from 'rxspeech/internal/protocol/recognition-parameters'
import type { SegmenterParameters } from './segmenter-parameters.js'

/** What a session asks of the engine and of the segmenter. */
export interface ReadParameters {
  readonly settings: RecognizeSettings
  readonly parameters: SegmenterParameters
}

/**
 * The parameters of a session, with `defaults` for the absent ones of the segmenter. Throws `invalid-field` for a
 * phrase.
 *
 * @param phrasesName the name of the phrases in the error
 */
export const readParameters = (
  given: RecognitionParameters,
  defaults: SegmenterParameters,
  phrasesName: string,
): ReadParameters => ({
  settings: {
    ...pickParameters(engineParameters, given),
    phrases: readSessionPhrases(given.phrases, phrasesName),
    language: given.language === undefined ? undefined : primaryLanguage(given.language),
  },
  parameters: { ...defaults, ...pickParameters(segmentationParameters, given) },
})
