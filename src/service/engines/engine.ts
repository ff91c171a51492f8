import type { OperatorFunction } from 'rxjs'
import type { SpeechError } from '../../errors/speech-error.js'
import type { Word } from '../../protocol/session-event.js'

/** What goes into a recognition lane of one channel, segment by segment: `open`, `audio`…, `close`, `open`, … */
export type SegmentPart =
  | { readonly type: 'open'; readonly startMs: number }
  /** 16-bit samples of one channel at the engine's rate. They may be kept; the sender does not reuse them. */
  | { readonly type: 'audio'; readonly samples: Int16Array }
  | { readonly type: 'close'; readonly endMs: number }

/** What comes out, in order. Times are milliseconds since the session's first sample. */
export type Hypothesis =
  /** The open segment so far; may change. */
  | { readonly type: 'partial'; readonly startMs: number; readonly text: string }
  /** The segment, decided; exactly one for every `close`, its text empty where nothing was recognized. */
  | {
      readonly type: 'segment'
      readonly startMs: number
      readonly endMs: number
      readonly text: string
      readonly words: readonly Word[]
      /** 0 to 1, of the whole; read where the engine gives no words. */
      readonly confidence?: number
    }
  /** So many samples more were taken in; the caller bounds what it has under way by this. 0 is a sign of life. */
  | { readonly type: 'progress'; readonly sampleCount: number }
  /**
   * The engine broke within the segment that began at `startMs`. `retried`: the segment is read again from its start;
   * else the error itself follows. Told by what guards an engine, never by an engine.
   */
  | { readonly type: 'fault'; readonly startMs: number; readonly error: SpeechError; readonly retried: boolean }

export interface EngineCapabilities {
  readonly sampleRateHz: number
  readonly partials: boolean
  readonly words: boolean
  readonly kind: 'grammar' | 'dictation'
  /** Segments that can be decoded at the same time. More wait in line. */
  readonly segmentsAtOnce: number
}

/**
 * One model, loaded. `recognize()` makes the operator for one channel of one session: subscription costs nothing until
 * a segment opens; completion of the input flushes the open segment and completes after its `segment`;
 * unsubscription aborts at once and frees what it held. A fault is an error with code `engine-failed`; one that is not
 * `retryable` says that a lane anew would fare no better, and one whose cause has the code of a lost connection, such as
 * `connection-lost`, that the engine itself is gone for now. `overloaded` goes to the client as it is, with its `retryAfterMs`.
 */
export interface Engine {
  readonly capabilities: EngineCapabilities
  recognize(): OperatorFunction<SegmentPart, Hypothesis>
  /** Resolves when the engine can recognize (warm), rejects with a `SpeechError` when it can't. */
  ready(): Promise<void>
  /**
   * How long its threads have worked on audio since it was opened, all together, in milliseconds; over the length of that
   * audio it is the real-time factor. Absent or undefined where the work is done elsewhere, or not counted.
   */
  busyMs?(): number | undefined
  /** Frees everything; sessions that run get `engine-failed`. Idempotent. */
  close(): Promise<void>
}

/** A model folder as found in the registry: what `model.json` says, and where its files are. */
export interface ModelDescription {
  readonly tenant: string
  readonly name: string
  readonly version: string
  readonly folder: string
  /** The decoded `model.json`: an engine's name and that engine's own options. */
  readonly options: { readonly engine: string; readonly [key: string]: unknown }
}

/** Makes engines of one kind. Throws or rejects with `invalid-model` that names the key or file that is wrong. */
export interface EngineKind {
  readonly name: string
  open(model: ModelDescription): Promise<Engine>
}
