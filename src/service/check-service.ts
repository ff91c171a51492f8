import type { SpeechError } from '../errors/speech-error.js'
import { builtInEngines } from './built-in-engines.js'
import { chooseDefaultModel } from './default-model.js'
import { createModelRegistry } from './engine/model-registry.js'
import { openProjects } from './service-projects.js'
import type { ServiceOptions } from './service-options.js'

/**
 * What is wrong with the models' manifests and the projects that a service of these options would find: one
 * `invalid-model` or `invalid-project` for each that is broken. Custom nodes are loaded, engines are not. Rejects with
 * `invalid-options` for a folder that can't be read or a default model that is not there, and with `missing-dependency`.
 */
export const checkService = async (options: ServiceOptions): Promise<readonly SpeechError[]> => {
  const { modelFolders: folders, engines = [], defaultModel } = options
  const models = createModelRegistry({ folders, kinds: [...builtInEngines(), ...engines] })
  const projects = await openProjects(options, models, chooseDefaultModel(models, defaultModel))
  return [...models.problems(), ...projects.problems()]
}
