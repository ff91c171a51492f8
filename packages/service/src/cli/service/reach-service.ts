import { rmSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve, sep } from 'node:path'
import type { Host } from '../process/host.js'
import type { Access } from './access.js'
import { readCertificates } from './certificate-files.js'
import type { ModelDescription } from 'rxspeech-engines/engine'
import type { ModelRegistry } from 'rxspeech-engines/models/model-registry'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import { suggestionEnd } from 'rxspeech/internal/protocol/nearest-name'
import { usageError } from '../process/failure.js'
import { embeddedModel, missingEmbeddedModel, packageModels } from '../process/package-files.js'
import { existingUserModels } from '../process/user-folders.js'

/** A service of this process. */
export interface EmbeddedPlan extends EmbeddedOptions {
  readonly where: 'here'
}

/** A service that is running elsewhere. */
export interface RemotePlan extends Omit<Access, 'ca'> {
  readonly where: 'elsewhere'
  readonly caFile?: string | undefined
}

export type ServicePlan = EmbeddedPlan | RemotePlan

/** The access to the service of the plan; starts it if it belongs to this process. */
export const reachService = async (plan: ServicePlan, host: Pick<Host, 'onExit' | 'env'>): Promise<EmbeddedService> => {
  if (plan.where === 'here') return startEmbedded(plan, host)
  const { where: _where, caFile, ...access } = plan
  const ca = caFile === undefined ? undefined : readCertificates('--ca', caFile)
  return { access: { ...access, ca }, close: () => Promise.resolve() }
}

/** The model of the session. */
interface ModelSelection {
  /** Its name; by default the only one of the folders, or the embedded model. */
  readonly model?: string | undefined
  /** The tenant whose model it must be. */
  readonly modelTenant?: string | undefined
}

interface EmbeddedOptions extends ModelSelection {
  /** Folders of models, before that of the package; without any, the default folder of the user is searched, too. */
  readonly modelFolders: readonly string[]
  readonly tenant: string
  readonly project: string
}

interface EmbeddedService {
  readonly access: Access
  /** The model of the session, if the service is in this process. */
  readonly model?: ModelDescription | undefined
  /** Ends the sessions and the service, and removes its files. Idempotent. */
  readonly close: () => Promise<void>
}

/** A thread for each CPU: no other client waits, and beside the recognition a session takes a tenth of a CPU. */
const embeddedThreads = (cpus: number): number => Math.min(Math.max(Math.floor(cpus), 1), 8)

/**
 * Starts the whole service in this process, with its own TLS and its state in a temporary folder. Loads the code of the
 * service when it is called. Rejects with `invalid-options` if there is no such model.
 */
const startEmbedded = async (
  { modelFolders, tenant, project, ...selection }: EmbeddedOptions,
  host: Pick<Host, 'onExit' | 'env'>,
): Promise<EmbeddedService> => {
  const { startDevelopmentService } = await import('../../start/development-service.js')
  const { soundswallower } = await import('rxspeech-engines/soundswallower/soundswallower')
  const { usableCpus } = await import('rxspeech-engines/threads/usable-cpus')
  const stateFolder = await mkdtemp(join(tmpdir(), 'rxspeech-')).catch((error: unknown) => {
    throw usageError(`The folder for temporary files ${tmpdir()} cannot be written to; set TMPDIR to another.`, error)
  })
  const offExit = host.onExit(() => rmSync(stateFolder, { recursive: true, force: true }))
  const opened: (() => Promise<unknown>)[] = [() => rm(stateFolder, { recursive: true, force: true })]
  let closing: Promise<void> | undefined
  const close = (): Promise<void> =>
    (closing ??= (async () => {
      for (const closeOne of opened.reverse()) await closeOne()
      offExit()
    })())
  try {
    const service = await startDevelopmentService({
      stateFolder,
      env: host.env,
      engines: [soundswallower({ workers: embeddedThreads(usableCpus()) })],
      modelFolders: [...(modelFolders.length > 0 ? modelFolders : existingUserModels(host.env)), ...packageModels()],
      tenants: [tenant],
    })
    opened.push(() => service.close({ drainMs: 0 }))
    const { authUrl, wsUrl, grpc, ca, clientId, clientSecret } = service.access
    const model = chooseModel(service.models, modelFolders, selection)
    await loadFirst(service.models, model)
    return {
      model,
      access: {
        url: wsUrl,
        grpc,
        isPlaintext: false,
        // The service is in this process.
        proxy: false,
        ca: await readFile(ca, 'utf8'),
        credentials: { type: 'client', authUrl, clientId, clientSecret },
        tenant,
        project,
        model: { name: model.name, tenant: model.tenant },
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Loads the model before any audio is sent, so that a fault in its files is reported unchanged. */
const loadFirst = async (models: ModelRegistry, model: ModelDescription): Promise<void> => {
  await models.engine(model).catch((error: unknown) => {
    throw isSpeechError(error) && error.code === 'invalid-model' ? usageError(error.message, error) : error
  })
}

/**
 * The model of a session with the embedded service: the selected one, otherwise the only one of the given folders,
 * otherwise the embedded model. Throws `invalid-options`, which names the available models, and `missing-dependency`.
 */
export const chooseModel = (
  registry: Pick<ModelRegistry, 'find' | 'list' | 'problems'>,
  givenFolders: readonly string[],
  { model: typed, modelTenant }: ModelSelection,
): ModelDescription => {
  const model = typed ?? (givenFolders.length === 0 ? embeddedModel.name : undefined)
  const missing = model === embeddedModel.name && typed === undefined ? missingEmbeddedModel() : undefined
  if (missing !== undefined) throw missing
  const known = registry.list()
  const given = known.filter(({ folder }) => givenFolders.some((root) => isWithin(resolve(root), folder)))
  const candidates = givenFolders.length > 0 && model === undefined ? given : known
  const fitting = candidates.filter(
    ({ tenant, name }) =>
      (model === undefined || name === model) && (modelTenant === undefined || tenant === modelTenant),
  )
  const found = [...new Map(fitting.map((known) => [`${known.tenant}/${known.name}`, known])).values()]
  const [only] = found
  // Without a version: the newest.
  const newest = only && registry.find({ tenant: only.tenant, name: only.name })
  if (newest !== undefined && (found.length === 1 || model !== undefined)) return newest
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
  const names = [...new Set(candidates.map(({ name }) => name))]
  if (candidates.length === 0) return '--models contains no model; the layout is <tenant>/<name>/<version>/model.json.'
  if (model === undefined && tenant === undefined)
    return `--models contains ${names.join(', ')}; choose one with --model.`
  const selected = model === undefined ? 'model' : `model ${JSON.stringify(model)}`
  const missing = `There is no ${selected}${tenant === undefined ? '' : ` of the tenant ${tenant}`}`
  return `${missing}; ${suggestionEnd(model ?? '', names)}`
}
