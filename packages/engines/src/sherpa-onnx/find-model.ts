import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { sherpaTypes, type SherpaType } from './model-types.js'
import { isStreamingNetwork } from './networks.js'
import { readOnnxFile } from './onnx-file.js'

/** The options of `model.json` that name files of a folder, such as `transducer`. */
export interface FoundSherpaModel {
  readonly options: Readonly<Record<string, unknown>>
  /** The names of all of these files. */
  readonly files: readonly string[]
  /** The names of the pieces of words, if there is such a file. */
  readonly bpeVocab: string | undefined
}

const isQuantized = (name: string): boolean => /(?:^|[.\-_])int8(?:[.\-_]|$)/.test(name)
const isNetwork = (name: string): boolean => /\.(?:onnx|ort)$/.test(name)

/** A type that a folder may have, and its files by their keys. */
interface Candidate {
  readonly type: SherpaType
  readonly parts: Readonly<Record<string, string>>
}

/**
 * Finds a model in a folder, by the names that its makers give to files, such as `encoder….onnx`, `decoder….onnx` and
 * `joiner….onnx` of a transducer, and `tokens.txt`. Where several types have such files, the type in the metadata of a
 * file decides, or the names of the folder and the files. Rejects with `invalid-options` that names what is missing or
 * ambiguous.
 *
 * @param prefersInt8 which file is chosen where the folder has both, one quantized to 8 bits and one that is not
 * @param title what its makers call the model, if the folder has another name
 */
export const findSherpaModel = async (
  folder: string,
  prefersInt8: boolean,
  title = basename(folder),
): Promise<FoundSherpaModel> => {
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
  const tokens = choose(
    'tokens',
    names.filter((name) => /^(?:.*[.\-_])?tokens\.txt$/.test(name)),
  )
  const networks = names.filter(isNetwork)
  const candidates = sherpaTypes.flatMap((type): readonly Candidate[] => {
    const { files, folders = {}, hasTokens = true } = type
    const found = Object.entries(files).map(
      ([key, pattern]) => [key, networks.filter((name) => pattern.test(name))] as const,
    )
    const used = new Set(found.flatMap(([, fitting]) => fitting))
    // A network that the type does not have is of another type.
    if (found.some(([, fitting]) => fitting.length === 0) || networks.some((name) => !used.has(name))) return []
    if (hasTokens && tokens === undefined) return []
    if (Object.keys(folders).some((name) => !names.includes(name))) return []
    const parts = found.map(([key, fitting]) => [key, choose(key, fitting) ?? ''] as const)
    return [
      {
        type,
        parts: { ...Object.fromEntries(parts), ...Object.fromEntries(Object.keys(folders).map((key) => [key, key])) },
      },
    ]
  })
  const chosen = await chooseCandidate(folder, [title, ...names], candidates)
  if (chosen === undefined) {
    if (tokens === undefined) throw refuse('has no tokens.txt, which belongs to nearly every model of sherpa-onnx.')
    throw refuse('has no model: encoder, decoder and joiner, encoder and decoder, or one other file, as .onnx.')
  }
  if ('types' in chosen) {
    throw refuse(
      `may have a model of ${chosen.types.join(', ')}; write model.json by hand, or name the folder after its type.`,
    )
  }
  const { type, parts } = chosen
  const own = type.hasTokens === false ? {} : { tokens }
  const inside = Object.entries(type.folders ?? {}).flatMap(([key, files]) => files.map((name) => `${key}/${name}`))
  const networkNames = Object.keys(type.files).flatMap((key) => parts[key] ?? [])
  // Tensors of a large network are in a file beside it.
  const external = networkNames.map((name) => `${name}.data`).filter((name) => names.includes(name))
  return {
    options: { [type.key]: parts, ...own },
    files: [...networkNames, ...external, ...inside, ...Object.values(own).flatMap((name) => name ?? [])],
    bpeVocab: names.includes('bpe.vocab') ? 'bpe.vocab' : undefined,
  }
}

/**
 * Of several types that have such files, the one that the metadata of a network or the names identify; otherwise the
 * usual one.
 */
const chooseCandidate = async (
  folder: string,
  names: readonly string[],
  candidates: readonly Candidate[],
): Promise<Candidate | { readonly types: readonly string[] } | undefined> => {
  if (candidates.length < 2) return candidates[0]
  const files = new Set(
    candidates.flatMap(({ type, parts }) => Object.keys(type.files).flatMap((key) => parts[key] ?? [])),
  )
  const facts = await Promise.all([...files].map((name) => readOnnxFile(join(folder, name))))
  const networks = Object.fromEntries(facts.flatMap((of, at) => (of === undefined ? [] : [[at, { ...of, bytes: 0 }]])))
  const isStreaming = isStreamingNetwork(networks)
  const said = facts.map((of) => of?.metadata['model_type'] ?? '').join(' ')
  const named = names.join(' ')
  const fitting = isStreaming ? candidates.filter(({ type }) => type.streaming) : candidates
  const keysOf = (some: readonly Candidate[]): readonly string[] => [...new Set(some.map(({ type }) => type.key))]
  const hinted = [said, named].map((text) => fitting.filter(({ type }) => type.hint?.test(text) === true))
  const usual = fitting.filter(({ type }) => type.hint === undefined)
  const chosen = [...hinted, usual].find((some) => keysOf(some).length === 1)
  return chosen?.[0] ?? { types: keysOf(fitting) }
}
