import type { SpeechError } from '../../errors/speech-error.js'
import type { ModelName } from '../nodes/core/node.js'
import type { GraphSession } from './graph-session.js'
import { openGraph, type OpenGraph } from './open-graph.js'
import type { ProjectGraph } from './project-graph.js'

/** What a tenant's client names in `ProjectName`: a graph that takes the session's audio and tells its events. */
export interface Project {
  readonly tenant: string
  readonly name: string
  readonly version: string
  /** Rejects with `project-denied` where the project is broken, and as `openGraph` does. */
  readonly open: (session: GraphSession) => Promise<OpenGraph>
}

export type ProjectName = Pick<Project, 'tenant' | 'name' | 'version'>

/** The projects of a service, found by tenant and name, never by path. */
export interface ProjectRegistry {
  /** The newest version, also where it is broken: opening it is refused then, and no older one takes its place. */
  find(tenant: string, name: string): Project | undefined
  /** Whether the tenant has any project at all. */
  hasTenant(tenant: string): boolean
  /** A subscription names the tenant: it has what every tenant has from now on, unless the tenants are a closed list. */
  addTenant(tenant: string): void
  list(): readonly Project[]
  /** One `invalid-project` for every project file that is broken. */
  problems(): readonly SpeechError[]
}

/** A project that was checked; `model` is for sessions that name none, where the project names none either. */
export const graphProject = (place: ProjectName, graph: ProjectGraph, model: ModelName): Project => ({
  ...place,
  open: (session) => openGraph(graph, withModel(session, graph.model ?? model)),
})

const withModel = (session: GraphSession, model: ModelName): GraphSession => ({
  ...session,
  context: {
    ...session.context,
    engine: (asked) => session.context.engine(asked.name === undefined ? { ...model, ...asked } : asked),
  },
})

/** 10 is newer than 9, and 1.10 than 1.9. */
const versionOrder = new Intl.Collator('en', { numeric: true })

/** Of projects that bear the same three names the first wins. `forTenant`: what a tenant has that is added later. */
export const projectRegistry = (
  projects: readonly Project[],
  problems: readonly SpeechError[] = [],
  forTenant?: (tenant: string) => readonly Project[],
): ProjectRegistry => {
  const versions = new Map<string, Project[]>()
  const tenants = new Set<string>()
  const add = (project: Project): void => {
    const key = JSON.stringify([project.tenant, project.name])
    const known = versions.get(key) ?? []
    tenants.add(project.tenant)
    if (known.some(({ version }) => version === project.version)) return
    versions.set(
      key,
      [...known, project].sort((one, other) => versionOrder.compare(one.version, other.version)),
    )
  }
  for (const project of projects) add(project)
  return {
    find: (tenant, name) => versions.get(JSON.stringify([tenant, name]))?.at(-1),
    hasTenant: (tenant) => tenants.has(tenant),
    addTenant: (tenant) => {
      if (!tenants.has(tenant)) for (const project of forTenant?.(tenant) ?? []) add(project)
    },
    list: () => [...versions.values()].flat(),
    problems: () => problems,
  }
}
