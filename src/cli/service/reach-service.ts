import type { ServicePlan } from './service-plan.js'
import type { Host } from '../process/host.js'
import type { Access } from './access.js'
import { startEmbedded } from './embedded.js'
import { readCertificates } from './read-certificates.js'

export interface Reached {
  readonly access: Access
  readonly close: () => Promise<void>
}

/** What reaching the service takes; one of this process is started. */
export const reachService = async (plan: ServicePlan, host: Pick<Host, 'onExit' | 'env'>): Promise<Reached> => {
  if (plan.where === 'here') return startEmbedded(plan, host)
  const { where: _where, caFile, ...access } = plan
  return {
    access: caFile === undefined ? access : { ...access, ca: readCertificates('--ca', caFile) },
    close: () => Promise.resolve(),
  }
}
