import type { RecognitionOptions } from 'rxspeech'
import type { Model } from '../session/config.js'

/** What is remembered of a model. */
export const keyOf = ({ tenant = '', name, version }: Model): string => [tenant, name, version].join('/')

export const readsAnySpeech = ({ reads = '' }: Model): boolean => /^any |^\d+ languages$/.test(reads)

/** The index of the model that was chosen before, or of one for any speech. */
export const preferredModel = (models: readonly Model[], key: string | undefined): number => {
  const before = models.findIndex((model) => keyOf(model) === key)
  return before !== -1 ? before : models.findIndex(readsAnySpeech)
}

/** The model that a session without words is proposed in place of its own, which knows some sentences only. */
export const betterModel = (models: readonly Model[], model: Model): Model | undefined =>
  readsAnySpeech(model) ? undefined : models.find(readsAnySpeech)

/** What a session with a model can have of the options that a person has chosen; it would be refused with the others. */
export const optionsFor = (model: Model, { phrases, language, reject }: RecognitionOptions): RecognitionOptions => ({
  ...(phrases !== undefined && model.takesPhrases !== false && { phrases }),
  ...(language !== undefined && model.languages?.includes(language) === true && { language }),
  ...(reject !== undefined && !readsAnySpeech(model) && { reject }),
})
