import { SpeechError } from '../../errors/speech-error.js'
import { checkOptions, numberUpToInfinity, optionsOf } from '../../protocol/validation.js'
import type { PlannedRecognition, Recognition, RecognitionPlan, SessionPlan } from '../session.js'
import type { Resumption, SessionSettings } from '../settings.js'
import { SessionToken } from '../token.js'
import { recognitionOf } from '../recognition.js'
import { probe } from './probe.js'
import { runFailover, type FailoverPlan } from './run-failover.js'
import { ServiceHealth } from './service-health.js'

/** The options of `failover`. */
export interface FailoverOptions {
  /**
   * A service whose results lag behind its audio by more than this is slow, in milliseconds: the session moves to
   * another service, unless that is known to be slow, too. A source that is pulled waits instead, and moves no session
   * for that. `Infinity`: services are not left for being slow. @default 5_000
   */
  readonly slowMs?: number | undefined
}

/**
 * Runs each session on the first service that works, and moves it to the next one when that is lost, closes, does not
 * answer in time or is slow. The session continues there with the first audio that has no definitive result, on the
 * same timeline: no word is lost or repeated. Services are sessions of `recognize` and `dataflow`, each with options of
 * its own (`url`, `model`, `token`, `connection` …), in any mixture.
 *
 * - The next service is tried without a delay; a delay follows when all have failed. This includes the first
 *   connection.
 * - A refused token or request fails the session as it does without `failover`: another service is not the remedy.
 * - Health is remembered by the returned function: create it once, and use it for all sessions. While a session runs,
 *   services that failed are probed with backoff, by sessions without audio. A session returns to an earlier service of
 *   the list only when it loses its own; a new session begins with the first service that works.
 * - `connection` events with the state `streaming` have the number of the service that runs the session (`service`).
 * - `format`, `finalize$`, `stop$` and `continuous` must be the same for all services. `buffer`, `resumption` and
 *   `timeouts.silenceMs` are those of the first. `resumption` cannot be `false`.
 *
 * @throws SpeechError `invalid-options`
 * @example
 * const urls = ['wss://a.example.com', 'wss://b.example.com']
 * const transcribe = failover(urls.map((url) => recognize({ url, format, token, model: 'transcribe' })))
 * audio$.pipe(transcribe, transcript()).subscribe(({ text }) => console.log(text))
 */
export const failover = (services: readonly Recognition[], options: FailoverOptions = {}): PlannedRecognition => {
  checkOptions(failoverOptions, options)
  const { slowMs = 5_000 } = options
  const list = checkServices(services).map(({ plan }) => plan)
  // If one service needs a session for each channel, all of them have one.
  const stereoOf = list.find((service) => service.stereoOf !== undefined)?.stereoOf
  if (new Set(list.map(channelsOf)).size > 1) throw differs('format.channels')
  const plans = list.map(({ sessionOf }) => sessionOf({ channel: stereoOf && 0 }))
  const { resumption, scheduler } = checkPlans(plans)
  const health = new ServiceHealth({
    // A token is kept from one probe to the next, until it expires.
    probes: plans.map((plan) => probe(plan, new SessionToken(plan.settings))),
    delayMs: resumption.delayMs,
    scheduler,
  })
  return recognitionOf({
    sessionOf: (request) => {
      const { traceparent } = request
      const planned = list.map(({ sessionOf, openTelemetry }) =>
        sessionOf({ ...request, traceparent: openTelemetry && traceparent }),
      )
      // The results of a source that is pulled lag behind by how far it is sent ahead.
      return planOfAll(planned, {
        resumption,
        scheduler,
        health,
        slowMs: request.isPulled === true ? Infinity : slowMs,
      })
    },
    stereoOf,
    openTelemetry: list.find(({ openTelemetry }) => openTelemetry !== undefined)?.openTelemetry,
  })
}

const failoverOptions = optionsOf<FailoverOptions>()({}, { slowMs: numberUpToInfinity(1) })

type Plan = SessionPlan<unknown, unknown>

/** A failover is not a plan itself: its sessions run on a machine of their own. */
const isService = (service: unknown): service is PlannedRecognition =>
  typeof service === 'function' && 'plan' in service && !runsFailover(service as PlannedRecognition)

const runsFailover = ({ plan }: PlannedRecognition): boolean => plan.sessionOf({}).run !== undefined

const checkServices = (services: unknown): readonly PlannedRecognition[] => {
  if (Array.isArray(services) && services.length > 0 && services.every(isService)) return services
  throw new SpeechError('invalid-options', 'services must be a list of sessions of recognize and dataflow.')
}

const channelsOf = ({ sessionOf, stereoOf }: RecognitionPlan): number =>
  stereoOf === undefined ? sessionOf({}).settings.bounds.format.channels : 2

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
