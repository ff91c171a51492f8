import type { SegmentPart } from '../engine/engine.js'

/** What happened to the voice of one channel. Times are milliseconds of audio since its first sample. */
export type VoiceEvent =
  /** A segment begins at `startMs`, its pre-speech buffer included; this was decided at `atMs`. */
  | { readonly type: 'speech-started'; readonly startMs: number; readonly atMs: number }
  /** The segment `[startMs, endMs)` is closed. */
  | { readonly type: 'speech-ended'; readonly startMs: number; readonly endMs: number }

/**
 * What a segmenter says, in order: for each segment `speech-started`, `open`, `audio`…, `speech-ended`, `close`;
 * and, once for each stretch of silence that reaches the threshold, `graceful-silence`.
 */
export type SegmenterOutput = SegmentPart | VoiceEvent | { readonly type: 'graceful-silence'; readonly atMs: number }
