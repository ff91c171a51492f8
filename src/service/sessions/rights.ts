import { everything } from '../identity/clients/client.js'

export { isGranted, isGrantedByName } from '../identity/clients/client.js'

/** The tenant of models that every tenant may use, and the default of `model-tenant` (docs/PROTOCOL.md 4.2). */
export const sharedTenant = 'Default'

/** What a token grants; `*` stands for all. */
export interface Rights {
  readonly tenants: readonly string[]
  readonly projects: readonly string[]
  readonly models: readonly string[]
}

/** The tenant of a session that names none: the one that its token is for, or else the one that all share. */
export const tenantOf = ({ tenants: [first = everything, ...others] }: Pick<Rights, 'tenants'>): string =>
  first === everything || others.length > 0 ? sharedTenant : first
