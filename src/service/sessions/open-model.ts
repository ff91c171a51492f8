import { isSpeechError, SpeechError } from '../../errors/speech-error.js'
import type { Engine } from '../engine/engine.js'
import type { ModelRegistry } from '../engine/model-registry.js'
import { isGranted, sharedTenant, type Rights } from './rights.js'

export interface ModelRequest {
  readonly tenant?: string
  readonly name: string
  /** Empty or left out: the newest. */
  readonly version?: string
}

/**
 * The engine of a model that the rights allow. A model that is not there and one that is not granted are refused
 * alike, so that nobody learns which models others have.
 */
export const openModel = async (registry: ModelRegistry, rights: Rights, request: ModelRequest): Promise<Engine> => {
  const { name } = request
  const tenant = request.tenant === undefined || request.tenant === '' ? sharedTenant : request.tenant
  const allowed = (tenant === sharedTenant || isGranted(rights.tenants, tenant)) && isGranted(rights.models, name)
  const model = allowed ? registry.find({ tenant, name, version: request.version ?? '' }) : undefined
  if (model === undefined) {
    throw new SpeechError('model-denied', 'The model is not known here, or not granted to this subscription.')
  }
  try {
    return await registry.engine(model)
  } catch (error) {
    // What is wrong with the model's files is for the operator, who is told when the models are listed.
    if (isSpeechError(error) && (error.code === 'going-away' || error.code === 'overloaded')) throw error
    throw new SpeechError('engine-failed', 'The model cannot be used now; tell the operator of the service.', {
      cause: error,
    })
  }
}
