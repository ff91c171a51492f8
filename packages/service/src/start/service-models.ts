import {
  asyncScheduler,
  filter,
  firstValueFrom,
  NEVER,
  of,
  startWith,
  throwError,
  timeout,
  timer,
  type Observable,
  type SchedulerLike,
  type TimeoutConfig,
} from 'rxjs'
import type { ModelDescription } from 'rxspeech-engines/engine'
import { modelLabel } from 'rxspeech-engines/models/model-json'
import type { ModelRegistry } from 'rxspeech-engines/models/model-registry'
import { withReleases } from 'rxspeech-engines/models/releases'
import { createBus, type MessageBus } from 'rxspeech-nats/connection/bus'
import { connectNats } from 'rxspeech-nats/connection/connection'
import { createFleetModels } from 'rxspeech-nats/engines/fleet-models'
import { Fleet } from 'rxspeech-nats/engines/fleet'
import type { Logger } from 'rxspeech-server/operations/logger'
import { shownDigest, type NatsUse } from 'rxspeech-server/operations/nats-use'
import type { Operations } from 'rxspeech-server/operations/operations'
import { modelRefusingLog, type RateLimitedLog } from 'rxspeech-server/operations/service-log'
import { sharedTenant } from 'rxspeech-server/sessions/rights'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { attemptLog } from './attempt-log.js'
import { openModels } from './models-and-projects.js'
import { readReleases } from '../configuration/releases-file.js'
import { resolveServiceLimits, type ServiceOptions } from '../configuration/service-options.js'

/** How long the start waits for a named default model: four times as long as engine processes take to report theirs. */
const namedModelMs = 1_000
/** After the first model the start waits this long for others, so that each start chooses the same default. */
const settleMs = 500

/** The models of a service, and what operators see of the engine processes. */
export interface ServiceModels {
  readonly models: ModelRegistry
  readonly natsUse: (() => NatsUse) | undefined
}

/**
 * The models of the folders of a service and, with `natsEngines`, those of engine processes. Rejects with the errors of
 * `connectNats`, and with `invalid-model` if no engine process has reported a model in time and there is none here.
 *
 * @param operation receives faults and lines
 * @param cpus how many CPUs the built-in engines may use; default: all
 */
export const openServiceModels = async (
  given: ServiceOptions,
  { onFault, log }: Pick<Operations, 'onFault' | 'log'>,
  cpus?: number,
): Promise<ServiceModels> => {
  const options = { ...given, onFault }
  const { natsEngines, logger, scheduler = asyncScheduler } = options
  const local = openModels(options, cpus)
  if (natsEngines === undefined) return { models: await released(local, options), natsUse: undefined }
  const { name, region, otherRegions, models: modelsByName, waitMs = 10_000, ...nats } = natsEngines
  const bus = createBus(await connectNats(nats, { name: 'rxspeech service', scheduler }))
  const unlog = logConnection(bus, logger)
  // Without a user everyone on the bus can take any name, and processes have those of their hosts.
  const prefersFirstName = modelsByName === undefined && (nats.user ?? nats.credentials) !== undefined
  const { maxLagMs, refusesBehind } = lagLimits(options)
  const roster = { region, otherRegions, models: modelsByName, prefersFirstName, maxLagMs }
  const fleet = new Fleet({ bus, name, ...roster, onFault, scheduler })
  const onRefusing = log && modelRefusingLog(log)
  const { reservePercent } = resolveServiceLimits(options)
  const registry = createFleetModels({ fleet, local, refusesBehind, reservePercent, onFault, onRefusing, scheduler })
  if (logger && log) {
    fleet.onAttempt = attemptLog({ logger, log }, 'Segment not taken', ({ name, instance }) => ({
      engine: name,
      instance,
    }))
  }
  const endLog = log && logProcesses(fleet, registry, log)
  const models = {
    ...registry,
    close: async () => {
      try {
        await registry.close()
      } finally {
        endLog?.()
        unlog()
        await bus.close()
      }
    },
  }
  let withFile: ModelRegistry
  try {
    withFile = await released(models, options)
    await waitForDefaultModel(models, { ...options, waitMs, scheduler })
  } catch (error) {
    await models.close()
    throw error
  }
  return {
    models: withFile,
    natsUse: () => ({ isUp: bus.isUp, refused: bus.refusedCount, contents: fleet.contents, fleet: fleet.use }),
  }
}

/** The models with the releases of the file of the options, if there is one. */
export const released = async (
  models: ModelRegistry,
  { releasesFile, natsEngines }: Pick<ServiceOptions, 'releasesFile' | 'natsEngines'>,
): Promise<ModelRegistry> =>
  releasesFile === undefined
    ? models
    : withReleases(models, { read: () => readReleases(releasesFile), isComplete: natsEngines === undefined })

