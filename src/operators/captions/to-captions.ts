import { defer, mergeMap, type OperatorFunction } from 'rxjs'
import type { SessionEvent } from '../../protocol/session-event.js'
import { CaptionBuilder } from './caption-builder.js'
import type { CaptionCue } from './caption-cue.js'
import { captionRulesOf, type CaptionOptions } from './caption-options.js'
import { emitAtEnd } from '../emit-at-end.js'

/**
 * Builds captions from a running session: cues of a few short lines, separately for each channel.
 *
 * - A cue is emitted as `live` each time it changes and once as `final`, under one `id`. Its lines separate definitive
 *   words from those that can still change. A committed word never changes, nor does its line (`commitAfterMs`).
 * - Lines break between words and are at most `maxChars` long; a longer word is cut. Scripts without spaces break
 *   between characters, never before a closing mark or after an opening one.
 * - A cue is final when all its words are committed and no word can join it: it is full, a definitive result ends with
 *   it, a silence of `pauseMs` follows, or lost audio (`gap`), which no cue spans. If the next result follows at once,
 *   a cue shorter than `minMs` continues with it.
 * - Times come from words if the service sends them, otherwise from results, divided among their words, otherwise from
 *   the arrival of results (`audioMs`). `times` says which. Cues of one channel do not overlap or run backwards.
 * - After a reconnect captions continue: a partial that repeats committed words is aligned with them.
 * - Completion and error: committed words become final and others are withdrawn, then the same.
 * - Unsubscription: discards open cues. Buffering: the transcript and the words of the cues that are not final.
 *
 * Throws `invalid-options` when it is called.
 *
 * @example
 * ```ts
 * session$.pipe(toCaptions({ speakers: ['Agent', 'Customer'] })).subscribe(({ id, text }) => console.log(id, text))
 * ```
 */
export const toCaptions = (options: CaptionOptions = {}): OperatorFunction<SessionEvent, CaptionCue> => {
  const rules = captionRulesOf(options)
  return (source$) =>
    defer(() => {
      const builder = new CaptionBuilder(rules)
      return source$.pipe(
        mergeMap((event) => builder.take(event)),
        emitAtEnd(() => builder.end()),
      )
    })
}
