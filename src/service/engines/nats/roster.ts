import {
  protocolVersion,
  type AdvertisedModel,
  type EngineAdvert,
  type ModelsAdvert,
  type ProcessAddress,
} from './protocol.js'
import { modelLabel } from '../models/model-json.js'

/** How often leases and attempts are checked, in milliseconds. */
export const tickMs = 100
/**
 * An engine that is silent for this many ticks is lost. Ticks and not milliseconds: after a pause of this process itself,
 * its timer runs once before it reads the adverts that arrived meanwhile.
 */
const leaseTicks = 10
/** An engine that this process may not send to is left alone for this many ticks: permissions rarely change. */
const forbiddenTicks = 300
/**
 * An engine that has failed a segment comes after the others for this many ticks. Otherwise one that fails at once would get
 * the most segments, because its places are always free, and a segment again that it has failed. Each time that it fails
 * again, without a result in between, it is twice as long, up to 320 s: if it answers late or never, each trial delays a segment.
 */
const failedTicks = 100
const maxFailedTicks = 3_200
/** More engines than a deployment has; adverts beyond them are ignored. */
const maxEngines = 4096

/** A model as sessions need it: engines with another rate cannot take over. */
export interface WantedModel {
  /** `<tenant>/<name>/<version>`. */
  readonly label: string
  readonly sampleRateHz: number
  /** Whether its engine has to take the phrases of a session. @default false */
  readonly phrases?: boolean | undefined
}

/** An engine process, as its adverts describe it. */
export interface RosterEngine {
  readonly address: ProcessAddress
  readonly models: ReadonlyMap<string, AdvertisedModel>
  readonly startedAtMs: number
  readonly region: string | undefined
  readonly capacity: number
  readonly used: number
  readonly state: EngineAdvert['state']
}

interface Entry extends RosterEngine {
  address: ProcessAddress
  models: ReadonlyMap<string, AdvertisedModel>
  startedAtMs: number
  region: string | undefined
  capacity: number
  used: number
  state: EngineAdvert['state']
  /** Of its messages. */
  version: number
  silentTicks: number
  /** How long it is left alone. */
  forbiddenTicks: number
  /** How long it comes after the others. */
  failedTicks: number
  /** How often it was tried again since its last result, and failed. */
  failures: number
  /** Whether both adverts have arrived. */
  hasModels: boolean
  isAlive: boolean
}

export interface RosterOptions {
  /** Engines of this region come first. @default none: all are equal */
  readonly region?: string | undefined
  /** Whether segments may go to engines of other regions while none of the own one has a place. @default false */
  readonly otherRegions?: boolean | undefined
  /** @default Math.random */
  readonly random?: (() => number) | undefined
}

/** Follows the adverts of all engines: who is there, with which models and how many free places. */
export class Roster {
  readonly #options: RosterOptions
  readonly #entries = new Map<string, Entry>()
  /** Called with the engines that are lost or gone. */
  onLost: (engine: ProcessAddress) => void = () => undefined
  /** Called when an engine may have a free place. */
  onFree: () => void = () => undefined

  constructor(options: RosterOptions = {}) {
    this.#options = options
  }

  /** Returns whether the models of this engine are unknown. */
  alive(advert: EngineAdvert): boolean {
    const { v, engine, capacity, used, state } = advert
    if (state === 'gone') {
      this.#remove(engine.instance)
      return false
    }
    const entry = this.#entryOf(engine)
    if (entry === undefined) return false
    entry.isAlive = true
    entry.silentTicks = 0
    entry.capacity = capacity
    entry.used = used
    entry.state = state
    entry.version = v
    if (entry.hasModels && used < capacity) this.onFree()
    return !entry.hasModels
  }

  models({ engine, models, startedAtMs, region }: ModelsAdvert): void {
    const entry = this.#entryOf(engine)
    if (entry === undefined) return
    entry.hasModels = true
    entry.models = new Map(models.map((model) => [modelLabel(model), model]))
    entry.startedAtMs = startedAtMs
    entry.region = region
    this.onFree()
  }

  /** Call every `tickMs` while the bus is up. */
  tick(): void {
    for (const [instance, entry] of this.#entries) {
      entry.silentTicks += 1
      entry.forbiddenTicks = Math.max(entry.forbiddenTicks - 1, 0)
      entry.failedTicks = Math.max(entry.failedTicks - 1, 0)
      if (entry.silentTicks >= leaseTicks) this.#remove(instance)
    }
  }

  /** The engines that are there, in regions that are used; draining ones included. */
  get engines(): readonly RosterEngine[] {
    return [...this.#entries.values()].filter(
      ({ hasModels, isAlive, region }) => hasModels && isAlive && this.#isUsed(region),
    )
  }

  /** The engines that take segments of this model. */
  serving(model: Pick<WantedModel, 'label'> & Partial<WantedModel>): readonly RosterEngine[] {
    return this.#serving(model)
  }

  #serving(model: Pick<WantedModel, 'label'> & Partial<WantedModel>): readonly Entry[] {
    return [...this.#entries.values()].filter((engine) => this.#isServing(engine, model))
  }

