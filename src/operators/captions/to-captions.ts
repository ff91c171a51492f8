import { defer, mergeMap, type OperatorFunction } from 'rxjs'
import type { SessionEvent } from '../../protocol/session-event.js'
import { CaptionBook } from './caption-book.js'
import type { CaptionCue } from './caption-cue.js'
import { captionRulesOf, type CaptionOptions } from './caption-options.js'
import { endWithRest } from '../end-with-rest.js'

/**
 * Makes captions of a session while it runs: cues of a few short lines, of each channel its own.
 *
 * - A cue is emitted as `live` each time that it changes, and once as `final`, under one `id`. Its lines say which words
 *   stand and which may still change; a committed word never changes (`commitAfterMs`), nor does the line it stands on.
 * - Lines break between words and are never longer than `maxChars`; a word that is, is cut. Scripts without spaces break
 *   between characters, never before a closing mark or behind an opening one.
 * - A cue is final when all its words are committed and none can join it: it is full, a definitive piece ends with it, a
 *   silence of `pauseMs` follows, or lost audio (`gap`), which no cue spans. Where the next piece follows at once, one
 *   shorter than `minMs` takes more words in.
 * - Times come from words, where the service gives them; else from results, shared out among their words; else from when
 *   results come (`audioMs`). Each cue says from which (`times`). Cues of one channel neither overlap nor run backwards.
 * - A resumed session goes on where it was: a partial that begins anew is set behind the words that are committed.
 * - Completion and errors of the source: what is committed becomes final, what is not is taken back; then the same.
 * - Unsubscribe: what is open is gone. Buffered: the transcript, and the words of the cues that are not final.
 *
 * Throws `invalid-options` when it is called.
 */
export const toCaptions = (options: CaptionOptions = {}): OperatorFunction<SessionEvent, CaptionCue> => {
  const rules = captionRulesOf(options)
  return (source$) =>
    defer(() => {
      const book = new CaptionBook(rules)
      return source$.pipe(
        mergeMap((event) => book.take(event)),
        endWithRest(() => book.end()),
      )
    })
}
