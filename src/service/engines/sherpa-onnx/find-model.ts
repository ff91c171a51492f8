import { readdir } from 'node:fs/promises'
import { SpeechError } from '../../../errors/speech-error.js'

/** The options of `model.json` that name files of a folder, such as `transducer`. */
export interface FoundSherpaModel {
  readonly options: Readonly<Record<string, unknown>>
  /** The names of all of these files. */
  readonly files: readonly string[]
  /** The names of the pieces of words, if there is such a file. */
  readonly bpeVocab: string | undefined
}

const isQuantized = (name: string): boolean => /(?:^|[.\-_])int8(?:[.\-_]|$)/.test(name)

/**
 * Finds a streaming model in a folder, by the names that its makers give to files: `encoder….onnx`, `decoder….onnx` and
 * `joiner….onnx` of a transducer, the first two of a Paraformer, one other `….onnx` of a CTC model, and `tokens.txt`. Rejects
 * with `invalid-options` that says what is missing or ambiguous.
 *
 * @param prefersInt8 which file is chosen where the folder has both, one quantized to 8 bits and one that is not
 */
export const findSherpaModel = async (folder: string, prefersInt8: boolean): Promise<FoundSherpaModel> => {
  const refuse = (sentence: string): SpeechError =>
    new SpeechError('invalid-options', `The folder ${JSON.stringify(folder)} ${sentence}`)
  const names = await readdir(folder).catch((cause: unknown) => {
    throw new SpeechError('invalid-options', `The folder ${JSON.stringify(folder)} cannot be read; check its name.`, {
      cause,
    })
  })
  const choose = (what: string, candidates: readonly string[]): string | undefined => {
    const fitting = candidates.filter((name) => isQuantized(name) === prefersInt8)
    const chosen = fitting.length > 0 ? fitting : candidates
    if (chosen.length < 2) return chosen[0]
    throw refuse(`has several files that may be its ${what}: ${chosen.toSorted().join(', ')}; leave one there.`)
  }
  const networks = names.filter((name) => name.endsWith('.onnx'))
  const isPart = (name: string): boolean => /encoder|decoder|joiner/.test(name)
  const part = (role: string): string | undefined =>
    choose(
      role,
      networks.filter((name) => name.includes(role)),
    )
  const [encoder, decoder, joiner] = [part('encoder'), part('decoder'), part('joiner')]
  const tokens = choose(
    'tokens',
    names.filter((name) => /^(?:.*[.\-_])?tokens\.txt$/.test(name)),
  )
  if (tokens === undefined) throw refuse('has no tokens.txt, which belongs to every model of sherpa-onnx.')
  const bpeVocab = names.includes('bpe.vocab') ? 'bpe.vocab' : undefined
  const found = (key: string, parts: Readonly<Record<string, string>>): FoundSherpaModel => ({
    options: { [key]: parts, tokens },
    files: [...Object.values(parts), tokens],
    bpeVocab,
  })
  if (encoder !== undefined && decoder !== undefined) {
    return joiner === undefined
      ? found('paraformer', { encoder, decoder })
      : found('transducer', { encoder, decoder, joiner })
  }
  const model = choose(
    'model',
    networks.filter((name) => !isPart(name)),
  )
  if (model !== undefined && [encoder, decoder, joiner].every((name) => name === undefined)) {
    return found('zipformer2Ctc', { model })
  }
  throw refuse('has no streaming model: encoder, decoder and joiner, encoder and decoder, or one other file, as .onnx.')
}
