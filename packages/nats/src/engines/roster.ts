import {
  nameOf,
  protocolVersion,
  type AdvertisedModel,
  type EngineAdvert,
  type ModelsAdvert,
  type ProcessAddress,
} from './protocol.js'
import { defaultMaxLagMs, isBehind } from 'rxspeech-engines/lag'
import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { ClockDifference } from './clock-difference.js'
import { Counts, ModelOffers, type ModelOffersOptions } from './model-offers.js'
import {
  betterOfTwo,
  chooseEngine,
  isFaster,
  type Candidate,
  type RosterEngine,
  type WantedModel,
} from './placement.js'

/** How often leases and attempts are checked, in milliseconds. */
export const tickMs = 100
/**
 * An engine that is silent for this many ticks is lost. Ticks and not milliseconds: after a pause of this process
 * itself, its timer runs once before it reads the adverts that arrived meanwhile.
 */
const leaseTicks = 10
/** An engine that this process may not send to is left alone for this many ticks: permissions rarely change. */
const forbiddenTicks = 300
/**
 * An engine that has failed a segment comes after the others for this many ticks. Otherwise one that fails at once
 * would get the most segments, because its places are always free, and a segment again that it has failed. Each time
 * that it fails again, without a result in between, it is twice as long, up to 320 s: if it answers late or never, each
 * trial delays a segment.
 */
const failedTicks = 100
const maxFailedTicks = 3_200
/** How many engines that were silent are remembered, with how often they have failed. */
const maxSilent = 256
/** An engine whose work has not gone on for this many ticks is not slow, but hangs. */
const hangingTicks = 100
/**
 * More engine processes than a deployment has; adverts of others are ignored. Of one name, so that no user can hide
 * those of others.
 */
const maxEngines = 4_096
const maxEnginesOfName = 512
/** A process that reports its places but not its models is asked for them again after this many ticks. */
const askAgainTicks = 10

/** A larger difference of clocks is reported, in milliseconds. */
const maxClockDifferenceMs = 60_000

/** It announced its end, or it has been silent for a second. */
export type EngineEnd = 'gone' | 'silent'

interface Entry extends Candidate {
  readonly clock: ClockDifference
  address: ProcessAddress
  models: ReadonlyMap<string, AdvertisedModel>
  startedAtMs: number
  region: string | undefined
  host: string | undefined
  software: string | undefined
  hasReturned: boolean
  capacity: number
  used: number
  state: EngineAdvert['state']
  lagMs: number
  isBehind: boolean
  clockAheadMs: number | undefined
  /** Whether `onClock` was called for it. */
  isClockWrong: boolean
  progress: number
  /** By the labels of the models. */
  partialIntervalsMs: ReadonlyMap<string, number>
  /** Since its work has gone on. */
  idleTicks: number
  /** Of its messages. */
  version: number
  silentTicks: number
  /** How long it has been asked for its models. */
  askedTicks: number
  /** The start that it advertises by its own clock; `startedAtMs` is by the clock of this process. */
  advertisedStartMs: number
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

export interface RosterOptions extends ModelOffersOptions {
  /** Engines of this region come first. @default none: all are equal */
  readonly region?: string | undefined
  /** Whether segments may go to engines of other regions while none of the own one has a place. @default false */
  readonly otherRegions?: boolean | undefined
  /** The lag beyond which an engine is behind, in milliseconds. @default 1000 */
  readonly maxLagMs?: number | undefined
  /** @default Math.random */
  readonly random?: (() => number) | undefined
  /** The time, in milliseconds since 1970. @default Date.now */
  readonly now?: (() => number) | undefined
}

/** Follows the adverts of all engines: which are there, with which models and how many free places. */
export class Roster {
  readonly #options: RosterOptions
  readonly #now: () => number
  readonly #entries = new Map<string, Entry>()
  /** How often engines had failed that were lost because they were silent, by address; the oldest come first. */
  readonly #silent = new Map<string, number>()
  readonly #entriesOfName = new Counts()
  readonly #offers: ModelOffers<Entry>
  /** How many engines thin partials of some model. */
  #thinning = 0
  /** Called when both adverts of an engine have arrived. */
  onJoined: (engine: RosterEngine) => void = () => undefined
  /** Called when the clock of an engine begins to differ by more than 60 s. */
  onClock: (engine: RosterEngine) => void = () => undefined
  /** Called with the engines that are lost. */
  onLost: (engine: ProcessAddress, how: EngineEnd) => void = () => undefined
  /** Called when an engine may have a free place. */
  onFree: () => void = () => undefined

