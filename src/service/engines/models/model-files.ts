import { access, constants, readFile, realpath, stat } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { SpeechError } from '../../../errors/speech-error.js'
import type { ModelDescription } from '../engine.js'

/** How messages name a model: as a client would, never by its place on the disk. */
export const modelLabel = ({ tenant, name, version }: Pick<ModelDescription, 'tenant' | 'name' | 'version'>): string =>
  `${tenant}/${name}/${version}`

/** The error `invalid-model`, its sentence opened by the model's name. */
export const invalidModel = (
  model: Pick<ModelDescription, 'tenant' | 'name' | 'version'>,
  sentence: string,
  cause?: unknown,
): SpeechError => new SpeechError('invalid-model', `Model ${modelLabel(model)}: ${sentence}`, { cause })

const isInside = (folder: string, path: string): boolean => {
  const way = relative(folder, path)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

/**
 * The place of a file that `model.json` names under `key`. It must lie inside the model's folder, also after symbolic
 * links are followed; rejects with `invalid-model` that names the key and the file where it doesn't or can't be read.
 */
export const findModelFile = async (model: ModelDescription, key: string, file: string): Promise<string> => {
  const named = `"${key}" in model.json names ${JSON.stringify(file)}`
  const outside = (): SpeechError => invalidModel(model, `${named}, which is not inside the model's folder.`)
  if (isAbsolute(file) || !isInside(model.folder, resolve(model.folder, file))) throw outside()
  try {
    const [folder, path] = await Promise.all([realpath(model.folder), realpath(resolve(model.folder, file))])
    if (!isInside(folder, path)) throw outside()
    await access(path, constants.R_OK)
    if ((await stat(path)).isFile()) return path
  } catch (error) {
    if (error instanceof SpeechError) throw error
    throw invalidModel(model, `${named}, which can't be read; put the file there.`, error)
  }
  throw invalidModel(model, `${named}, which is no file.`)
}

/** The text of a file that `model.json` names under `key`; rejects as `findModelFile` does. */
export const readModelFile = async (model: ModelDescription, key: string, file: string): Promise<string> =>
  readFile(await findModelFile(model, key, file), 'utf8')
