import type { AdvertisedModel, EngineAdvert, ProcessAddress } from './protocol.js'

/** A model as sessions need it: engines with another rate cannot take over. */
export interface WantedModel {
  /** `<tenant>/<name>/<version>`. */
  readonly label: string
  readonly sampleRateHz: number
  /** Whether its engine has to take the phrases of a session. @default false */
  readonly phrases?: boolean | undefined
  /** The language of a session, which its engine has to offer. @default none */
  readonly language?: string | undefined
  /** Whether no session waits for its segments, so that only engines without other models have places for them. @default false */
  readonly isSpare?: boolean | undefined
}

/** An engine process, as its adverts describe it. */
export interface RosterEngine {
  readonly address: ProcessAddress
  readonly models: ReadonlyMap<string, AdvertisedModel>
  readonly startedAtMs: number
  readonly region: string | undefined
  /** The host that it runs on, and its version of the package; undefined if it does not report them. */
  readonly host: string | undefined
  readonly software: string | undefined
  /** Whether it was lost before, because it was silent. */
  readonly hasReturned: boolean
  readonly capacity: number
  readonly used: number
  readonly state: EngineAdvert['state']
  /** How far it is behind its speakers, in milliseconds. */
  readonly lagMs: number
  /** Whether that is too much: segments go to others, and no session counts on its places. */
  readonly isBehind: boolean
  /** How far its clock is ahead of this one, in milliseconds; undefined if it does not report its time. */
  readonly clockAheadMs: number | undefined
}

/** An engine as placement sees it. */
export interface Candidate extends RosterEngine {
  /** How long it comes after the others, because it has failed a segment or was silent; 0 otherwise. */
  readonly failedTicks: number
}

export interface PlacementOptions {
  /** Engines of this region come before others. @default none: all are equal */
  readonly region?: string | undefined
  /** Instances that had no place for the segment. */
  readonly tried: ReadonlySet<string>
  readonly random: () => number
}

/** A smaller difference of lags does not count. */
const clearLagMs = 250

/**
 * The better of two random engines with a free place: almost as good as the best of all, without all edges choosing the
 * same one at once. Engines that are not behind and have not just failed or been silent come first, if necessary in
 * another region. Then those of the own region come before others, those that have not failed before those that have,
 * and those whose model is of the newest engine before those that still have an older one. Undefined if no engine has a
 * free place.
 */
export const chooseEngine = (
  serving: readonly Candidate[],
  { label }: Pick<WantedModel, 'label'>,
  { region, tried, random }: PlacementOptions,
): RosterEngine | undefined => {
  const free = serving.filter((engine) => hasPlace(engine) && !tried.has(engine.address.instance))
  const digest = newestDigest(serving, label)
  const preferences: readonly ((engine: Candidate) => boolean)[] = [
    isFit,
    (engine) => region === undefined || engine.region === region,
    (engine) => engine.failedTicks === 0,
    ({ models }) => models.get(label)?.digest === digest,
  ]
  return betterOfTwo(preferences.reduce(preferring, free), random)
}

/** Of two random engines the one with clearly less lag, otherwise the one with more free places. */
export const betterOfTwo = (engines: readonly RosterEngine[], random: () => number): RosterEngine | undefined => {
  const first = engines[Math.floor(random() * engines.length)]
  const others = engines.filter((engine) => engine !== first)
  const second = others[Math.floor(random() * others.length)]
  if (first === undefined || second === undefined) return first
  return isBetter(second, first) ? second : first
}

/**
 * Whether a segment that another engine with this lag has begun would clearly be decided sooner here, from its start
 * on.
 */
export const isFaster = (engine: Candidate, lagMs: number): boolean =>
  hasPlace(engine) && isFit(engine) && 2 * engine.lagMs + clearLagMs < lagMs

const hasPlace = ({ used, capacity }: RosterEngine): boolean => used < capacity

const isFit = ({ isBehind, failedTicks }: Candidate): boolean => !isBehind && failedTicks === 0

/** Those of the engines that are preferred, or all if none is. */
const preferring = (
  engines: readonly Candidate[],
  isPreferred: (engine: Candidate) => boolean,
): readonly Candidate[] => {
  const preferred = engines.filter(isPreferred)
  return preferred.length === 0 ? engines : preferred
}

const isBetter = (one: RosterEngine, other: RosterEngine): boolean =>
  Math.abs(one.lagMs - other.lagMs) > clearLagMs ? one.lagMs < other.lagMs : freePlaces(one) > freePlaces(other)

const freePlaces = ({ capacity, used }: RosterEngine): number => capacity - used

const newestDigest = (engines: readonly RosterEngine[], label: string): string | undefined =>
  engines
    .reduce<RosterEngine | undefined>(
      (newest, engine) => (newest === undefined || engine.startedAtMs > newest.startedAtMs ? engine : newest),
      undefined,
    )
    ?.models.get(label)?.digest
