import type { Observable, SchedulerLike } from 'rxjs'
import type { AudioFormat } from '../../audio/format.js'
import type { Engine } from '../engine/engine.js'
import type { NodeEvent } from '../../protocol/session-event.js'

/** What travels on a wire between nodes: audio of one or two channels, or an event. */
export type NodeItem =
  | { readonly type: 'audio'; readonly bytes: Uint8Array }
  | NodeEvent

/** What a node may know of its session. Everything from outside the data comes by here. */
export interface NodeContext {
  readonly format: AudioFormat
  readonly language: string
  /** Free primitives of the Start message, merged with later `Update`s: read them when you need them. */
  readonly settings: () => Readonly<Record<string, string | number | boolean>>
  readonly callProperties: () => Readonly<Record<string, string | number | boolean>>
  /** A loaded model by the session's tenant rules; errors with `model-denied`. */
  readonly engine: (model: { tenant?: string; name?: string; version?: string }) => Promise<Engine>
  readonly scheduler: SchedulerLike
}

/**
 * One step of a project. Completion of the input is finalize (flush, then complete); unsubscription is cancel.
 * No `subscribe` inside; no state outside the subscription.
 */
export type Node = (input$: Observable<NodeItem>, context: NodeContext) => Observable<NodeItem>
