import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { SpeechError } from '../../../errors/speech-error.js'
import type { ModelDescription } from '../engine.js'
import { invalidModel } from './model-files.js'

/** The tenant of a model whose folder names none. */
const unnamedTenant = 'Default'

/** The engine of a `model.json` that names none. */
const defaultEngine = 'soundswallower'

/** A folder of the form `<tenant>/<name>/<version>`, and why its `model.json` is none, where it is none. */
export interface FoundModel {
  readonly model: ModelDescription
  readonly problem?: SpeechError
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

/** The folders in a folder, in a stable order; hidden ones are none of ours. */
const foldersIn = (folder: string): readonly string[] =>
  readdirSync(folder)
    .filter((name) => !name.startsWith('.') && isFolder(join(folder, name)))
    .toSorted()

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const readText = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const readModel = (tenant: string, name: string, version: string, folder: string): FoundModel => {
  const broken = (sentence: string): FoundModel => {
    const model = { tenant, name, version, folder, options: { engine: '' } }
    return { model, problem: invalidModel(model, sentence) }
  }
  const text = readText(join(folder, 'model.json'))
  if (text === undefined) return broken('its folder has no model.json that can be read; put one there.')
  const options = parseJson(text)
  if (!isObject(options)) return broken('model.json must hold one JSON object.')
  const { engine = defaultEngine } = options
  if (typeof engine !== 'string' || engine === '')
    return broken('"engine" in model.json must be the name of an engine.')
  return { model: { tenant, name, version, folder, options: { ...options, engine } } }
}

const hasModelFile = (folder: string): boolean => existsSync(join(folder, 'model.json'))

/** The models below one folder of the root, which is a tenant's, or a model's where no tenant is named. */
const modelsIn = (root: string, first: string): readonly FoundModel[] =>
  foldersIn(join(root, first)).flatMap((second) => {
    const folder = join(root, first, second)
    if (hasModelFile(folder)) return [readModel(unnamedTenant, first, second, folder)]
    return foldersIn(folder).map((third) => readModel(first, second, third, join(folder, third)))
  })

const isVersion = (name: string): boolean => /^\d+(\.\d+)*$/.test(name)

/** The model that the root itself is: `<name>`, or `<name>/<version>` where its own name is a version. */
const rootModel = (root: string): FoundModel => {
  const name = basename(root)
  return isVersion(name)
    ? readModel(unnamedTenant, basename(dirname(root)), name, root)
    : readModel(unnamedTenant, name, '1', root)
}

/**
 * All models of a folder, laid out as `<tenant>/<name>/<version>/model.json`, or, for the tenant `Default`, as
 * `<name>/<version>/model.json` or as `model.json` alone. Throws `invalid-options` when the folder itself can't be read.
 */
export const scanModelFolder = (folder: string): readonly FoundModel[] => {
  const root = resolve(folder)
  try {
    return hasModelFile(root) ? [rootModel(root)] : foldersIn(root).flatMap((first) => modelsIn(root, first))
  } catch (cause) {
    throw new SpeechError('invalid-options', `The folder of models ${folder} does not exist or can't be read.`, {
      cause,
    })
  }
}
