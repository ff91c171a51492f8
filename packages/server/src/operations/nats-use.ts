export const segmentLosses = [
  'gone',
  'silent',
  'bus',
  'gap',
  'unanswered',
  'stalled',
  'slow',
  'violation',
  'refused',
] as const
/** Why an attempt of a segment on an engine process ended without a result. */
export type SegmentLoss = (typeof segmentLosses)[number]

/** What happened to segments since the fleet was opened. */
export interface FleetCounts {
  /** Attempts that ended without a result, by cause. */
  readonly lost: Readonly<Partial<Record<SegmentLoss, number>>>
  /** How often an engine had no place for a segment, although its adverts had one. */
  readonly full: number
  /** How long segments waited for a place, in total, in milliseconds. */
  readonly waitedMs: number
}

/** What operators see of a fleet. */
export interface FleetUse extends FleetCounts {
  /** Engine processes that are there. */
  readonly processes: number
  /** How much the clock of one of them, and that of this process, differ at most. */
  readonly clockDifferenceMs: number
  readonly models: readonly {
    readonly label: string
    readonly engines: number
    /** Their places: used, free, or not used because their engines are behind. */
    readonly used: number
    readonly free: number
    readonly behind: number
  }[]
  /** Segments that wait for a place. */
  readonly waiting: number
}

/** What engine processes serve. */
export interface ModelContent {
  readonly label: string
  /** Of the content of its folder. */
  readonly digest: string
  /** How many serve it. */
  readonly engines: number
}

/** How much of a digest lists, lines of the log and labels show. */
export const shownDigest = (digest: string): string => digest.slice(0, 8)

/** What operators see of a connection to NATS, and of the engines on it. */
export interface NatsUse {
  readonly isUp: boolean
  /** Messages that the server did not accept, since the start. */
  readonly refused: number
  /** The places of an engine process for segments. */
  readonly places?: { readonly used: number; readonly capacity: number; readonly isBehind: boolean } | undefined
  /** Of this engine process, or of those that a service uses. */
  readonly contents?: readonly ModelContent[] | undefined
  /** The engine processes that a service uses. */
  readonly fleet?: FleetUse | undefined
}
