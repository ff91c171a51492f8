import { SpeechError } from '../../errors/speech-error.js'
import { checkOptions, numberUpToInfinity, optionsOf } from '../../protocol/validation.js'
import { isPulled } from '../audio/audio-feed.js'
import {
  openSession,
  type PlannedRecognition,
  type RecognizeChannel,
  type Recognition,
  type SessionPlan,
} from '../session.js'
import type { Resumption, SessionSettings } from '../settings.js'
import { SessionToken } from '../token.js'
import { probe } from './probe.js'
import { runFailover, type FailoverPlan } from './run-failover.js'
import { ServiceHealth } from './service-health.js'

/** The options of `failover`. */
export interface FailoverOptions {
  /**
   * A service whose results lag behind its audio by more than this is slow, in milliseconds: the session moves to another
   * service, unless that is known to be slow, too. A source that is pulled waits instead, and moves no session for that.
   * `Infinity`: services are not left for being slow.
   * @default 5_000
   */
  readonly slowMs?: number | undefined
}

/** `failover` in a browser, which traces no sessions. */
export const failover = (services: readonly Recognition[], options: FailoverOptions = {}): Recognition => {
  checkOptions(failoverOptions, options)
  const { slowMs = 5_000 } = options
  const list = checkServices(services)
  // If one service needs a session for each channel, all of them have one.
  const stereoOf = list.find((service) => service.stereoOf !== undefined)?.stereoOf
  if (new Set(list.map(channelsOf)).size > 1) throw differs('format.channels')
  const plans = list.map((service) => service.planOf(stereoOf && 0))
  const { resumption, scheduler } = checkPlans(plans)
  const health = new ServiceHealth({
    // A token is kept from one probe to the next, until it expires.
    probes: plans.map((plan) => probe(plan, new SessionToken(plan.settings))),
    delayMs: resumption.delayMs,
    scheduler,
  })
  const open: RecognizeChannel = (source, channel, abort$) => {
    const planned = list.map(({ planOf }) => planOf(channel, abort$))
    // The results of a source that is pulled lag behind by how far it is sent ahead.
    const shared = { resumption, scheduler, health, slowMs: isPulled(source) ? Infinity : slowMs }
    return openSession(planOfAll(planned, shared), source)
  }
  return stereoOf === undefined ? (source) => open(source) : stereoOf(open)
}

const failoverOptions = optionsOf<FailoverOptions>()({}, { slowMs: numberUpToInfinity(1) })

type Service = PlannedRecognition<unknown, unknown>
type Plan = SessionPlan<unknown, unknown>

const isService = (service: unknown): service is Service => typeof service === 'function' && 'planOf' in service

const checkServices = (services: unknown): readonly Service[] => {
  if (Array.isArray(services) && services.length > 0 && services.every(isService)) return services
  throw new SpeechError('invalid-options', 'services must be a list of sessions of recognize and dataflow.')
}

const channelsOf = ({ planOf, stereoOf }: Service): number =>
  stereoOf === undefined ? planOf().settings.bounds.format.channels : 2

const differs = (option: string): SpeechError =>
  new SpeechError('invalid-options', `${option} must be the same for all services.`)

/** The options that must be the same for all services, because they are about the session as a whole. */
const common: Readonly<Record<string, (settings: SessionSettings) => unknown>> = {
  'format.encoding': ({ bounds }) => bounds.format.encoding,
  'format.sampleRateHz': ({ bounds }) => bounds.format.sampleRateHz,
  finalize$: ({ finalize$ }) => finalize$,
  stop$: ({ stop$ }) => stop$,
  continuous: ({ continuous }) => continuous,
}

const checkPlans = (plans: readonly Plan[]): SessionSettings & { readonly resumption: Resumption } => {
  const [first, ...others] = plans.map(({ settings }) => settings)
  const resumption = first?.resumption
  if (first === undefined || resumption === undefined || others.some((other) => other.resumption === undefined)) {
    throw new SpeechError('invalid-options', 'resumption must not be false for a session with several services.')
  }
  for (const [name, valueOf] of Object.entries(common)) {
    if (others.some((other) => valueOf(other) !== valueOf(first))) {
      throw differs(name)
    }
  }
  return { ...first, resumption }
}

/** The plan of the first service, with what all of them need. */
const planOfAll = (
  services: readonly Plan[],
  shared: Pick<FailoverPlan<unknown, unknown>, 'resumption' | 'scheduler' | 'health' | 'slowMs'>,
): Plan => {
  const [first] = services
  if (first === undefined) throw new RangeError('A list has a service.')
  const { bounds } = first.settings
  const all = services.map(({ settings }) => settings.bounds)
  return {
    ...first,
    settings: {
      ...first.settings,
      bounds: {
        ...bounds,
        maxChunkBytes: Math.min(...all.map(({ maxChunkBytes }) => maxChunkBytes)),
        preRollMs: Math.min(...all.map(({ preRollMs }) => preRollMs)),
      },
    },
    updates$: services.find(({ updates$ }) => updates$ !== undefined)?.updates$,
    run: runFailover({ ...shared, services }),
  }
}
