import { resolve, sep } from 'node:path'
import type { ModelDescription } from '../../service/engine/engine.js'
import type { ModelRegistry } from '../../service/engine/model-registry.js'
import { usageError } from '../process/failure.js'
import type { ModelChoice } from './access.js'

export interface ModelSelection {
  /** Its name; without one, the only model that there is. */
  readonly model?: string
  /** The tenant whose model it must be. */
  readonly modelTenant?: string
}

/**
 * The model of a session with the embedded service: the one that is wished, else the only one of the folders that were
 * given, else that of the package. Throws `invalid-options` that names the models there are.
 */
export const chooseModel = (
  registry: Pick<ModelRegistry, 'list' | 'problems'>,
  givenFolders: readonly string[],
  { model, modelTenant }: ModelSelection,
): ModelChoice => {
  const known = registry.list()
  const given = known.filter(({ folder }) => givenFolders.some((root) => isWithin(resolve(root), folder)))
  const candidates = givenFolders.length > 0 && model === undefined ? given : known
  const fitting = candidates.filter(
    ({ tenant, name }) =>
      (model === undefined || name === model) && (modelTenant === undefined || tenant === modelTenant),
  )
  const found = [...new Map(fitting.map((one) => [`${one.tenant}/${one.name}`, one])).values()]
  const [only] = found
  if (only !== undefined && (found.length === 1 || model !== undefined)) return { name: only.name, tenant: only.tenant }
  const [problem] = registry.problems()
  if (problem !== undefined && found.length === 0) throw usageError(problem.message)
  throw usageError(refusal(model, modelTenant, found.length > 0 ? found : candidates))
}

const isWithin = (root: string, folder: string): boolean => folder === root || folder.startsWith(root + sep)

const refusal = (
  model: string | undefined,
  tenant: string | undefined,
  candidates: readonly ModelDescription[],
): string => {
  const names = [...new Set(candidates.map(({ name }) => name))].join(', ')
  if (candidates.length === 0) return '--models holds no model; lay it out as <tenant>/<name>/<version>/model.json.'
  if (model === undefined && tenant === undefined) return `--models holds ${names}; choose one with --model.`
  const wished = model === undefined ? 'model' : `model ${JSON.stringify(model)}`
  return `There is no ${wished}${tenant === undefined ? '' : ` of the tenant ${tenant}`}; there is ${names}.`
}
