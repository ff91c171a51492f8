import { isUtf8 } from 'node:buffer'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { ModelDescription } from '../engine.js'
import { findModelFile } from '../models/model-files.js'
import { invalidModel } from '../models/model-json.js'
import type { CommonOptions, SherpaOptions } from './model-options.js'
import { readNetwork } from './networks.js'
import type { SherpaSettings } from './package.js'

/** The path of a folder that `model.json` names, with its files. */
const findFolder = async (
  model: ModelDescription,
  key: string,
  name: string,
  files: readonly string[],
): Promise<string> => {
  for (const inside of files) await findModelFile(model, key, `${name}/${inside}`)
  const path = join(model.folder, name)
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (!isFolder)
    throw invalidModel(model, `"${key}" in model.json names ${JSON.stringify(name)}, which is not a folder.`)
  return path
}

/** The paths of the named files; rejects for the first that is missing, with its key such as `transducer.joiner`. */
export const findFiles = async (
  model: ModelDescription,
  { key, part, types: [type] }: SherpaOptions,
): Promise<Readonly<Record<string, string>>> => {
  const paths: Record<string, string> = {}
  for (const name of Object.keys(type?.files ?? {})) {
    paths[name] = await findModelFile(model, `${key}.${name}`, String(part[name]))
  }
  for (const [name, files] of Object.entries(type?.folders ?? {})) {
    paths[name] = await findFolder(model, `${key}.${name}`, String(part[name]), files)
  }
  return paths
}

/** The paths of files that `model.json` lists under a key, as the package takes them. */
export const findAll = async (model: ModelDescription, key: string, names: readonly string[]): Promise<string> => {
  const paths: string[] = []
  for (const name of names) paths.push(await findModelFile(model, key, name))
  return paths.join(',')
}

/** The library reads the file itself, as UTF-8, and takes a byte order mark for a part of the first phrase. */
export const findHotwords = async (model: ModelDescription, name: string): Promise<string> => {
  const path = await findModelFile(model, 'hotwords', name)
  const bytes = await readFile(path)
  if (!isUtf8(bytes) || bytes.subarray(0, 3).equals(Buffer.of(0xef, 0xbb, 0xbf))) {
    throw invalidModel(model, `${name} is not text in UTF-8; save it as UTF-8 without a byte order mark.`)
  }
  return path
}

/** The files of a helper that adds punctuation, and which of the package's it is. */
export const findPunctuation = async (
  model: ModelDescription,
  helper: CommonOptions['punctuation'],
): Promise<SherpaSettings['punctuation']> => {
  if (typeof helper !== 'object') return undefined
  const paths: Record<string, string> = {}
  for (const [name, value] of Object.entries(helper)) {
    paths[name] = await findModelFile(model, `punctuation.${name}`, value)
    if (name !== 'bpeVocab') await readNetwork(model, value, paths[name])
  }
  return { streaming: 'cnnBilstm' in paths, config: { model: { ...paths, numThreads: 1, provider: 'cpu' } } }
}
