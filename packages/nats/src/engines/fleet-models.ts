import { asyncScheduler, merge, NEVER, Subject, type SchedulerLike } from 'rxjs'
import type { Engine, ModelDescription, SegmentAttempt } from 'rxspeech-engines/engine'
import { invalidModel, modelLabel } from 'rxspeech-engines/models/model-json'
import { compareVersions, type ModelName, type ModelRegistry } from 'rxspeech-engines/models/model-registry'
import { createSegmentEngine } from 'rxspeech-engines/segment-engine'
import { withSegmentRetry } from 'rxspeech-engines/segment-retry'
import type { Refusing } from 'rxspeech-server/sessions/refusals'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { Admission, capacityOf } from './admission.js'
import type { Fleet } from './fleet.js'
import type { AdvertisedModel } from './protocol.js'
import { maxFleetModels } from './model-offers.js'

/** `engine` of the description of a model that engine processes serve. */
const natsEngine = 'nats'

/**
 * A model without an engine counts as served for this long, so that a short outage does not make the service unready.
 */
const servedForMs = 5_000
/**
 * Engine processes report within half a second; without any for longer than this, the service has seen an outage.
 */
const outageMs = 2_000
/** How long after an outage engine processes may take to come back one after another. */
const returnMs = 60_000
/**
 * Short, because the fleet itself waits for an engine; a segment that kills engines must not kill all of them at once.
 */
const delaysAfterLossMs = [0, 0, 250, 1_000, 2_000]

export interface FleetModelsOptions {
  readonly fleet: Fleet
  /** The models of this process; one of them is used instead of one of the same name and version elsewhere. */
  readonly local: ModelRegistry
  /** Called with failures of engines that are retried. */
  readonly onFault: (error: SpeechError, attempt: SegmentAttempt) => void
  /** Called when sessions of a model begin to be refused, and when that ends. */
  readonly onRefusing?: ((label: string, refusing: Refusing) => void) | undefined
  /**
   * A model that no engine process has reported for this long, while there were others, is forgotten; until then its
   * sessions are refused as overloaded. @default 300000
   */
  readonly forgetMs?: number | undefined
  /** Whether engines that are behind count as full for new sessions. @default true */
  readonly refusesBehind?: boolean | undefined
  /** The part of the places that a tenant above its share leaves to others, in percent. @default 0 */
  readonly reservePercent?: number | undefined
  /** Spreads the times after which refused sessions come again. @default Math.random */
  readonly random?: (() => number) | undefined
  /** @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

/** The models of this process and those of a fleet, which come and go with its engines. Closes both. */
export const createFleetModels = (options: FleetModelsOptions): ModelRegistry => {
  const { fleet, local } = options
  const models = new FleetModels(options)
  const prepareLocal = local.prepareReload?.bind(local)
  let closing: Promise<void> | undefined
  const together = (own: Pick<ModelRegistry, 'find' | 'list'>): Pick<ModelRegistry, 'find' | 'list'> => ({
    find: (name) => newest([models.find(name), own.find(name)]),
    list: () => {
      const here = own.list()
      const labels = new Set(here.map(modelLabel))
      return [...here, ...models.list().filter((model) => !labels.has(modelLabel(model)))].toSorted(inOrder)
    },
  })
  return {
    ...together(local),
    ...(prepareLocal && {
      prepareReload: async (given) => {
        const prepared = await prepareLocal(given)
        return { ...prepared, ...together(prepared) }
      },
    }),
    problems: () => local.problems(),
    engine: (model) => (isOfFleet(model) ? models.engine(model) : local.engine(model)),
    spareEngine: (model) => (isOfFleet(model) ? models.spareEngine(model) : local.spareEngine?.(model)),
    admit: (model, isAboveShare) => {
      if (isOfFleet(model)) models.admit(model, isAboveShare)
    },
    mayMissModels: () => models.mayMissModels(),
    isServed: (model) => (isOfFleet(model) ? models.isServed(model) : undefined),
    changed$: merge(models.changed$, local.changed$ ?? NEVER),
    close: () =>
      (closing ??= Promise.all([models.close(), local.close()])
        .then(() => undefined)
        .finally(() => fleet.close())),
  }
}

const isOfFleet = ({ options }: ModelDescription): boolean => options.engine === natsEngine

/** The last of those with the newest version. */
const newest = (models: readonly (ModelDescription | undefined)[]): ModelDescription | undefined =>
  models
    .filter((model) => model !== undefined)
    .toSorted((a, b) => compareVersions(a.version, b.version))
    .at(-1)

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b))

