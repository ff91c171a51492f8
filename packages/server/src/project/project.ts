import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { completeModel, type ModelName } from '../nodes/core/node.js'
import type { ProjectGraph } from './format/project-graph.js'
import type { GraphSession } from './runtime/graph-session.js'
import { openGraph, type OpenGraph } from './runtime/open-graph.js'

/** A project of a tenant, which a client names in `ProjectName`. */
export interface Project {
  /** The name of the first folder. */
  readonly tenant: string
  /** The name of the second folder. */
  readonly name: string
  /** The name of the file, without `.yaml`. */
  readonly version: string
  /**
   * Opens the graph for one session. Rejects with `project-denied` for a project with faults, and as `openGraph` does.
   *
   * @internal
   */
  readonly open: (session: GraphSession) => Promise<OpenGraph>
}

/** What identifies a project. */
export type ProjectName = Pick<Project, 'tenant' | 'name' | 'version'>

/** The projects of a service, by tenant and name and never by path. */
export interface ProjectRegistry {
  /** The newest version, even if it has faults: no older version takes its place. */
  find(tenant: string, name: string): Project | undefined
  /** Whether the tenant has any project at all. */
  hasTenant(tenant: string): boolean
  /** Gives a tenant the projects that every tenant has, unless the list of tenants is closed. */
  addTenant(tenant: string): void
  /** All projects with all of their versions. */
  list(): readonly Project[]
  /** One `invalid-project` for every project file with faults. */
  problems(): readonly SpeechError[]
}

/** The project of a checked graph. `model` is the model when neither the session nor the project names one. */
export const graphProject = (name: ProjectName, graph: ProjectGraph, model: ModelName): Project => ({
  ...name,
  open: (session) => openGraph(graph, withModel(session, graph.model ?? model)),
})

const withModel = (session: GraphSession, model: ModelName): GraphSession => ({
  ...session,
  context: {
    ...session.context,
    engine: (asked) => session.context.engine(completeModel(asked, model)),
  },
})

/** Version 10 is newer than 9, and 1.10 newer than 1.9. */
const versionOrder = new Intl.Collator('en', { numeric: true })

/**
 * Of projects with the same tenant, name and version the first is used. `forTenant` returns the projects of an added
 * tenant.
 */
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
      [...known, project].sort((a, b) => versionOrder.compare(a.version, b.version)),
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
