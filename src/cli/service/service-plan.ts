import type { Access } from './access.js'
import type { EmbeddedOptions } from './embedded.js'

/** A service of this process. */
export interface EmbeddedPlan extends EmbeddedOptions {
  readonly where: 'here'
}

/** A service that somebody runs. */
export interface RemotePlan extends Omit<Access, 'ca'> {
  readonly where: 'elsewhere'
  readonly caFile?: string
}

export type ServicePlan = EmbeddedPlan | RemotePlan
