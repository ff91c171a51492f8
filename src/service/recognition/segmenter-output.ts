import type { SegmentPart } from '../engine/engine.js'

/** What happened to the voice of one channel. Times are milliseconds of audio since its first sample. */
export type VoiceEvent =
  /** A segment begins at `startMs`, its pre-speech buffer included; this was decided at `atMs`. */
  | { readonly type: 'speech-started'; readonly startMs: number; readonly atMs: number }
  /** The segment `[startMs, endMs)` is closed. */
  | { readonly type: 'speech-ended'; readonly startMs: number; readonly endMs: number }

/** Nobody spoke in `[startMs, endMs)`, and no segment that is still to come begins before `endMs`. */
export interface Silence {
  readonly type: 'silence'
  readonly startMs: number
  readonly endMs: number
}

/**
 * What a segmenter says, in order: for each segment `speech-started`, `open`, `audio`…, `speech-ended`, `close`; between
 * segments `silence` for each 30 s of it; and, once for each stretch of silence that reaches the threshold,
 * `graceful-silence`; and `pause` once, when it was asked to retire and no segment is open.
 */
export type SegmenterOutput =
  | SegmentPart
  | VoiceEvent
  | Silence
  | { readonly type: 'graceful-silence'; readonly atMs: number }
  | { readonly type: 'pause'; readonly atMs: number }
