import type { Engine, ModelDescription } from 'rxspeech-engines/engine'
import type { ModelRegistry } from 'rxspeech-engines/models/model-registry'
import { versionsFor } from 'rxspeech-engines/models/releases'
import { isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { everything, isGranted, isGrantedByName } from '../identity/clients/client.js'
import { countRefusals } from './refusals.js'

// Sessions check rights, and do not know how clients are identified.
export { isGranted, isGrantedByName }

/** The tenant of models that every tenant may use, and the default of `model-tenant` (PROTOCOL 4.2). */
export const sharedTenant = 'Default'

/** The grants of a token; `*` means all. */
export interface Rights {
  readonly tenants: readonly string[]
  readonly projects: readonly string[]
  readonly models: readonly string[]
}

/** The tenant of a session that names none: the only one of its token, otherwise the shared one. */
export const tenantOf = ({ tenants: [first = everything, ...others] }: Pick<Rights, 'tenants'>): string =>
  first === everything || others.length > 0 ? sharedTenant : first

/** Whether the rights allow the use of a model. */
export const isModelGranted = (rights: Rights, { tenant, name }: Pick<ModelDescription, 'tenant' | 'name'>): boolean =>
  (tenant === sharedTenant || isGranted(rights.tenants, tenant)) && isGranted(rights.models, name)

export interface ModelRequest {
  /** Empty or absent: the shared tenant. */
  readonly tenant?: string | undefined
  readonly name: string
  /** Empty or absent: the newest. */
  readonly version?: string | undefined
}

/** The version of a model that a session got, and its engine. */
export interface OpenedModel {
  readonly model: ModelDescription
  readonly engine: Engine
}

export interface OpenModelOptions {
  /** Throws for a version that the session cannot have now. @default none */
  readonly check?: ((model: ModelDescription) => void) | undefined
  /** See `versionsFor`. @default '' */
  readonly session?: string | undefined
  /** Called with the model that the rights allow, if it is refused for now. @default nothing */
  readonly onRefused?: ((model: string, error: SpeechError) => void) | undefined
}

/**
 * The model that the rights allow and its engine, unless `check` throws for each version that the session can have; see
 * `versionsFor`. A model that does not exist and one that is not granted get the same refusal, so that a client cannot
 * find out which models others have.
 */
export const openModel = async (
  registry: ModelRegistry,
  rights: Rights,
  request: ModelRequest,
  { check, session = '', onRefused }: OpenModelOptions = {},
): Promise<OpenedModel> => {
  const { name } = request
  const tenant = request.tenant === undefined || request.tenant === '' ? sharedTenant : request.tenant
  const isAllowed = isModelGranted(rights, { tenant, name })
  const models = isAllowed ? versionsFor(registry, { tenant, name, version: request.version }, session) : []
  if (models.length === 0) {
    if (isAllowed && registry.mayMissModels?.() === true) throw mayCome()
    throw new SpeechError('model-denied', 'The model is not known here, or not granted to this subscription.')
  }
  const refusals: unknown[] = []
  for (const model of models) {
    try {
      check?.(model)
      return { model, engine: await openEngine(registry, model) }
    } catch (error) {
      if (isSpeechError(error) && error.code === 'going-away') throw error
      refusals.push(error)
    }
  }
  countRefusals(refusals)
  // A client tries again after `overloaded`, also if the version that it would have had first is broken.
  const refusal = refusals.find(isOverloaded) ?? refusals[0]
  if (isSpeechError(refusal)) onRefused?.(name, refusal)
  throw refusal
}

const isOverloaded = (error: unknown): boolean => isSpeechError(error) && error.code === 'overloaded'

const openEngine = async (registry: ModelRegistry, model: ModelDescription): Promise<Engine> => {
  try {
    return await registry.engine(model)
  } catch (error) {
    // Faults of the model's files are for the operator, who finds them in the list of models.
    if (isOverloaded(error) || (isSpeechError(error) && error.code === 'going-away')) throw error
    throw new SpeechError('engine-failed', 'The model cannot be used now; tell the operator of the service.', {
      cause: error,
    })
  }
}

/** The client tries again after that time, as it does when the engine processes of its model are gone. */
const retryAfterMs = 5_000

const mayCome = (): SpeechError =>
  new SpeechError('overloaded', 'The engine process of this model may not be running yet; try again later.', {
    retryAfterMs,
  })
