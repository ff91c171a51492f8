import type { SchedulerLike } from 'rxjs'
import { isLoopback } from '../protocol/loopback.js'
import type { OperationOptions } from './operation/operation.js'
import type { ServiceOptions } from './service-options.js'

/** What of a service's options is for those who run it. */
export const operationOptions = (options: ServiceOptions, scheduler: SchedulerLike): OperationOptions => {
  const { operations: address, certificate, reflection, development = false, logger, monitor, onFault } = options
  return {
    scheduler,
    reflection: reflection ?? development,
    ...(address === undefined ? {} : { address }),
    // Beyond this machine only with TLS, which is the service's own then.
    ...(address === undefined || certificate === undefined || isLoopback(address.host) ? {} : { certificate }),
    ...(logger === undefined ? {} : { logger }),
    ...(monitor === undefined ? {} : { monitor }),
    ...(onFault === undefined ? {} : { onFault }),
  }
}
