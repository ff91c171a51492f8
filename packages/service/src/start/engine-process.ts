import { asyncScheduler, filter, map, merge, type SchedulerLike } from 'rxjs'
import type { Engine, EngineKind, ModelDescription } from 'rxspeech-engines/engine'
import { defaultMaxLagMs } from 'rxspeech-engines/lag'
import { digestOf } from 'rxspeech-engines/models/fingerprint'
import { invalidModel, modelLabel } from 'rxspeech-engines/models/model-json'
import { createModelRegistry, type ModelRegistry, type PreparedModels } from 'rxspeech-engines/models/model-registry'
import { createBus, type MessageBus, tooLarge } from 'rxspeech-nats/connection/bus'
import { connectNats } from 'rxspeech-nats/connection/connection'
import { natsOptions, type NatsOptions } from 'rxspeech-nats/connection/nats-options'
import { EngineHost, type ServedModel } from 'rxspeech-nats/engines/engine-host'
import { engineInstance, isAdvertSubject, maxEngineModels } from 'rxspeech-nats/engines/protocol'
import type { Logger } from 'rxspeech-server/operations/logger'
import { RenewableCertificate } from 'rxspeech-server/listen/renewable-certificate'
import { openOperations } from 'rxspeech-server/operations/operations'
import { SpeechError, toSpeechError } from 'rxspeech/internal/errors/speech-error'
import { listOf } from 'rxspeech/internal/protocol/collections'
import {
  anything,
  checkOptions,
  durationMs,
  functionValue,
  jsonObject,
  objectWith,
  optionsOf,
  schedulerValue,
  text,
  wholeNumber,
} from 'rxspeech/internal/protocol/validation'
import {
  type ListenAddress,
  type ServerCertificate,
  serverCertificateCodec,
} from 'rxspeech/internal/transport/listen-address'
import { listenAddressCodec } from '../configuration/listen-address.js'
import { builtInEngines } from './built-ins.js'
import { finishReload, Reloader, withCertificateReload, type PreparedReload, type ReloadResult } from './reload.js'
import { attemptLog } from './attempt-log.js'
import { closeAll, type Opened } from './running-service.js'
import { logConnection } from './service-models.js'
import { openTracing } from './tracing.js'

