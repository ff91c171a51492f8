/**
 * Captions from the results of a session: lines for a page, or cues of limited length and reading speed, as SRT and
 * WebVTT. For Node and browsers.
 *
 * @module rxspeech/captions
 */
export { toCaptions } from './operators/captions/to-captions.js'
export { toSrt, toWebVtt, type CaptionFileOptions } from './operators/captions/caption-files.js'
export { writeTo } from './operators/captions/write-to.js'
export type { WriteToOptions } from './operators/captions/write-to-options.js'
export type { CaptionCue, CaptionLine, CueTimes } from './operators/captions/caption-cue.js'
export type { CaptionOptions } from './operators/captions/caption-options.js'
export { captionLines, type CaptionLinesOptions } from './operators/captions/caption-lines.js'
export type { GapLine, RejectedLine, SpokenLine, TranscriptLine } from './operators/captions/transcript-line.js'
