import { addModel } from '../../service/engine/add-model.js'
import { builtInEngines } from '../../service/start/models-and-projects.js'
import { findModels } from '../../service/engine/model-registry.js'
import { soundswallower } from '../../service/engine/soundswallower/soundswallower.js'
import { planModel, planModelList, type AddModelFlags, type ListModelsFlags } from '../options/plan-models.js'
import type { Host } from '../process/host.js'
import type { Output } from '../process/output.js'
import { modelJson, modelTable } from '../view/model-table.js'

/** `rxspeech models list`: what is in the folders, and what is wrong with it. Nothing is loaded. */
export const listModels = (flags: ListModelsFlags, { env }: Pick<Host, 'env'>, output: Output): void => {
  const found = findModels({ folders: planModelList(flags), kinds: builtInEngines(env) })
  output.write(flags.json === true ? `${JSON.stringify(found.map(modelJson))}\n` : modelTable(found))
}

/** `rxspeech models add`: a model, once the engine has loaded it. */
export const addToModels = async (name: string, flags: AddModelFlags, output: Output): Promise<void> => {
  const model = await addModel(planModel(name, flags), soundswallower({ workers: 1, decodersPerWorker: 1 }))
  output.write(
    flags.json === true
      ? `${JSON.stringify(modelJson({ model }))}\n`
      : `The model ${model.tenant}/${model.name}/${model.version} is in ${model.folder}.\n`,
  )
}