const inOrder = (a: ModelDescription, b: ModelDescription): number =>
  compare(a.tenant, b.tenant) || compare(a.name, b.name) || compareVersions(a.version, b.version)

interface FleetModel {
  readonly description: ModelDescription
  readonly advert: AdvertisedModel
  readonly engine: Engine
  /** See `ModelRegistry.spareEngine`. */
  readonly spareEngine: Engine
  readonly admission: Admission
  lastServedMs: number
  /** When an engine process reported it, or none was there that could. */
  lastKnownMs: number
}

class FleetModels {
  readonly #change$ = new Subject<void>()
  readonly changed$ = this.#change$.asObservable()
  readonly #options: FleetModelsOptions
  readonly #scheduler: SchedulerLike
  readonly #models = new Map<string, FleetModel>()
  #served = ''
  #isClosed = false
  /** Since when no engine process is known. */
  #withoutSinceMs: number | undefined
  #returnedMs = -Infinity

  constructor(options: FleetModelsOptions) {
    this.#options = options
    this.#scheduler = options.scheduler ?? asyncScheduler
    options.fleet.onChange = () => this.#update()
    this.#update()
  }

  find({ tenant, name, version = '' }: ModelName): ModelDescription | undefined {
    const isFound = (model: ModelDescription): boolean =>
      model.tenant === tenant && model.name === name && (version === '' || model.version === version)
    return newest(this.list().filter(isFound))
  }

  list(): readonly ModelDescription[] {
    return [...this.#models.values()].map(({ description }) => description)
  }

  engine(model: ModelDescription): Promise<Engine> {
    if (this.#isClosed) {
      return Promise.reject(new SpeechError('going-away', 'The service is closing; start a new session.'))
    }
    const known = this.#models.get(modelLabel(model))
    return known === undefined
      ? Promise.reject(invalidModel(model, 'no engine process serves it any more.'))
      : Promise.resolve(known.engine)
  }

  /** Only while no segment waits for a place, and half of the places are free at engine processes without other models. */
  spareEngine(model: ModelDescription): Promise<Engine> | undefined {
    const { roster, waiting } = this.#options.fleet
    const known = this.#models.get(modelLabel(model))
    if (known === undefined || waiting > 0) return undefined
    const serving = roster.serving({ ...wanted(known.advert), isSpare: true }).filter(({ isBehind }) => !isBehind)
    const used = serving.reduce((total, engine) => total + engine.used, 0)
    return 2 * (used + 1) > capacityOf(serving) ? undefined : Promise.resolve(known.spareEngine)
  }

  admit(model: ModelDescription, isAboveShare = false): void {
    const label = modelLabel(model)
    const { reservePercent = 0 } = this.#options
    this.#models.get(label)?.admission.admit(this.#startedElsewhere(label), isAboveShare ? reservePercent : 0)
  }

  /** Sessions of other models that started lately, as far as they share the engines of this one. */
  #startedElsewhere(label: string): number {
    const { roster } = this.#options.fleet
    const engines = new Set(roster.serving({ label }))
    let total = 0
    for (const [other, { admission }] of this.#models) {
      const { started } = admission
      if (other === label || started === 0) continue
      const theirs = roster.serving({ label: other })
      const shared = theirs.filter((engine) => engines.has(engine))
      if (shared.length > 0) total += (started * capacityOf(shared)) / Math.max(capacityOf(theirs), 1)
    }
    return total
  }

  isServed(model: ModelDescription): boolean {
    const known = this.#models.get(modelLabel(model))
    return known !== undefined && this.#scheduler.now() - known.lastServedMs <= servedForMs
  }

  mayMissModels(): boolean {
    return this.#withoutSinceMs !== undefined || this.#scheduler.now() - this.#returnedMs <= returnMs
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#models.values()].map(closeEngines))
    this.#change$.complete()
  }

