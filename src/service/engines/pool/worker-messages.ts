import type { Word } from '../../../protocol/session-event.js'
import type { DecidedWhole } from '../channel-segments.js'

/** To a worker that decodes, in this order for each segment: `open`, `audio`…, then `close` or `abort`. */
export type ToWorker =
  | { readonly type: 'open'; readonly segment: number; readonly startMs: number }
  /** One hop of one channel at the engine's rate; only the last of a segment is shorter. */
  | { readonly type: 'audio'; readonly segment: number; readonly samples: Int16Array }
  | { readonly type: 'close'; readonly segment: number; readonly endMs: number }
  | { readonly type: 'abort'; readonly segment: number }

/** From the worker: `ready` or `refused` once, then what becomes of the segments. Nothing follows an `abort`. */
export type FromWorker = WorkerNews & {
  /** How long its thread has worked since it was ready and no message before told of, in milliseconds. */
  readonly busyMs?: number
}

type WorkerNews =
  | { readonly type: 'ready' }
  /** The model can't be used; the sentence says why. */
  | { readonly type: 'refused'; readonly sentence: string }
  /** An `audio` message was decoded; `partial` is there when the text changed by it. */
  | { readonly type: 'taken'; readonly segment: number; readonly sampleCount: number; readonly partial?: string }
  /** It is busy with what takes a while. */
  | { readonly type: 'working' }
  /** `whole` where the words alone do not say the text. */
  | {
      readonly type: 'decided'
      readonly segment: number
      readonly words: readonly Word[]
      readonly whole?: DecidedWhole
    }
  | { readonly type: 'failed'; readonly segment: number }
