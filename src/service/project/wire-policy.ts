import type { NodeItem, PortKind } from '../nodes/core/node.js'
import type { WhenFull } from './project-graph.js'

/** What a wire may hold, counted in frames of audio or in events. */
export interface WireTerms {
  readonly kind: PortKind
  readonly whenFull: WhenFull
  readonly capacity: number
  /** What a wire that blocks takes above its capacity before it calls that a flood. */
  readonly slack: number
  /** Of audio: the bytes of a frame, and of one piece of silence. */
  readonly frameBytes: number
  readonly silence: Uint8Array
}

/** An episode of drops, told when it begins and when it ends. */
export interface Drops {
  readonly phase: 'begun' | 'ended'
  /** Frames or events since the episode began. */
  readonly dropped: number
  /** How much the wire had been given when the episode began. */
  readonly atCount: number
}

/** What a wire says of what it was given. */
export type Offered = 'taken' | 'full' | 'flooded'

/** What waits in a wire: what was given, or the silence that stands for what was dropped. */
export type Waiting = NodeItem | { readonly type: 'silence'; readonly frames: number }
