import type { Observable, SchedulerLike } from 'rxjs'
import type { AudioFormat } from '../../audio/format.js'
import type { EventEnvelope } from '../../protocol/event-envelope.js'
import type { JsonObject } from '../../protocol/json-object.js'
import type { Settings } from '../../protocol/settings.js'
import type { Engine } from '../engine/engine.js'

/** What travels on a wire between nodes: audio in the session's format, whole frames; or an event. */
export type NodeItem =
  { readonly type: 'audio'; readonly bytes: Uint8Array } | { readonly type: 'event'; readonly event: EventEnvelope }

/** A model by the names that a client may give; what is left out is the project's default. */
export interface ModelName {
  readonly tenant?: string
  readonly name?: string
  readonly version?: string
}

/** What a node may know of its session. Everything from outside the data comes by here. */
export interface NodeContext {
  readonly format: AudioFormat
  readonly language: string
  /** `Audio.Output` of the Start message as it came: what the client wants to hear back. */
  readonly audioOutput: JsonObject | undefined
  /** Free primitives of the Start message, merged with later `Update`s: read them when you need them. */
  readonly settings: () => Settings
  readonly callProperties: () => Settings
  /** A model that the session may use, loaded; rejects with `model-denied`. */
  readonly engine: (model: ModelName) => Promise<Engine>
  /**
   * To be told how many samples of a channel are consumed, so that what is under way stays bounded: the client is not
   * read from while too much is. `Infinity` for a channel of which no more is wanted.
   */
  readonly consumed: (channel: number, sampleCount: number) => void
  /** Milliseconds without audio after which a node flushes and ends; 0 is never. */
  readonly idleMs: number
  readonly scheduler: SchedulerLike
}

/**
 * One step of a project. Completion of the input is finalize (flush, then complete); unsubscription is cancel.
 * No `subscribe` inside; no state outside the subscription.
 */
export type Node = (input$: Observable<NodeItem>, context: NodeContext) => Observable<NodeItem>

/** Checks what the session asks of a node and fetches what it needs, before the start is answered; rejects to refuse. */
export type OpenNode = (context: NodeContext) => Promise<Node>
