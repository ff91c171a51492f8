import { either } from 'fp-ts'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { codeOf, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { decodeText } from './decode-text.js'
import { parseJsonObject } from 'rxspeech/internal/protocol/parse-json'
import { nonEmptyText } from 'rxspeech/internal/protocol/validation'
import type { ModelDescription } from '../engine.js'
import { invalidModel } from './model-json.js'

/** The tenant of a model whose folder names none. */
const defaultTenant = 'Default'

/** The engine of a `model.json` that names none. */
const defaultEngine = 'soundswallower'

/** A model folder, and what is wrong with its `model.json`. */
export interface FoundModel {
  readonly model: ModelDescription
  readonly problem?: SpeechError | undefined
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

/** The folders in a folder in a stable order, without hidden ones. */
const foldersIn = (folder: string): readonly string[] =>
  readdirSync(folder)
    .filter((name) => !name.startsWith('.') && isFolder(join(folder, name)))
    .toSorted()

const readBytes = (path: string): Uint8Array | undefined => {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}

const readModel = (tenant: string, name: string, version: string, folder: string): FoundModel => {
  const broken = (sentence: string): FoundModel => {
    const model = { tenant, name, version, folder, options: { engine: '' } }
    return { model, problem: invalidModel(model, sentence) }
  }
  const bytes = readBytes(join(folder, 'model.json'))
  if (bytes === undefined) return broken('its folder has no model.json that can be read; put one there.')
  const text = decodeText(bytes)
  if (text === undefined) return broken('model.json is not text in UTF-8; save it as UTF-8.')
  const options = parseJsonObject(text)
  if (either.isLeft(options)) return broken('model.json must contain one JSON object.')
  const { engine = defaultEngine } = options.right
  if (!nonEmptyText.is(engine)) return broken('"engine" in model.json must be the name of an engine.')
  return { model: { tenant, name, version, folder, options: { ...options.right, engine } } }
}

/** Whether a folder is a model. */
export const hasModelFile = (folder: string): boolean => existsSync(join(folder, 'model.json'))

/** The models below one folder of the root, which is a tenant, or a model if it has no tenant. */
const modelsIn = (root: string, first: string): readonly FoundModel[] =>
  foldersIn(join(root, first)).flatMap((second) => {
    const folder = join(root, first, second)
    if (hasModelFile(folder)) return [readModel(defaultTenant, first, second, folder)]
    return foldersIn(folder).map((third) => readModel(first, second, third, join(folder, third)))
  })

const isVersion = (name: string): boolean => /^\d+(\.\d+)*$/.test(name)

/** The model that the root itself is: `<name>`, or `<name>/<version>` if its own name is a version. */
const rootModel = (root: string): FoundModel => {
  const name = basename(root)
  return isVersion(name)
    ? readModel(defaultTenant, basename(dirname(root)), name, root)
    : readModel(defaultTenant, name, '1', root)
}

/**
 * All models of a folder with the layout `<tenant>/<name>/<version>/model.json`, or, for the tenant `Default`, with
 * `<name>/<version>/model.json` or just `model.json`. Throws `invalid-options` if the folder cannot be read.
 */
export const scanModelFolder = (folder: string): readonly FoundModel[] => {
  const root = resolve(folder)
  try {
    return hasModelFile(root) ? [rootModel(root)] : foldersIn(root).flatMap((first) => modelsIn(root, first))
  } catch (cause) {
    throw unreadableFolder('models', folder, cause)
  }
}

/** The error `invalid-options` for a folder of models or projects, with what to do. */
export const unreadableFolder = (what: 'models' | 'projects', folder: string, cause: unknown): SpeechError => {
  const code = codeOf(cause) ?? 'unknown'
  const problem =
    code === 'ENOENT'
      ? 'does not exist; create it, or name another'
      : code === 'ENOTDIR'
        ? `is a file; name the folder in which the ${what} are`
        : `cannot be read (${code}); change its permissions`
  return new SpeechError('invalid-options', `The folder of ${what} ${folder} ${problem}.`, { cause })
}
