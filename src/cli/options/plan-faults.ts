import { namedFaults, type NamedFault } from '../../testing/faults/named-faults.js'
import type { Transport } from '../faults/fault-target.js'
import { usageError } from '../process/failure.js'
import type { EmbeddedPlan, RemotePlan } from '../service/service-plan.js'
import { choiceFlag, wholeNumberFlag } from './flag-values.js'
import { servicePlan, type TranscribeFlags } from './plan-transcribe.js'

export interface FaultsFlags extends Pick<
  TranscribeFlags,
  | 'over'
  | 'url'
  | 'grpc'
  | 'plaintext'
  | 'ca'
  | 'tenant'
  | 'project'
  | 'model'
  | 'timeoutMs'
  | 'authUrl'
  | 'clientId'
  | 'clientSecret'
  | 'token'
> {
  readonly only?: readonly string[]
  readonly dev?: boolean
  readonly json?: boolean
}

/** What `faults` is to do, checked. */
export interface FaultsPlan {
  readonly names: readonly NamedFault[]
  readonly transports: readonly Transport[]
  /** A scripted service of this process, the development service, or one elsewhere. */
  readonly service: { readonly where: 'scripted' } | EmbeddedPlan | RemotePlan
  readonly json: boolean
  readonly timeoutMs?: number
}

const transports: readonly Transport[] = ['websocket', 'grpc']

/** Reads the flags. Throws `invalid-options` with a sentence that says what to give, before anything is opened. */
export const planFaults = (flags: FaultsFlags, env: Readonly<Record<string, string | undefined>>): FaultsPlan => {
  const timeoutMs = wholeNumberFlag('--timeout-ms', flags.timeoutMs, { least: 1, most: 86_400_000 })
  const over = choiceFlag('--over', flags.over, transports)
  const service = serviceOf(flags, env)
  return {
    names: namesOf(flags.only ?? []),
    transports: transportsOf(over, service),
    service,
    json: flags.json === true,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  }
}

const namesOf = (only: readonly string[]): readonly NamedFault[] => {
  const wanted = only.flatMap((names) => names.split(','))
  for (const name of wanted) choiceFlag('--only', name.trim(), namedFaults)
  return wanted.length === 0 ? namedFaults : namedFaults.filter((name) => wanted.some((one) => one.trim() === name))
}

const serviceOf = (flags: FaultsFlags, env: Readonly<Record<string, string | undefined>>): FaultsPlan['service'] => {
  const isElsewhere = flags.url !== undefined || flags.grpc !== undefined
  if (isElsewhere && flags.dev === true)
    throw usageError('--dev starts a service of its own; leave --url and --grpc out.')
  // Also refuses what is for a service elsewhere only.
  const plan = servicePlan(flags, env)
  if (isElsewhere || flags.dev === true) return plan
  return { where: 'scripted' }
}

const transportsOf = (over: Transport | undefined, service: FaultsPlan['service']): readonly Transport[] => {
  const wanted = over === undefined ? transports : [over]
  if (service.where !== 'elsewhere') return wanted
  if (service.url !== undefined && service.model === undefined) {
    throw usageError('A session over WebSocket names its model; give --model NAME.')
  }
  const reached = wanted.filter((one) => (one === 'grpc' ? service.grpc : service.url) !== undefined)
  if (reached.length > 0) return reached
  throw usageError(
    `A session over ${over ?? 'either'} needs an address; give ${over === 'grpc' ? '--grpc HOST:PORT' : '--url wss://HOST'}.`,
  )
}
