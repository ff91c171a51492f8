import {
  asyncScheduler,
  filter,
  firstValueFrom,
  NEVER,
  of,
  startWith,
  throwError,
  timeout,
  type Observable,
  type SchedulerLike,
  type TimeoutConfig,
} from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import { Fleet } from '../engines/nats/fleet.js'
import { createFleetModels } from '../engines/nats/fleet-models.js'
import type { ModelRegistry } from '../engines/models/model-registry.js'
import { createBus, type MessageBus } from '../nats/bus.js'
import { connectNats } from '../nats/connection.js'
import type { Logger } from '../operations/logger.js'
import type { NatsUse } from '../operations/nats-use.js'
import { openModels } from './models-and-projects.js'
import type { ServiceOptions } from './service-options.js'

/** How long the start waits for a default model that is named: four times as long as engine processes take to tell theirs. */
const namedModelMs = 1_000

/** The models of a service, and what operators see of the engine processes. */
export interface ServiceModels {
  readonly models: ModelRegistry
  readonly natsUse: (() => NatsUse) | undefined
}

/**
 * The models of the folders of a service and, with `natsEngines`, those of engine processes. Rejects with the errors of
 * `connectNats`, and with `invalid-model` if no engine process has told a model in time and there is none here.
 *
 * @param cores how many cores the built-in engines may use; default: all
 */
export const openServiceModels = async (options: ServiceOptions, cores?: number): Promise<ServiceModels> => {
  const { natsEngines, onFault = () => undefined, scheduler = asyncScheduler } = options
  const local = openModels(options, cores)
  if (natsEngines === undefined) return { models: local, natsUse: undefined }
  const { name, region, otherRegions, waitMs = 10_000, ...nats } = natsEngines
  const bus = createBus(await connectNats(nats, { name: 'rxspeech service', scheduler }))
  const unlog = logConnection(bus, options.logger)
  const fleet = new Fleet({ bus, name, region, otherRegions, onFault, scheduler })
  const registry = createFleetModels({ fleet, local, onFault, scheduler })
  const models = {
    ...registry,
    close: async () => {
      await registry.close()
      unlog()
      await bus.close()
    },
  }
  try {
    await toldModel(models, options.defaultModel, waitMs, scheduler)
  } catch (error) {
    await models.close()
    throw error
  }
  return { models, natsUse: () => ({ isUp: bus.isUp, refused: bus.refusedCount, fleet: fleet.use }) }
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

/**
 * Resolves with the first model or, if the default model is named, with that one: engine processes answer at once, and
 * sessions would be denied until then. A service whose default model is named starts without engine processes too.
 */
const toldModel = async (
  models: ModelRegistry,
  defaultModel: string | undefined,
  waitMs: number,
  scheduler: SchedulerLike,
): Promise<void> => {
  const isTold = (): boolean => models.list().some(({ name }) => defaultModel === undefined || name === defaultModel)
  const limit: TimeoutConfig<unknown, Observable<undefined>> = defaultModel === undefined
    ? { first: waitMs, scheduler, with: () => throwError(() => noModel(waitMs)) }
    : { first: Math.min(waitMs, namedModelMs), scheduler, with: () => of(undefined) }
  await firstValueFrom((models.changed$ ?? NEVER).pipe(startWith(undefined), filter(isTold), timeout(limit)))
}

const noModel = (waitMs: number): SpeechError =>
  new SpeechError(
    'invalid-model',
    `No engine process has told a model within ${waitMs} ms; start one, or set the default model so that the service does not wait.`,
  )
