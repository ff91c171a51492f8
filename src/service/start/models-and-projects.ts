import { sharedTenant } from '../sessions/rights.js'
import { loadCustomNodes } from '../custom-nodes/load-custom-nodes.js'
import { type ModelRegistry, createModelRegistry } from '../engine/model-registry.js'
import type { AnyNodeDefinition, ModelName } from '../nodes/core/node.js'
import { loadProjects, nodeCatalog } from '../project/load-projects.js'
import { projectRegistry, type ProjectRegistry } from '../project/project.js'
import { transcribeProjects } from '../project/transcribe-projects.js'
import type { ServiceOptions } from './service-options.js'
import { SpeechError } from '../../errors/speech-error.js'
import type { EngineKind } from '../engine/engine.js'
import { pocketsphinx } from '../engine/pocketsphinx/pocketsphinx.js'
import { remote } from '../engine/remote/remote.js'
import { sherpaOnnx } from '../engine/sherpa-onnx/sherpa-onnx.js'
import { soundswallower } from '../engine/soundswallower/soundswallower.js'

/** The engines that models may name without anything further. Each loads its package when a model of it is opened. */
export const builtInEngines = (): readonly EngineKind[] => [soundswallower(), pocketsphinx(), remote(), sherpaOnnx()]

/** Whether a project's name for a model means one that is there. */
export const hasModelIn =
  (models: Pick<ModelRegistry, 'find'>) =>
  ({ tenant = sharedTenant, name = '', version = '' }: ModelName): boolean =>
    models.find({ tenant, name, version }) !== undefined

/** The nodes that come with the service, those that its host gave, and those of files and packages. */
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

/**
 * The projects of the folders, and `transcribe` for every tenant. Rejects with `invalid-options` for a folder that can't
 * be read or a node whose name is taken, and with `missing-dependency`; broken projects are `problems` of the registry.
 */
export const openProjects = async (
  options: Pick<
    ServiceOptions,
    'projectFolders' | 'nodes' | 'customNodes' | 'recordingsFolder' | 'tenants' | 'grantedTenants'
  >,
  models: ModelRegistry,
  defaultModel = '',
): Promise<ProjectRegistry> => {
  const loaded = await loadProjects({
    folders: options.projectFolders ?? [],
    facts: {
      nodes: await allNodes(options),
      hasModel: hasModelIn(models),
      recordings: options.recordingsFolder !== undefined,
    },
    model: { name: defaultModel },
    env: process.env,
  })
  const named = [...models.list(), ...loaded.map(({ place }) => place)].map(({ tenant }) => tenant)
  const isOpen = options.grantedTenants ?? options.tenants === undefined
  const tenants = [...new Set([...(options.tenants ?? [sharedTenant]), ...(isOpen ? named : [])])]
  const own = loaded.map(({ project }) => project)
  // A tenant's own project of that name takes the place of the one that comes with the service.
  const isOwn = (tenant: string, name: string): boolean => own.some((one) => one.tenant === tenant && one.name === name)
  const transcribe = transcribeProjects(tenants, defaultModel).filter(({ tenant, name }) => !isOwn(tenant, name))
  return projectRegistry(
    [...own, ...transcribe],
    loaded.flatMap(({ problem }) => problem ?? []),
    isOpen ? (tenant) => transcribeProjects([tenant], defaultModel) : undefined,
  )
}

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