  /**
   * The better of two random engines with a free place: almost as good as the best of all, without all edges choosing the
   * same one at once. Engines of the own region come before others, those that work before those that have just failed, and
   * those whose model is of the newest engine before those that still have an older one. Undefined if no engine has a place.
   */
  choose(model: WantedModel, tried: ReadonlySet<string>): RosterEngine | undefined {
    const serving = this.#serving(model)
    const free = serving.filter(({ address, capacity, used }) => used < capacity && !tried.has(address.instance))
    const { region } = this.#options
    const near = free.filter((engine) => engine.region === region)
    const inRegion = region === undefined || near.length === 0 ? free : near
    const sound = inRegion.filter((engine) => engine.failedTicks === 0)
    const able = sound.length === 0 ? inRegion : sound
    const digest = newestDigest(serving, model.label)
    const current = able.filter(({ models }) => models.get(model.label)?.digest === digest)
    return this.#betterOfTwo(current.length === 0 ? able : current)
  }

  /** The same among the engines that take phrases of sessions for this model; a check of phrases needs no place. */
  chooseForPhrases(model: WantedModel, tried: ReadonlySet<string>): RosterEngine | undefined {
    const able = this.serving({ ...model, phrases: true })
    return this.#betterOfTwo(able.filter(({ address }) => !tried.has(address.instance)))
  }

  /** A place was taken, or the engine said that it has none: counts until its next advert. */
  took({ instance }: ProcessAddress, isFull = false): void {
    const entry = this.#entries.get(instance)
    if (entry !== undefined) entry.used = isFull ? entry.capacity : entry.used + 1
  }

  /** The server does not let this process send to the engine. */
  forbid({ instance }: ProcessAddress): void {
    const entry = this.#entries.get(instance)
    if (entry !== undefined) entry.forbiddenTicks = forbiddenTicks
  }

  /**
   * It accepted a segment and did not decide it. What it was waited for counts in addition, so that the segment does not come
   * back to it after another engine was waited for as long.
   */
  failed({ instance }: ProcessAddress, afterTicks = 0): void {
    const entry = this.#entries.get(instance)
    if (entry === undefined) return
    // Segments that it had at the same time count once.
    if (entry.failedTicks === 0 || entry.failures === 0) entry.failures += 1
    entry.failedTicks = Math.min((failedTicks + afterTicks) * 2 ** (entry.failures - 1), maxFailedTicks)
  }

  /** It has decided a segment. */
  decided({ instance }: ProcessAddress): void {
    const entry = this.#entries.get(instance)
    if (entry !== undefined) entry.failures = 0
  }

  /** A place became free; its engine tells it only later. */
  freed({ instance }: ProcessAddress): void {
    const entry = this.#entries.get(instance)
    if (entry === undefined) return
    entry.used = Math.max(entry.used - 1, 0)
    this.onFree()
  }

  #isServing(
    { state, version, models, region, hasModels, isAlive, forbiddenTicks: leftAlone }: Entry,
    { label, sampleRateHz, phrases = false }: Pick<WantedModel, 'label'> & Partial<WantedModel>,
  ): boolean {
    const model = models.get(label)
    if (!hasModels || !isAlive || leftAlone > 0 || state !== 'serving' || model === undefined) return false
    // It refuses all segments of this version.
    if (version !== protocolVersion) return false
    if (sampleRateHz !== undefined && model.sampleRateHz !== sampleRateHz) return false
    if (phrases && model.phrases !== true) return false
    return this.#isUsed(region)
  }

  #isUsed(region: string | undefined): boolean {
    const { region: own, otherRegions = false } = this.#options
    return own === undefined || region === own || otherRegions
  }

  #betterOfTwo(engines: readonly RosterEngine[]): RosterEngine | undefined {
    const { random = Math.random } = this.#options
    const first = engines[Math.floor(random() * engines.length)]
    const others = engines.filter((engine) => engine !== first)
    const second = others[Math.floor(random() * others.length)]
    if (first === undefined || second === undefined) return first
    return freePlaces(second) > freePlaces(first) ? second : first
  }

  #entryOf(engine: ProcessAddress): Entry | undefined {
    const known = this.#entries.get(engine.instance)
    if (known !== undefined || this.#entries.size >= maxEngines) return known
    const entry: Entry = {
      address: engine,
      models: new Map(),
      startedAtMs: 0,
      region: undefined,
      capacity: 0,
      used: 0,
      state: 'serving',
      version: 0,
      silentTicks: 0,
      forbiddenTicks: 0,
      failedTicks: 0,
      failures: 0,
      hasModels: false,
      isAlive: false,
    }
    this.#entries.set(engine.instance, entry)
    return entry
  }

  #remove(instance: string): void {
    const entry = this.#entries.get(instance)
    if (entry === undefined) return
    this.#entries.delete(instance)
    this.onLost(entry.address)
  }
}

const freePlaces = ({ capacity, used }: RosterEngine): number => capacity - used

const newestDigest = (engines: readonly RosterEngine[], label: string): string | undefined =>
  engines
    .reduce<RosterEngine | undefined>(
      (newest, engine) => (newest === undefined || engine.startedAtMs > newest.startedAtMs ? engine : newest),
      undefined,
    )
    ?.models.get(label)?.digest
