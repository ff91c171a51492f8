import type { AudioFormat } from 'rxspeech/internal/audio/format'
import type { Settings } from 'rxspeech/internal/protocol/dataflow-messages'
import type { FaultKind, NodeContext, NodeItem, Resource } from '../nodes/core/node.js'

/** A resource as it is sent to a thread, which cannot receive functions. */
export type SentResource =
  Exclude<Resource, { readonly kind: 'secret' }> | { readonly kind: 'secret'; readonly secret: string }

/** The data of a `NodeContext`, which a node in a thread gets. */
export interface SentContext extends Pick<
  NodeContext,
  'node' | 'session' | 'inputs' | 'outputs' | 'language' | 'audioOutput'
> {
  readonly sessionFormat: AudioFormat | undefined
  readonly offsetMs: number | undefined
  readonly recordingsFolder: string | undefined
  readonly idleMs: number
  readonly settings: Settings
  readonly callProperties: Settings
  /** The resources that the node's options name. */
  readonly resources: Readonly<Record<string, SentResource>>
}

export interface OpenMessage {
  readonly type: 'open'
  /** The name of one of the module's nodes. */
  readonly name: string
  readonly options: unknown
  readonly context: SentContext
}

export type ToNodeWorker =
  | OpenMessage
  /** Subscribes to the node. */
  | { readonly type: 'run' }
  | { readonly type: 'input'; readonly items: readonly NodeItem[] }
  | { readonly type: 'update'; readonly settings: Settings; readonly callProperties: Settings }
  /** Completes the input. */
  | { readonly type: 'finish' }
  /** The last `output` was delivered. */
  | { readonly type: 'delivered' }

export type FromNodeWorker =
  | { readonly type: 'opened' }
  /** The node's factory refused the session. */
  | { readonly type: 'refused'; readonly message: string }
  /** The node has returned from the last `input`. */
  | { readonly type: 'processed' }
  | { readonly type: 'ack'; readonly count: number; readonly port: string | undefined }
  | { readonly type: 'output'; readonly items: readonly NodeItem[] }
  | { readonly type: 'completed' }
  | { readonly type: 'failed'; readonly kind: FaultKind; readonly message: string }
  | {
      readonly type: 'log'
      readonly message: string
      readonly fields: Readonly<Record<string, string | number | boolean>>
    }

/** The `workerData` of a thread. */
export interface NodeWorkerData {
  readonly type: 'rxspeech-custom-node'
  readonly file: string
}
