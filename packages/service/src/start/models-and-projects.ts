import { fingerprintOf } from 'rxspeech-engines/models/fingerprint'
import { createModelRegistry, type ModelRegistry } from 'rxspeech-engines/models/model-registry'
import { inSpareProcesses } from 'rxspeech-engines/sherpa-onnx/sherpa-onnx'
import { loadCustomNodes } from 'rxspeech-server/custom-nodes/load-custom-nodes'
import type { AnyNodeDefinition, ModelName } from 'rxspeech-server/nodes/core/node'
import { loadProjects } from 'rxspeech-server/project/load-projects'
import { projectRegistry, type ProjectRegistry } from 'rxspeech-server/project/project'
import { transcribeProjects } from 'rxspeech-server/project/transcribe-projects'
import { sharedTenant } from 'rxspeech-server/sessions/rights'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { suggestionEnd } from 'rxspeech/internal/protocol/nearest-name'
import { builtInEngines, nodeCatalog } from './built-ins.js'
import type { ServiceOptions } from '../configuration/service-options.js'

/**
 * The models of the options' folders, with the built-in engines and those of the options.
 *
 * @param cpus how many CPUs the built-in engines may use; default: all
 */
export const openModels = (
  { modelFolders: folders, engines = [], env, idleMinutes, scheduler, onFault }: ServiceOptions,
  cpus?: number,
): ModelRegistry => {
  const kinds = [...builtInEngines(env, cpus), ...engines]
  const models = createModelRegistry({ folders, kinds, idleMinutes, scheduler, onFault })
  const spareKinds = [...builtInEngines(env, cpus, inSpareProcesses), ...engines]
  const spare = { folders, kinds: spareKinds, retry: false, idleMinutes: spareIdleMinutes, scheduler }
  return withSpareEngines(models, () => createModelRegistry(spare))
}

/** How long the model of a challenger stays in memory after its last segment. */
const spareIdleMinutes = 10

/** The same models, which are loaded a second time as challengers, with engines of their own. */
const withSpareEngines = (models: ModelRegistry, open: () => ModelRegistry): ModelRegistry => {
  let spare: ModelRegistry | undefined
  let isClosed = false
  const closeSpare = async (): Promise<void> => {
    const closing = spare
    spare = undefined
    await closing?.close()
  }
  const prepareReload = models.prepareReload?.bind(models)
  return {
    ...models,
    spareEngine: (model) => (isClosed ? undefined : (spare ??= open()).engine(model)),
    ...(prepareReload && {
      prepareReload: async (given) => {
        const prepared = await prepareReload(given)
        const { added, changed, removed } = prepared.changes
        return {
          ...prepared,
          commit: () => {
            prepared.commit()
            if (added.length + changed.length + removed.length > 0) void closeSpare()
          },
        }
      },
    }),
    close: async () => {
      isClosed = true
      await Promise.all([closeSpare(), models.close()])
    },
  }
}

/** Whether a model that a project names exists. */
export const hasModelIn =
  (models: Pick<ModelRegistry, 'find'>) =>
  ({ tenant = sharedTenant, name = '', version = '' }: ModelName): boolean =>
    models.find({ tenant, name, version }) !== undefined

/** The built-in nodes, those of the options, and the custom nodes of files and packages. */
export const allNodes = async ({
  nodes = [],
  customNodes = [],
}: Pick<ServiceOptions, 'nodes' | 'customNodes'>): Promise<readonly AnyNodeDefinition[]> => {
  const catalog = nodeCatalog(nodes)
  return nodeCatalog([
    ...nodes,
    ...(await loadCustomNodes(
      customNodes,
      catalog.map(({ name }) => name),
    )),
  ])
}

type ProjectOptions = Pick<
  ServiceOptions,
  'projectFolders' | 'nodes' | 'customNodes' | 'recordingsFolder' | 'tenants' | 'grantedTenants' | 'env' | 'natsEngines'
>

type FoundModels = Pick<ModelRegistry, 'find' | 'list'>

/** The projects of a service, which can be read again. Custom nodes stay as they were at the start. */
export interface ServiceProjects extends ProjectRegistry {
  /** The model of sessions that name none. A service that began without a model gets one with its first models. */
  readonly defaultModel: string | undefined
  /** Reads the folders again, with the models of then. Rejects as `openProjects` does. */
  readonly prepareReload: (models: FoundModels) => Promise<PreparedProjects>
}