/** When an engine process is behind, and whether it then gets no sessions. @default maxLagMs `defaultMaxLagMs` */
export const lagLimits = (
  options: Pick<ServiceOptions, 'development' | 'limits'>,
): { readonly maxLagMs: number | undefined; readonly refusesBehind: boolean } => {
  const { maxEngineDelayMs } = resolveServiceLimits(options)
  return { maxLagMs: maxEngineDelayMs === 0 ? undefined : maxEngineDelayMs, refusesBehind: maxEngineDelayMs > 0 }
}

/** Logs each loss of the connection, and its end. */
export const logConnection = (bus: MessageBus, logger: Logger | undefined): (() => void) => {
  let wasUp = bus.isUp
  const subscription = bus.isUp$.subscribe((isUp) => {
    if (isUp === wasUp) return
    wasUp = isUp
    if (isUp) logger?.log('info', 'The connection to NATS is restored.')
    else logger?.log('warn', 'The connection to NATS is lost; it is tried again until it is restored.')
  })
  return () => subscription.unsubscribe()
}

/** Models that one line names. */
const maxNamed = 10

/** Logs engine processes that come and go, and models that none of them serves any more, or again. */
const logProcesses = (fleet: Fleet, models: ModelRegistry, log: RateLimitedLog): (() => void) => {
  fleet.onJoined = ({ address, models: offered, capacity, host: engineHost, software: engineVersion, hasReturned }) => {
    const { name: engine, instance } = address
    const served = [...offered].slice(0, maxNamed).map(([label, { digest }]) => `${label} (${shownDigest(digest)})`)
    log.write('joined', 'info', 'Engine process joined', {
      engine,
      instance,
      models: offered.size,
      places: capacity,
      engineHost,
      engineVersion,
      served: served.join(', '),
      returned: hasReturned || undefined,
    })
  }
  fleet.onClock = ({ address: { name: engine, instance }, clockAheadMs = 0 }) => {
    const sentence = 'The clock of an engine process differs from that of this machine; run NTP on both'
    log.write('clock', 'warn', sentence, { engine, instance, aheadMs: clockAheadMs })
  }
  fleet.onLeft = ({ name: engine, instance }, how, segments) => {
    log.write('left', how === 'gone' ? 'info' : 'warn', 'Engine process left', { engine, instance, how, segments })
  }
  let unserved: readonly string[] = []
  const subscription = models.changed$?.subscribe(() => {
    const before = unserved
    unserved = models
      .list()
      .filter((model) => models.isServed?.(model) === false)
      .map(modelLabel)
    const lost = unserved.filter((label) => !before.includes(label))
    const back = before.filter((label) => !unserved.includes(label))
    const fieldsOf = (labels: readonly string[]) => ({
      models: labels.slice(0, maxNamed).join(', '),
      count: labels.length,
    })
    if (lost.length > 0) log.write('unserved', 'warn', 'No engine process serves these models', fieldsOf(lost))
    if (back.length > 0) log.write('served', 'info', 'These models are served again, or forgotten', fieldsOf(back))
  })
  return () => subscription?.unsubscribe()
}

/**
 * Resolves when the default model can be chosen: if it is named, with that one, because sessions would be denied until
 * then; a service whose default model is named starts without engine processes too. Otherwise soon after the first one.
 */
export const waitForDefaultModel = async (
  models: Pick<ModelRegistry, 'list' | 'changed$'>,
  { defaultModel, waitMs, scheduler }: Pick<ServiceOptions, 'defaultModel'> & WaitOptions,
): Promise<void> => {
  const isNamed = ({ tenant, name }: ModelDescription): boolean => tenant === sharedTenant && name === defaultModel
  const isKnown = (): boolean => (defaultModel === undefined ? models.list().length > 0 : models.list().some(isNamed))
  const limit: TimeoutConfig<unknown, Observable<undefined>> = defaultModel === undefined
    ? { first: waitMs, scheduler, with: () => throwError(() => noModel(waitMs)) }
    : { first: Math.min(waitMs, namedModelMs), scheduler, with: () => of(undefined) }
  await firstValueFrom((models.changed$ ?? NEVER).pipe(startWith(undefined), filter(isKnown), timeout(limit)))
  if (defaultModel === undefined) await firstValueFrom(timer(settleMs, scheduler))
}

interface WaitOptions {
  readonly waitMs: number
  readonly scheduler: SchedulerLike
}

const noModel = (waitMs: number): SpeechError =>
  new SpeechError(
    'invalid-model',
    `No engine process has reported a model within ${waitMs} ms; start one, or set the default model so that the service does not wait.`,
  )
