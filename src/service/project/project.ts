import type { OpenNode } from '../nodes/node.js'

/** What a tenant's client names in `ProjectName`: a node that takes the session's audio and tells its events. */
export interface Project {
  readonly tenant: string
  readonly name: string
  /** The model of a session that names none. */
  readonly defaultModel: string
  readonly open: OpenNode
}

/** The projects of a service, found by tenant and name, never by path. */
export interface ProjectRegistry {
  find(tenant: string, name: string): Project | undefined
  /** Whether the tenant has any project at all. */
  hasTenant(tenant: string): boolean
}

export const projectRegistry = (projects: readonly Project[]): ProjectRegistry => ({
  find: (tenant, name) => projects.find((project) => project.tenant === tenant && project.name === name),
  hasTenant: (tenant) => projects.some((project) => project.tenant === tenant),
})