/** Projects that were read again, and are used from `commit` on. */
export interface PreparedProjects {
  /** What is wrong with projects now and was not before. */
  readonly problems: readonly SpeechError[]
  readonly count: number
  /** Differs if any file differs. */
  readonly fingerprint: string
  readonly commit: () => void
}

/**
 * Loads the projects of the folders, and adds `transcribe` for every tenant. Rejects with `invalid-options` for a
 * folder that cannot be read or a node with a duplicate name, and with `missing-dependency`. Broken projects are
 * `problems` of the registry.
 */
export const openProjects = async (
  options: ProjectOptions,
  models: FoundModels,
  chosen: string | undefined,
): Promise<ServiceProjects> => {
  const nodes = await allNodes(options)
  const read = (of: FoundModels, model = ''): Promise<ProjectRegistry> => readProjects(options, nodes, of, model)
  let defaultModel = chosen
  let current = await read(models, defaultModel)
  const added = new Set<string>()
  return {
    get defaultModel() {
      return defaultModel
    },
    find: (tenant, name) => current.find(tenant, name),
    hasTenant: (tenant) => current.hasTenant(tenant),
    addTenant: (tenant) => {
      added.add(tenant)
      current.addTenant(tenant)
    },
    list: () => current.list(),
    problems: () => current.problems(),
    prepareReload: async (of) => {
      const fingerprint = fingerprintOf(options.projectFolders ?? [])
      const model = defaultModel ?? firstSharedModel(of)
      const next = await read(of, model)
      const known = new Set(current.problems().map(({ message }) => message))
      return {
        problems: next.problems().filter(({ message }) => !known.has(message)),
        count: next.list().length,
        fingerprint,
        commit: () => {
          for (const tenant of added) next.addTenant(tenant)
          current = next
          defaultModel = model
        },
      }
    },
  }
}

const readProjects = async (
  options: ProjectOptions,
  nodes: readonly AnyNodeDefinition[],
  models: FoundModels,
  defaultModel: string,
): Promise<ProjectRegistry> => {
  const loaded = await loadProjects({
    folders: options.projectFolders ?? [],
    facts: {
      nodes,
      // Models of engine processes come and go; a session that names one that is absent is refused.
      hasModel: options.natsEngines === undefined ? hasModelIn(models) : () => true,
      recordings: options.recordingsFolder !== undefined,
    },
    model: { name: defaultModel },
    env: options.env ?? process.env,
  })
  const named = [...models.list(), ...loaded.map(({ place }) => place)].map(({ tenant }) => tenant)
  const isOpen = options.grantedTenants ?? options.tenants === undefined
  const tenants = [...new Set([...(options.tenants ?? [sharedTenant]), ...(isOpen ? named : [])])]
  const own = loaded.map(({ project }) => project)
  // A tenant's own project with the name `transcribe` replaces the built-in one.
  const isOwn = (tenant: string, name: string): boolean =>
    own.some((project) => project.tenant === tenant && project.name === name)
  const transcribe = transcribeProjects(tenants, defaultModel).filter(({ tenant, name }) => !isOwn(tenant, name))
  return projectRegistry(
    [...own, ...transcribe],
    loaded.flatMap(({ problem }) => problem ?? []),
    isOpen ? (tenant) => transcribeProjects([tenant], defaultModel) : undefined,
  )
}

/**
 * The model of sessions that name none: the one that the operator named, otherwise the first that all tenants share, if
 * there is one. Throws `invalid-options` if the named model does not exist; one of an engine process may appear later.
 */
export const chooseDefaultModel = (
  models: FoundModels,
  { defaultModel: named, natsEngines }: Pick<ServiceOptions, 'defaultModel' | 'natsEngines'>,
): string | undefined => {
  if (natsEngines === undefined) checkDefaultModel(models, named)
  return named ?? firstSharedModel(models)
}

/** By name. One of this process comes first: those of engine processes, which have no folder here, come and go. */
const firstSharedModel = (models: FoundModels): string | undefined => {
  const shared = models.list().filter(({ tenant }) => tenant === sharedTenant)
  return (shared.find(({ folder }) => folder !== '') ?? shared[0])?.name
}

export const checkDefaultModel = (models: FoundModels, name: string | undefined): void => {
  if (name === undefined || models.find({ tenant: sharedTenant, name, version: '' }) !== undefined) return
  const known = [...new Set(models.list().map((model) => model.name))]
  throw new SpeechError(
    'invalid-options',
    `There is no model ${JSON.stringify(name)} of the tenant ${sharedTenant}; ${suggestionEnd(name, known)}`,
  )
}
