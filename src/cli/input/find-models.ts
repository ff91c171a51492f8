import { statSync } from 'node:fs'
import type { EngineKind } from '../../service/engines/engine.js'
import type { FoundModel } from '../../service/engines/models/model-folders.js'
import { findModels } from '../../service/engines/models/model-registry.js'
import { builtInEngines } from '../../service/start/models-and-projects.js'
import { repeatedFlag } from '../parsing/flags.js'
import { text } from '../parsing/values.js'
import { usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import { sampleModels } from '../process/package-files.js'

/** Whether the text names a file or a folder that exists. */
const kindOfPath = (path: string): 'file' | 'folder' | undefined => {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? undefined : found.isDirectory() ? 'folder' : 'file'
}

/** For commands that take a model by its name. */
export const namedModelFlags = {
  models: repeatedFlag(
    '<dir>',
    'models to find the name in, <tenant>/<name>/<version>/model.json; may be repeated (default: those of the package)',
    text,
  ),
}

/** Where models are looked up by their names. */
interface ModelFolders {
  readonly folders: readonly string[]
  readonly kinds: readonly EngineKind[]
}

/** The folders of the flag, or those of the package. */
export const modelFolders = (models: readonly string[], { env }: Pick<Host, 'env'>): ModelFolders => ({
  folders: models.length === 0 ? [sampleModels()] : models,
  kinds: builtInEngines(env),
})

/** The names by which a model can be called, such as `call`, `Default/call`, `call/1` and `Default/call/1`. */
const namesOf = ({ model: { tenant, name, version } }: FoundModel): readonly string[] => [
  name,
  `${name}/${version}`,
  `${tenant}/${name}`,
  `${tenant}/${name}/${version}`,
]

/**
 * The models of a folder, or the newest one with a name. Throws `invalid-options` if there is none, or if a name is that of
 * models of several tenants.
 */
export const modelsAt = (typed: string, { folders, kinds }: ModelFolders): readonly FoundModel[] => {
  if (kindOfPath(typed) === 'folder') {
    const found = findModels({ folders: [typed], kinds })
    if (found.length > 0) return found
  }
  // The versions of each model are sorted from old to new.
  const named = findModels({ folders, kinds }).filter((found) => namesOf(found).includes(typed))
  const tenants = [...new Set(named.map(({ model }) => model.tenant))]
  if (tenants.length > 1) {
    throw usageError(`${JSON.stringify(typed)} is a model of ${tenants.join(' and ')}; write <tenant>/<name>.`)
  }
  const newest = named.at(-1)
  if (newest !== undefined) return [newest]
  throw usageError(`There is no model ${JSON.stringify(typed)}, as a folder or in ${folders.join(', ')}; set --models.`)
}

/** The model with a name, or the only one of a folder. Throws as `modelsAt` does, and what is wrong with its `model.json`. */
export const modelAt = (typed: string, folders: ModelFolders): FoundModel['model'] => {
  const [found, other] = modelsAt(typed, folders)
  if (other !== undefined) throw usageError(`${JSON.stringify(typed)} has more than one model; name one of them.`)
  if (found === undefined || found.problem !== undefined) throw found?.problem ?? usageError('There is no model.')
  return found.model
}