/** Options of `startEngineProcess`. */
export interface EngineProcessOptions {
  /** The connection over which services find it. */
  readonly nats: NatsOptions
  /** Folders of models, in the layout `<tenant>/<name>/<version>/model.json`; all are loaded at the start. */
  readonly modelFolders: readonly string[]
  /** Engines that models can name, in addition to the built-in ones. @default none */
  readonly engines?: readonly EngineKind[] | undefined
  /**
   * How many segments it recognizes at once, of all models together.
   * @default the largest number that one of its engines decodes at once
   */
  readonly capacity?: number | undefined
  /** Its name in the subjects of its messages, which permissions can name. @default that of the host */
  readonly name?: string | undefined
  /** The number of this run in lists and logs, 16 hexadecimal digits. @default a random one */
  readonly instance?: string | undefined
  /** The region that it reports to services. @default none */
  readonly region?: string | undefined
  /** The address of `/livez`, `/readyz` and `/metrics`; beyond loopback it needs the certificate. @default none */
  readonly operations?: ListenAddress | undefined
  /** The TLS certificate of that address. @default none */
  readonly certificate?: ServerCertificate | undefined
  /** The environment variables that models can name for secrets. @default process.env */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** The log of its start and end, of faults and of the connection. @default none */
  readonly logger?: Logger | undefined
  /** Called with failures of engines, and with what NATS does not allow. @default none */
  readonly onFault?: ((error: unknown) => void) | undefined
  /** The clock and the timers. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

const engineProcessOptions = optionsOf<EngineProcessOptions>()(
  { nats: natsOptions, modelFolders: listOf(text) },
  {
    engines: listOf(anything),
    capacity: wholeNumber({ min: 1, max: 100_000 }),
    name: text,
    instance: engineInstance,
    region: text,
    operations: listenAddressCodec,
    certificate: serverCertificateCodec,
    env: jsonObject,
    logger: objectWith('log'),
    onFault: functionValue,
    scheduler: schedulerValue,
  },
)

/** A running engine process. */
export interface EngineProcess {
  /** Its name and the number of this run, as `rxspeech engines` shows them. */
  readonly name: string
  /** The number of this run. */
  readonly instance: string
  /** The models that it serves, as they were found at the start or at the last reload. */
  readonly models: readonly ModelDescription[]
  /** How many segments it recognizes at once; without `options.capacity` a reload can change it. */
  readonly capacity: number
  /** The base address of `/livez`, `/readyz` and `/metrics`, if `operations` is set. */
  readonly operationsUrl: string | undefined
  /**
   * Reads the folders of models again. Segments that are open keep their model, and later ones, of running sessions
   * too, get what is there now. If a model that is new or has changed has a fault, or a changed one has another
   * sampling rate, nothing changes at all. Never rejects; reloads at the same time become one.
   */
  reload(): Promise<ReloadResult>
  /**
   * Takes no more segments, waits until those that are open have ended, and closes everything. What is still open after
   * `drainMs` is recognized elsewhere. Idempotent.
   */
  close(options?: EngineProcessCloseOptions): Promise<void>
}

/** How an engine process ends. */
export interface EngineProcessCloseOptions {
  /** How long open segments may take, in milliseconds. @default 60_000 */
  readonly drainMs?: number | undefined
}

const closeOptions = optionsOf<EngineProcessCloseOptions>()({}, { drainMs: durationMs(0) })

/** After this time without NATS the process is not ready, in milliseconds; nor for this long after a refused advert. */
const natsAbsentMs = 5_000

/** An engine process has no sessions, and no loop that they could fill. */
const limits = { reservePercent: 0, maxLoadPercent: 0, maxLoopDelayMs: 0, maxEngineDelayMs: defaultMaxLagMs }

/**
 * Starts an engine process: loads its models and serves their engines over NATS. Resolves when services can find it.
 * Rejects with the errors of a connection to NATS, with `invalid-options`, `listen-failed`, with `invalid-model` if no
 * model can be loaded, and with `engine-failed` if NATS cannot carry the list of them; a model that cannot be loaded
 * beside others is reported by `onFault`.
 *
 * @example
 * const engine = await startEngineProcess({ nats: { servers: ['nats://127.0.0.1:4222'] }, modelFolders: ['models'] })
 */
export const startEngineProcess = async (options: EngineProcessOptions): Promise<EngineProcess> => {
  checkOptions(engineProcessOptions, options)
  const opened: Opened = []
  try {
    return await openEngineProcess(options, opened)
  } catch (error) {
    await closeAll(opened, options.scheduler).catch(() => undefined)
    throw error
  }
}

const openEngineProcess = async (options: EngineProcessOptions, opened: Opened): Promise<EngineProcess> => {
  const { name, instance, region, logger, scheduler = asyncScheduler } = options
  const certificate = options.certificate && new RenewableCertificate(options.certificate)
  const operation = await openOperations({
    address: options.operations,
    certificate,
    expiring: certificate && { listener: 'operations', certificate },
    logger,
    onFault: options.onFault,
    reflection: false,
    limits,
    scheduler,
  })
  const tracing = openTracing()
  opened.push(['The listener of operations', operation.close], ['The export of spans', () => tracing?.flush()])
  const { onFault, log } = operation
  const bus = createBus(await connectNats(options.nats, { name: 'rxspeech engine', scheduler }))
  opened.push(['The connection to NATS', () => bus.close()], ['The log', logConnection(bus, logger)])
  const found = createModelRegistry({
    folders: options.modelFolders,
    kinds: [...builtInEngines(options.env), ...(options.engines ?? [])],
    scheduler,
    onFault,
    // The service that uses an engine retries its segments, here or elsewhere.
    retry: false,
  })
  const models = operation.watchModels(whileConnected(found, bus, scheduler))
  opened.push(['The engines', () => models.close()])
  let served = await loadModels(models, onFault)
  const capacity = (): number =>
    options.capacity ?? Math.max(...served.map(({ engine }) => engine.capabilities.segmentsAtOnce))
  const host = new EngineHost({
    bus,
    models: served,
    capacity: capacity(),
    name,
    instance,
    region,
    onFault,
    ...(logger && log && { onAttempt: attemptLog({ logger, log }, 'Segment lost', ({ name: edge }) => ({ edge })) }),
    scheduler,
    work: operation.work,
    openTelemetry: tracing?.openTelemetry,
  })
  opened.push(['The host of the engines', () => host.close()])
  if (bus.isUp && !host.areModelsTold) throw tooLarge(`The list of ${served.length} models`)
  operation.watchNats(() => ({
    isUp: bus.isUp,
    refused: bus.refusedCount,
    contents: served.map(({ advert }) => ({ label: modelLabel(advert), digest: advert.digest, engines: 1 })),
    places: { used: host.used, capacity: host.capacity, isBehind: operation.work().isBehind },
  }))
  operation.opened(models.list()[0])
  const reloader: Reloader = new Reloader({
    logger,
    onOutcome: operation.reloaded,
    run: async () => {
      const prepared = withCertificateReload(await prepareModels(found, served), certificate, logger)
      const result = finishReload(prepared, reloader.isClosed)
      if (!result.isReloaded) return result
      served = await loadModels(models, onFault, served, prepared.digests)
      host.replaceModels(served, capacity())
      return result
    },
  })
  let closing: Promise<void> | undefined
  return {
    ...host.address,
    get models() {
      return models.list().filter((model) => served.some(({ advert }) => isSame(advert, model)))
    },
    get capacity() {
      return host.capacity
    },
    operationsUrl: operation.url,
    reload: () => reloader.reload(),
    close: async (given = {}) => {
      const { drainMs = 60_000 } = checkOptions(closeOptions, given)
      reloader.close()
      operation.draining()
      await (closing ??= host.drain(drainMs).then(() => closeAll(opened, scheduler)))
    },
  }
}

type Name = Pick<ModelDescription, 'tenant' | 'name' | 'version'>

const isSame = (one: Name, other: Name): boolean =>
  one.tenant === other.tenant && one.name === other.name && one.version === other.version

/**
 * The same registry, whose models count as not served while NATS has been away for long, or does not accept the adverts
 * of this process: no service can find it then.
 */
const whileConnected = (registry: ModelRegistry, bus: MessageBus, scheduler: SchedulerLike): ModelRegistry => {
  let lastUpMs = scheduler.now()
  let lastRefusedMs = -Infinity
  const subscription = bus.isUp$.subscribe(() => (lastUpMs = scheduler.now()))
  subscription.add(
    bus.refused$.subscribe((subject) => {
      if (isAdvertSubject(subject)) lastRefusedMs = scheduler.now()
    }),
  )
  const isFound = (): boolean =>
    (bus.isUp || scheduler.now() - lastUpMs <= natsAbsentMs) && scheduler.now() - lastRefusedMs > natsAbsentMs
  return {
    ...registry,
    close: () => {
      subscription.unsubscribe()
      return registry.close()
    },
    isServed: () => (isFound() ? undefined : false),
    changed$: merge(bus.isUp$, bus.refused$.pipe(filter(isAdvertSubject))).pipe(map(() => undefined)),
  }
}

/** By the labels of models. */
type Digests = ReadonlyMap<string, string>

/** Reads the models again. A changed model must keep its rate, for running sessions, and at least one must be left. */
const prepareModels = async (
  models: ModelRegistry,
  served: readonly ServedModel[],
): Promise<PreparedReload & { readonly digests: Digests }> => {
  if (models.prepareReload === undefined) throw new SpeechError('internal', 'These models cannot be reloaded.')
  const { problems, changes, list, engine, ...prepared } = await models.prepareReload()
  const digests = new Map<string, string>()
  try {
    const found = problems.length > 0 ? [...problems] : [...(await rateProblems({ list, engine }, served))]
    if (found.length === 0 && list().length === 0) found.push(noModels())
    if (list().length > maxEngineModels) found.push(tooManyModels(list().length))
    const fresh = new Set([...changes.added, ...changes.changed])
    for (const model of list().filter((one) => fresh.has(modelLabel(one)))) {
      const digest = await digestOf(model.folder).catch((cause: unknown) => {
        found.push(invalidModel(model, 'one of its files cannot be read.', cause))
      })
      if (digest !== undefined) digests.set(modelLabel(model), digest)
    }
    return { ...prepared, problems: found, models: changes, projects: 0, digests }
  } catch (error) {
    prepared.discard()
    throw error
  }
}

const rateProblems = async (
  models: Pick<PreparedModels, 'list' | 'engine'>,
  served: readonly ServedModel[],
): Promise<readonly SpeechError[]> => {
  const problems: SpeechError[] = []
  for (const model of models.list()) {
    const before = served.find(({ advert }) => isSame(advert, model))?.advert.sampleRateHz
    if (before === undefined) continue
    const { sampleRateHz } = (await models.engine(model)).capabilities
    if (sampleRateHz === before) continue
    const sentence = `it now has a sampling rate of ${sampleRateHz} Hz in place of ${before} Hz; give it a version of its own.`
    problems.push(invalidModel(model, sentence))
  }
  return problems
}

const noModels = (): SpeechError =>
  new SpeechError('invalid-model', 'The folders contain no model; set others with --models.')

const tooManyModels = (count: number): SpeechError =>
  new SpeechError(
    'invalid-model',
    `The folders contain ${count} models, and an engine process serves at most ${maxEngineModels}; give several processes folders of their own.`,
  )

/** Loads all models, one after another. Those that are served now stay as they are. */
const loadModels = async (
  models: ModelRegistry,
  onFault: (error: unknown) => void,
  now: readonly ServedModel[] = [],
  digests: Digests = new Map(),
): Promise<readonly ServedModel[]> => {
  if (models.list().length > maxEngineModels) throw tooManyModels(models.list().length)
  for (const problem of models.problems()) onFault(problem)
  const served: ServedModel[] = []
  let firstError: unknown
  for (const model of models.list()) {
    try {
      const engine = await models.engine(model)
      const known = now.find((one) => one.engine === engine)
      if (known !== undefined) {
        served.push(known)
        continue
      }
      await engine.ready()
      const digest = digests.get(modelLabel(model)) ?? (await digestOf(model.folder))
      served.push({ engine, advert: { ...describe(model, engine), digest } })
    } catch (error) {
      firstError ??= error
      onFault(error)
    }
  }
  if (served.length > 0) return served
  if (firstError !== undefined) throw toSpeechError(firstError, 'invalid-model', 'No model could be loaded.')
  throw models.problems()[0] ?? noModels()
}

const describe = ({ tenant, name, version, options }: ModelDescription, { capabilities }: Engine) => {
  const {
    sampleRateHz,
    kind,
    partials,
    words,
    checks = false,
    phrases = false,
    languages,
    contextMs = 0,
  } = capabilities
  return {
    tenant,
    name,
    version,
    sampleRateHz,
    kind,
    partials,
    words,
    ...(checks && { checks }),
    ...(contextMs > 0 && { contextMs }),
    ...(phrases && { phrases }),
    ...(languages && { languages }),
    ...(options['batch'] === true && { batch: true }),
  }
}