  constructor(options: RosterOptions = {}) {
    this.#options = options
    this.#offers = new ModelOffers(options)
    this.#now = options.now ?? Date.now
  }

  /** Called with what is ignored of adverts. */
  set onIgnored(onIgnored: (error: SpeechError) => void) {
    this.#offers.onIgnored = onIgnored
  }

  /** Returns whether this engine should be asked for its models. */
  alive(advert: EngineAdvert): boolean {
    const { v, engine, capacity, used, state, lagMs = 0, progress = 0, partialIntervalsMs = {}, sentAtMs } = advert
    const entry = state === 'gone' ? this.#known(engine) : this.#entryOf(engine)
    if (state === 'gone') this.#silent.delete(keyOf(engine))
    if (entry === undefined) return false
    if (state === 'gone') {
      this.#remove(entry, 'gone')
      return false
    }
    const wasThere = isThere(entry)
    entry.isAlive = true
    entry.silentTicks = 0
    entry.capacity = capacity
    entry.used = used
    entry.state = state
    entry.version = v
    entry.lagMs = lagMs
    entry.isBehind = isBehind(entry.isBehind, lagMs, this.#options.maxLagMs ?? defaultMaxLagMs)
    if (progress !== entry.progress) entry.idleTicks = 0
    entry.progress = progress
    this.#setPartialIntervals(entry, new Map(Object.entries(partialIntervalsMs)))
    if (!wasThere && isThere(entry)) this.onJoined(entry)
    if (sentAtMs !== undefined) this.#compareClocks(entry, sentAtMs)
    if (entry.hasModels && used < capacity) this.onFree()
    if (entry.hasModels || entry.askedTicks < askAgainTicks) return false
    entry.askedTicks = 0
    return true
  }

  /** An engine process with this subject has another version of the messages. */
  ignoreVersion(subject: string, version: number): void {
    const name = nameOf(subject)
    this.#offers.ignore(
      name,
      'version',
      `The engine process ${name} has version ${version} of the messages, and this service has ${protocolVersion}, so it gets no segments; run versions of rxspeech with the same one.`,
    )
  }

  #compareClocks(entry: Entry, sentAtMs: number): void {
    entry.clock.arrived(sentAtMs, this.#now())
    entry.clockAheadMs = entry.clock.aheadMs
    const isWrong = Math.abs(entry.clockAheadMs ?? 0) > maxClockDifferenceMs
    if (isWrong && !entry.isClockWrong) this.onClock(entry)
    entry.isClockWrong = isWrong
  }

  models({ engine, models, startedAtMs, ageMs, region, host, software }: ModelsAdvert): void {
    const entry = this.#entryOf(engine)
    if (entry === undefined) return
    const wasThere = isThere(entry)
    entry.hasModels = true
    // One whose clock is ahead would count as the newest for ever.
    if (startedAtMs !== entry.advertisedStartMs) {
      const nowMs = this.#now()
      entry.startedAtMs = ageMs === undefined ? Math.min(startedAtMs, nowMs) : nowMs - ageMs
    }
    entry.advertisedStartMs = startedAtMs
    entry.region = region
    entry.host = host
    entry.software = software
    this.#offers.replace(entry, models)
    if (!wasThere && isThere(entry)) this.onJoined(entry)
    this.onFree()
  }

