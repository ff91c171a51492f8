import { readdirSync, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import type { EngineKind } from 'rxspeech-engines/engine'
import { hasModelFile, type FoundModel } from 'rxspeech-engines/models/model-folders'
import { findModels } from 'rxspeech-engines/models/model-registry'
import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { nearestName } from 'rxspeech/internal/protocol/nearest-name'
import { builtInEngines } from '../../start/built-ins.js'
import { flag, settable } from '../parsing/flags.js'
import { jsonFlag, modelsFlag } from '../parsing/service-flags.js'
import { text } from '../parsing/values.js'
import { usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import { packageModels } from '../process/package-files.js'
import { existingUserModels, userModels } from '../process/user-folders.js'
import { shellWord } from '../view/typed-command.js'

/** Whether the text names a file or a folder that exists. */
const kindOfPath = (path: string): 'file' | 'folder' | undefined => {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? undefined : found.isDirectory() ? 'folder' : 'file'
}

/** For commands that take a model by its name. */
export const namedModelFlags = {
  models: {
    ...modelsFlag,
    help: 'models to find the name in, <tenant>/<name>/<version>/model.json; may be repeated (default: those of the user and of the package)',
  },
}

/** The same for commands that report on models. */
export const modelReportFlags = { ...namedModelFlags, json: jsonFlag }

/** For commands that write to one folder of models. */
export const modelsPlaceFlag = settable(
  flag('<dir>', 'the folder of models (default: that of the user, ~/.local/share/rxspeech/models)', text),
  'models',
  { isPath: true },
)

/** The folder of that flag; without a home folder `./models`. */
export const modelsPlace = (models: string | undefined, { env }: Pick<Host, 'env'>): string =>
  models ?? userModels(env) ?? './models'

/** Where models are looked up by their names. */
interface ModelFolders {
  readonly folders: readonly string[]
  readonly kinds: readonly EngineKind[]
}

/** The folders of the flag, or those of the user and of the package. Throws `invalid-options` as `checkModelFolders` does. */
export const modelFolders = (models: readonly string[], { env }: Pick<Host, 'env'>): ModelFolders => {
  checkModelFolders(models)
  const folders = models.length === 0 ? [...existingUserModels(env), ...packageModels()] : models
  return { folders, kinds: builtInEngines(env) }
}

/** The names of the models there, each once. */
export const modelNames = (models: readonly string[], host: Pick<Host, 'env'>): readonly string[] => {
  const { folders } = modelFolders(models, host)
  return [...new Set(findModels({ folders, kinds: [] }).map(({ model }) => model.name))].toSorted()
}

/** Throws `invalid-options` for a folder that has no models where they are expected, unless it has none anywhere. */
export const checkModelFolders = (folders: readonly string[]): void => {
  for (const folder of folders) {
    const found = findModels({ folders: [folder], kinds: [] })
    const isEmpty = found.length === 0 && nearestModel(folder) === undefined
    if (!isEmpty && !hasModels(found)) throw noModelsIn(folder, found)
  }
}

/** Throws `invalid-options` for a folder that does not exist, or has no models where they are expected. */
export const requireModels = (folders: readonly string[]): void => {
  for (const folder of folders) {
    const found = findModels({ folders: [folder], kinds: [] })
    if (!hasModels(found)) throw noModelsIn(folder, found)
  }
}

/** The names by which a model can be called, such as `call`, `Default/call`, `call/1` and `Default/call/1`. */
const namesOf = ({ model: { tenant, name, version } }: FoundModel): readonly string[] => [
  name,
  `${name}/${version}`,
  `${tenant}/${name}`,
  `${tenant}/${name}/${version}`,
]

const hasModels = (found: readonly FoundModel[]): boolean => found.some(({ model }) => hasModelFile(model.folder))

/** How deep and in how many folders models are looked for that are not where they belong. */
const [maxDepth, maxFolders] = [5, 1000]

/** The nearest folder with a `model.json`. */
const nearestModel = (folder: string): string | undefined => {
  let level: readonly string[] = [folder]
  for (let depth = 1; depth <= maxDepth; depth++) {
    level = level.flatMap(foldersIn).slice(0, maxFolders)
    const found = level.find(hasModelFile)
    if (found !== undefined) return found
  }
  return undefined
}

/** Without hidden ones and packages; none of a folder that cannot be read. */
const foldersIn = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules')
      .map(({ name }) => join(folder, name))
      .toSorted()
  } catch {
    return []
  }
}

const layout = '<tenant>/<name>/<version>/model.json'

/**
 * The error for a folder in which no model is where it is expected: says where the nearest one is.
 *
 * @param found what would be models if they had a `model.json`
 */
const noModelsIn = (folder: string, found: readonly FoundModel[]): SpeechError => {
  const nearest = nearestModel(folder)
  const path = nearest === undefined ? [] : relative(folder, nearest).split(sep)
  const remedy =
    path.length > 3
      ? `pass ${join(folder, ...path.slice(0, -3))}, in which there is ${path.slice(-3).join('/')}`
      : nearest !== undefined
        ? `pass ${nearest}, which is one`
        : found.length === 0
          ? `pass a folder that has one, or make one with: rxspeech models add NAME --phrases FILE --models ${shellWord(folder)}`
          : `put a model.json into ${join(folder, relative(folder, found[0]?.model.folder ?? ''))}`
  return usageError(`There is no model in ${folder}, as ${layout}; ${remedy}.`)
}

/**
 * The models of a folder, or the newest one with a name. Throws `invalid-options` if there is none, or if a name is
 * that of models of several tenants.
 */
export const modelsAt = (typed: string, { folders, kinds }: ModelFolders): readonly FoundModel[] => {
  const isFolder = kindOfPath(typed) === 'folder'
  const inFolder = isFolder ? findModels({ folders: [typed], kinds }) : []
  if (hasModels(inFolder)) return inFolder
  // The versions of each model are sorted from old to new.
  const known = findModels({ folders, kinds })
  const named = known.filter((found) => namesOf(found).includes(typed))
  const tenants = [...new Set(named.map(({ model }) => model.tenant))]
  if (tenants.length > 1) {
    throw usageError(`${JSON.stringify(typed)} is a model of ${tenants.join(' and ')}; write <tenant>/<name>.`)
  }
  const newest = named.at(-1)
  if (newest !== undefined) return [newest]
  if (isFolder) throw noModelsIn(typed, inFolder)
  const near = nearestName(typed, known.flatMap(namesOf))
  const remedy = near === undefined ? 'set --models.' : `did you mean ${near}?`
  throw usageError(`There is no model ${JSON.stringify(typed)}, as a folder or in ${folders.join(', ')}; ${remedy}`)
}

/** The model with a name, or the only one of a folder. Throws as `modelsAt`, and for faults of its `model.json`. */
export const modelAt = (typed: string, folders: ModelFolders): FoundModel['model'] => {
  const [found, other] = modelsAt(typed, folders)
  if (other !== undefined) throw usageError(`${JSON.stringify(typed)} has more than one model; name one of them.`)
  if (found === undefined || found.problem !== undefined) throw found?.problem ?? usageError('There is no model.')
  return found.model
}
