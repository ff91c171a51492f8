import { either } from 'fp-ts'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { codec, type Codec, issuesOf, issueText, nonEmptyText } from 'rxspeech/internal/protocol/validation'
import type { ModelDescription } from '../engine.js'

/** How messages name a model: as a client does, never by its folder. */
export const modelLabel = ({ tenant, name, version }: Pick<ModelDescription, 'tenant' | 'name' | 'version'>): string =>
  `${tenant}/${name}/${version}`

/** The error `invalid-model`; the name of the model precedes the sentence. */
export const invalidModel = (
  model: Pick<ModelDescription, 'tenant' | 'name' | 'version'>,
  sentence: string,
  cause?: unknown,
): SpeechError => new SpeechError('invalid-model', `Model ${modelLabel(model)}: ${sentence}`, { cause })

/** A string that is not empty, such as the name of a file. `expected` completes "must be …". */
export const textOption = (expected: string): Codec<string> => codec(expected, nonEmptyText.is)

/** Decodes the options of a model; throws `invalid-model` with every issue. */
export const decodeModelOptions = <A>(model: ModelDescription, options: Codec<A>): A => {
  const decoded = options.decode(model.options)
  if (either.isRight(decoded)) return decoded.right
  const issues = issuesOf(decoded.left).map(({ path, ...issue }) =>
    issueText({ ...issue, path: path.length === 0 ? [] : [`"${path.join('.')}" in model.json`] }, 'model.json'),
  )
  throw invalidModel(model, issues.join(' '))
}
