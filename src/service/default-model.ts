import { SpeechError } from '../errors/speech-error.js'
import { sharedTenant } from './sessions/rights.js'
import type { ModelRegistry } from './engine/model-registry.js'

/**
 * The model of sessions that name none: the one that the operator named, which must be there, or else the first that all
 * tenants share, where there is one. Throws `invalid-options`.
 */
export const chooseDefaultModel = (models: ModelRegistry, named: string | undefined): string | undefined => {
  checkDefaultModel(models, named)
  return named ?? models.list().find(({ tenant }) => tenant === sharedTenant)?.name
}

const checkDefaultModel = (models: ModelRegistry, name: string | undefined): void => {
  if (name === undefined || models.find({ tenant: sharedTenant, name, version: '' }) !== undefined) return
  const known = models.list().map((model) => model.name)
  const list = known.length === 0 ? 'there are none' : `there are ${[...new Set(known)].join(', ')}`
  throw new SpeechError(
    'invalid-options',
    `There is no model ${JSON.stringify(name)} of the tenant ${sharedTenant}; ${list}.`,
  )
}
