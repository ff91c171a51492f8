import type { Host } from '../process/host.js'
import type { Access } from './access.js'
import { readCertificates } from './certificate-files.js'
import { startEmbedded, type EmbeddedOptions, type EmbeddedService } from './embedded-service.js'

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
