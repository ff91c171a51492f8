import { isSpeechError, type SpeechError } from 'rxspeech/internal/errors/speech-error'

const counts = new WeakMap<SpeechError, () => void>()

/** The refusal of one version of a model, which counts only if the session gets no other version. */
export const refusalOf = (error: SpeechError, count: () => void): SpeechError => {
  counts.set(error, count)
  return error
}

/** The session is refused, with an error for each version that it could have had. */
export const countRefusals = (errors: readonly unknown[]): void => {
  for (const error of errors) if (isSpeechError(error)) counts.get(error)?.()
}