  #update(): void {
    if (this.#isClosed) return
    const { fleet, forgetMs = 300_000, refusesBehind = true } = this.#options
    const nowMs = this.#scheduler.now()
    this.#watchOutage(nowMs)
    const reported = new Set<string>()
    for (const [label, adverts] of fleet.roster.offers()) {
      reported.add(label)
      for (const advert of adverts) this.#meet(label, advert)
    }
    this.#forgetBeyond(reported)
    for (const [label, model] of this.#models) {
      const serving = fleet.isUp ? fleet.roster.serving({ label }) : []
      model.admission.sample(refusesBehind ? serving : serving.map(({ used, capacity }) => ({ used, capacity })))
      if (serving.length > 0) model.lastServedMs = nowMs
      if (!fleet.isUp || reported.size === 0 || reported.has(label)) model.lastKnownMs = nowMs
      else if (nowMs - model.lastKnownMs > forgetMs) {
        this.#models.delete(label)
        void closeEngines(model)
      }
    }
    this.#emitChange()
  }

  #watchOutage(nowMs: number): void {
    if (this.#options.fleet.roster.engines.length === 0) {
      this.#withoutSinceMs ??= nowMs
      return
    }
    if (this.#withoutSinceMs !== undefined && nowMs - this.#withoutSinceMs > outageMs) this.#returnedMs = nowMs
    this.#withoutSinceMs = undefined
  }

  /** Of models without an engine process the latest goes first: invented ones come after real ones. */
  #forgetBeyond(reported: ReadonlySet<string>): void {
    if (this.#models.size <= maxFleetModels) return
    const gone = [...this.#models].filter(([label]) => !reported.has(label)).reverse()
    for (const [label, model] of gone.slice(0, this.#models.size - maxFleetModels)) {
      this.#models.delete(label)
      void closeEngines(model)
    }
  }

  #meet(label: string, advert: AdvertisedModel): void {
    const known = this.#models.get(label)
    // Running sessions keep compatible engines; new sessions switch when none remain.
    const { roster } = this.#options.fleet
    if (known !== undefined && (isAlike(known.advert, advert) || roster.serving(wanted(known.advert)).length > 0))
      return
    const { tenant, name, version, batch } = advert
    const retry = { scheduler: this.#scheduler, onFault: this.#options.onFault, delaysAfterLossMs }
    this.#models.set(label, {
      description: { tenant, name, version, folder: '', options: { engine: natsEngine, ...(batch && { batch }) } },
      advert,
      engine: withSegmentRetry(this.#openEngine(advert), retry),
      spareEngine: this.#openEngine(advert, true),
      admission: new Admission(
        () => this.#scheduler.now(),
        this.#options.random,
        (refusing) => this.#options.onRefusing?.(label, refusing),
      ),
      lastServedMs: this.#scheduler.now(),
      lastKnownMs: this.#scheduler.now(),
    })
  }

  #openEngine(advert: AdvertisedModel, isSpare = false): Engine {
    const { fleet } = this.#options
    const { sampleRateHz, kind, partials, words, checks = false, phrases = false, languages, contextMs = 0 } = advert
    const model = { ...wanted(advert), isSpare }
    return createSegmentEngine({
      capabilities: {
        sampleRateHz,
        kind,
        partials,
        words,
        checks,
        phrases,
        languages,
        contextMs,
        segmentsAtOnce: Number.MAX_SAFE_INTEGER,
      },
      openChannel: (settings) => fleet.openChannel(model, settings),
      checkPhrases: (given) => fleet.checkPhrases(model, given),
      partialIntervalMs: () => fleet.roster.partialIntervalMs(model),
      ready: () =>
        fleet.roster.serving(model).length > 0
          ? Promise.resolve()
          : Promise.reject(new SpeechError('engine-failed', `No engine process serves the model ${model.label}.`)),
    })
  }

  #emitChange(): void {
    const served = JSON.stringify(this.list().map((model) => [modelLabel(model), this.isServed(model)]))
    if (served === this.#served) return
    this.#served = served
    this.#change$.next()
  }
}

const closeEngines = async ({ engine, spareEngine }: FleetModel): Promise<void> => {
  await Promise.all([engine.close(), spareEngine.close()])
}

const wanted = (advert: AdvertisedModel) => ({ label: modelLabel(advert), sampleRateHz: advert.sampleRateHz })

const capabilities = ['sampleRateHz', 'kind', 'partials', 'words', 'checks', 'phrases', 'batch', 'contextMs'] as const

const isAlike = (one: AdvertisedModel, other: AdvertisedModel): boolean =>
  capabilities.every((name) => one[name] === other[name]) && one.languages?.join() === other.languages?.join()
