/** A session as lanes over one axis of time; `drawText` and `drawSvg` draw it. */
export interface MarbleChart {
  /** What was recorded, in a few words. */
  readonly title: string
  /** The whole of the axis, in milliseconds from the beginning of the session. */
  readonly durationMs: number
  readonly lanes: readonly MarbleLane[]
}

export const laneKinds = [
  'connection',
  'control',
  'audio',
  'speech',
  'partials',
  'milestones',
  'finals',
  'events',
] as const
export type LaneKind = (typeof laneKinds)[number]

export interface MarbleLane {
  readonly kind: LaneKind
  /** The kind, and which one of it where there are more. */
  readonly name: string
  readonly bars: readonly Bar[]
  readonly marbles: readonly Marble[]
  /** Amounts over time, in milliseconds of audio; drawn as heights. */
  readonly flow: readonly Flow[]
}

export interface Bar {
  readonly fromMs: number
  readonly toMs: number
  readonly label: string
  /** Still on the way, such as a connection that is being dialled. */
  readonly isFaint?: boolean
}

export interface Marble {
  readonly atMs: number
  readonly label: string
  /** Who caused it: the client says something, the service does, or neither. */
  readonly from: 'client' | 'service' | 'neither'
  readonly isFault?: boolean
}

export interface Flow {
  readonly atMs: number
  readonly audioMs: number
}