  /** Call every `tickMs` while the bus is up. */
  tick(): void {
    this.#offers.tick()
    for (const entry of this.#entries.values()) {
      entry.silentTicks += 1
      entry.askedTicks += 1
      entry.idleTicks += 1
      entry.forbiddenTicks = Math.max(entry.forbiddenTicks - 1, 0)
      entry.failedTicks = Math.max(entry.failedTicks - 1, 0)
      if (entry.silentTicks < leaseTicks) continue
      this.#rememberSilent(entry)
      this.#remove(entry, 'silent')
    }
  }

  /** The engines that are there, in regions that are used; draining ones included. */
  get engines(): readonly RosterEngine[] {
    return [...this.#entries.values()].filter((entry) => isThere(entry) && this.#isUsed(entry.region))
  }

  /** The engines that take segments of this model. */
  serving(model: Pick<WantedModel, 'label'> & Partial<WantedModel>): readonly RosterEngine[] {
    return this.#serving(model)
  }

  #serving(model: Pick<WantedModel, 'label'> & Partial<WantedModel>): readonly Entry[] {
    return this.#offers.of(model.label).filter((engine) => this.#isServing(engine, model))
  }

  /** The labels of the models of `engines`, each with the adverts of the engines that are used for it. */
  *offers(): Iterable<readonly [label: string, adverts: readonly AdvertisedModel[]]> {
    for (const label of this.#offers.labels) {
      const there = this.#offers.of(label).filter((entry) => isThere(entry) && this.#isUsed(entry.region))
      if (there.length > 0) yield [label, there.flatMap(({ models }) => models.get(label) ?? [])]
    }
  }

  /** An engine with a free place; see `chooseEngine`. */
  choose(model: WantedModel, tried: ReadonlySet<string>): RosterEngine | undefined {
    const { region, random = Math.random } = this.#options
    return chooseEngine(this.#serving(model), model, { region, tried, random })
  }

  /** Whether an engine is behind, and works. */
  isSlow({ instance }: ProcessAddress): boolean {
    const entry = this.#entries.get(instance)
    return entry !== undefined && entry.isBehind && entry.idleTicks < hangingTicks
  }

  /** See `Engine.partialIntervalMs`; the longest of the engines that serve the model. Channels ask as audio arrives. */
  partialIntervalMs(model: WantedModel): number {
    if (this.#thinning === 0) return 0
    return Math.max(
      0,
      ...this.#serving(model).map(({ partialIntervalsMs }) => partialIntervalsMs.get(model.label) ?? 0),
    )
  }

  #setPartialIntervals(entry: Entry, partialIntervalsMs: Entry['partialIntervalsMs']): void {
    this.#thinning += Number(partialIntervalsMs.size > 0) - Number(entry.partialIntervalsMs.size > 0)
    entry.partialIntervalsMs = partialIntervalsMs
  }

  /** Whether another engine has a place for the model, and clearly less lag than this one. */
  hasFaster(model: WantedModel, { instance }: ProcessAddress): boolean {
    const lagMs = this.#entries.get(instance)?.lagMs ?? Infinity
    return this.#serving(model).some((other) => other.address.instance !== instance && isFaster(other, lagMs))
  }

  /** One of the engines that take phrases of sessions for this model; a check of phrases needs no place. */
  chooseForPhrases(model: WantedModel, tried: ReadonlySet<string>): RosterEngine | undefined {
    const able = this.serving({ ...model, phrases: true })
    const { random = Math.random } = this.#options
    return betterOfTwo(
      able.filter(({ address }) => !tried.has(address.instance)),
      random,
    )
  }

  /** A place was taken, or the engine reported that it is full: counts until its next advert. */
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
   * The engine accepted a segment and returned no result. The time spent waiting extends its penalty, so that the retry
   * goes to another engine.
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

  /** Counts a place as free before the next advert confirms it. */
  freed({ instance }: ProcessAddress): void {
    const entry = this.#entries.get(instance)
    if (entry === undefined) return
    entry.used = Math.max(entry.used - 1, 0)
    this.onFree()
  }

  #isServing(
    { state, version, models, region, hasModels, isAlive, forbiddenTicks: leftAlone }: Entry,
    { label, sampleRateHz, phrases = false, language, isSpare }: Pick<WantedModel, 'label'> & Partial<WantedModel>,
  ): boolean {
    const model = models.get(label)
    if (!hasModels || !isAlive || leftAlone > 0 || state !== 'serving' || model === undefined) return false
    // It refuses all segments of this version.
    if (version !== protocolVersion) return false
    if (sampleRateHz !== undefined && model.sampleRateHz !== sampleRateHz) return false
    if (phrases && model.phrases !== true) return false
    // The places of sessions are for them, and so is the CPU of their engine processes.
    if (isSpare === true && models.size > 1) return false
    if (language !== undefined && model.languages?.includes(language) !== true) return false
    return this.#isUsed(region)
  }

