import type { JsonObject } from '../../protocol/json-object.js'
import type { Settings } from '../../protocol/dataflow-messages.js'
import type { FaultKind } from '../nodes/core/node-fault.js'
import type { NodeItem, PortFormats, Resource, SessionFacts } from '../nodes/core/node.js'

/** A resource as it crosses to the thread: a function cannot. */
export type SentResource =
  Exclude<Resource, { readonly kind: 'secret' }> | { readonly kind: 'secret'; readonly secret: string }

/** What a node in a thread may know of its session: `NodeContext` without what is alive. */
export interface SentContext {
  readonly node: string
  readonly session: SessionFacts
  readonly inputs: PortFormats
  readonly outputs: PortFormats
  readonly language: string
  readonly audioOutput: JsonObject | undefined
  readonly recordingsFolder: string | undefined
  readonly idleMs: number
  readonly settings: Settings
  readonly callProperties: Settings
  /** Those that its options name. */
  readonly resources: Readonly<Record<string, SentResource>>
}

export interface OpenMessage {
  readonly type: 'open'
  /** Which of the module's nodes. */
  readonly name: string
  readonly options: unknown
  readonly context: SentContext
}

export type ToNodeWorker =
  | OpenMessage
  /** Subscribes. */
  | { readonly type: 'run' }
  | { readonly type: 'items'; readonly items: readonly NodeItem[] }
  | { readonly type: 'update'; readonly settings: Settings; readonly callProperties: Settings }
  /** The input completes. */
  | { readonly type: 'finish' }
  /** The last `said` is dealt with; more may be said. */
  | { readonly type: 'heard' }

export type FromNodeWorker =
  | { readonly type: 'opened' }
  /** The node's factory refuses the session. */
  | { readonly type: 'refused'; readonly message: string }
  /** The last `items` are dealt with. */
  | { readonly type: 'taken' }
  | { readonly type: 'consumed'; readonly count: number; readonly port: string | undefined }
  | { readonly type: 'said'; readonly items: readonly NodeItem[] }
  | { readonly type: 'completed' }
  | { readonly type: 'failed'; readonly kind: FaultKind; readonly message: string }
  | {
      readonly type: 'log'
      readonly message: string
      readonly fields: Readonly<Record<string, string | number | boolean>>
    }

/** What a thread is started with. */
export interface NodeWorkerData {
  readonly type: 'rxspeech-custom-node'
  readonly file: string
}
