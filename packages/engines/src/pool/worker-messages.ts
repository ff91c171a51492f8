import { performance } from 'node:perf_hooks'
import { receiveMessageOnPort, type MessagePort } from 'node:worker_threads'
import type { Word } from 'rxspeech/internal/protocol/session-event'
import type { PhraseFault, RecognizeSettings, SegmentText } from '../engine.js'
import type { ReadRequest } from '../offline/reader.js'

/**
 * To a worker of an engine with the capability `phrases`, `check-phrases` at any time, which `phrases-checked` answers.
 */
export type ToWorker =
  SegmentMessage | { readonly type: 'check-phrases'; readonly check: number; readonly phrases: readonly string[] }

/** What a segment is read with: of a session, and of the reading. */
export interface WorkerSettings extends RecognizeSettings {
  /** See `ReadRequest`. @default 'final' */
  readonly purpose?: ReadRequest['purpose'] | undefined
}

/** To a worker, in this order for each segment: `open`, `audio` and `check`…, then `close` or `abort`. */
export type SegmentMessage =
  | {
      readonly type: 'open'
      readonly segment: number
      readonly startMs: number
      readonly settings?: WorkerSettings | undefined
    }
  /** One frame of one channel at the engine's rate; only the last one of a segment is shorter. */
  | { readonly type: 'audio'; readonly segment: number; readonly samples: Int16Array }
  /** Asks whether what was decoded is a complete sentence that cannot continue. */
  | { readonly type: 'check'; readonly segment: number }
  | { readonly type: 'close'; readonly segment: number; readonly endMs: number; readonly isCut?: boolean }
  | { readonly type: 'abort'; readonly segment: number }

/**
 * From a worker: `ready` or `refused` once, then the progress and the results of segments. Nothing follows an `abort`.
 */
export type FromWorker = WorkerEvent & {
  /** How long its thread has worked since the message before this one, in milliseconds. Absent until it is ready. */
  readonly busyMs?: number | undefined
}

type WorkerEvent =
  | { readonly type: 'ready' }
  /** The model cannot be used; the sentence is the reason. */
  | { readonly type: 'refused'; readonly sentence: string }
  /** Audio was decoded; `partial` is the text so far if it changed, see `SegmentListener`. Answers each `audio`. */
  | {
      readonly type: 'progress'
      readonly segment: number
      readonly sampleCount: number
      readonly partial?: string | undefined
      readonly stableLength?: number | undefined
    }
  /** Answers each `check`. */
  | { readonly type: 'checked'; readonly segment: number; readonly isComplete: boolean }
  /** The worker is alive during a long step. */
  | { readonly type: 'working' }
  /** The worker has more memory than it should: another is started in its place. */
  | { readonly type: 'worn' }
  /** `text` is absent if it consists of the words. */
  | {
      readonly type: 'decided'
      readonly segment: number
      readonly words: readonly Word[]
      readonly text?: SegmentText | undefined
    }
  | { readonly type: 'failed'; readonly segment: number }
  | { readonly type: 'phrases-checked'; readonly check: number; readonly faults: readonly PhraseFault[] }

/** How long the event loop of this thread was active, in milliseconds. Each thread has its own. */
const activeMs = (): number => performance.eventLoopUtilization().active

/**
 * Adds to each message after `ready` how long the thread worked since the message before. The loading of the model is
 * not counted; work for an aborted segment is reported with the next message.
 */
export const reportBusyTime = (
  post: (message: FromWorker) => void,
  workedMs: () => number = activeMs,
): ((message: FromWorker) => void) => {
  let reportedMs: number | undefined
  return (message) => {
    const nowMs = workedMs()
    post(reportedMs === undefined ? message : { ...message, busyMs: nowMs - reportedMs })
    if (reportedMs !== undefined || message.type === 'ready') reportedMs = nowMs
  }
}

/**
 * Takes the next message that was sent and not received yet, without a turn of the event loop; undefined if none is
 * left.
 */
export const takeNextFrom = (port: MessagePort) => (): ToWorker | undefined =>
  (receiveMessageOnPort(port) as { readonly message: ToWorker } | undefined)?.message