  #isUsed(region: string | undefined): boolean {
    const { region: own, otherRegions = false } = this.#options
    return own === undefined || region === own || otherRegions
  }

  /** Undefined also for the instance of another name, which only a forged advert has. */
  #known({ name, instance }: ProcessAddress): Entry | undefined {
    const known = this.#entries.get(instance)
    return known?.address.name === name ? known : undefined
  }

  #entryOf(engine: ProcessAddress): Entry | undefined {
    const { name, instance } = engine
    if (this.#entries.has(instance)) return this.#known(engine)
    if (this.#entriesOfName.of(name) >= maxEnginesOfName || this.#entries.size >= maxEngines) {
      const bounds = `${maxEnginesOfName} of one name and ${maxEngines} in all`
      this.#offers.ignore(
        name,
        'instances',
        `The engine process ${name} has an instance that is not used, because there are ${bounds}.`,
      )
      return undefined
    }
    this.#entriesOfName.add(name, 1)
    const entry: Entry = {
      address: engine,
      models: new Map(),
      startedAtMs: 0,
      region: undefined,
      host: undefined,
      software: undefined,
      hasReturned: this.#silent.has(keyOf(engine)),
      capacity: 0,
      used: 0,
      state: 'serving',
      version: 0,
      lagMs: 0,
      isBehind: false,
      clock: new ClockDifference(),
      clockAheadMs: undefined,
      isClockWrong: false,
      progress: 0,
      partialIntervalsMs: new Map(),
      idleTicks: 0,
      silentTicks: 0,
      askedTicks: askAgainTicks,
      advertisedStartMs: -1,
      forbiddenTicks: 0,
      failedTicks: 0,
      failures: this.#silent.get(keyOf(engine)) ?? 0,
      hasModels: false,
      isAlive: false,
    }
    this.#entries.set(instance, entry)
    // One that was silent rests: it comes after the others, as after a failure.
    if (this.#silent.delete(keyOf(engine))) this.failed(engine)
    return entry
  }

  #rememberSilent({ address, failures }: Entry): void {
    this.#silent.set(keyOf(address), failures)
    const [oldest] = this.#silent.keys()
    if (this.#silent.size > maxSilent && oldest !== undefined) this.#silent.delete(oldest)
  }

  #remove(entry: Entry, how: EngineEnd): void {
    const { name, instance } = entry.address
    this.#entries.delete(instance)
    this.#setPartialIntervals(entry, new Map())
    this.#entriesOfName.add(name, -1)
    this.#offers.replace(entry, [])
    if (isThere(entry)) this.onLost(entry.address, how)
  }
}

/** Whether both of its adverts have arrived. */
const isThere = ({ hasModels, isAlive }: Entry): boolean => hasModels && isAlive

const keyOf = ({ name, instance }: ProcessAddress): string => `${name} ${instance}`
