import { map, startWith, type OperatorFunction } from 'rxjs'
import type { CaptionCue } from './caption-cue.js'
import { inOrder, type CueOrder } from './cue-order.js'
import { cueTimes } from './cue-time.js'

export type WebVttOptions = CueOrder

/**
 * Writes captions as a WebVTT file (W3C WebVTT, section 4), block by block: the header at once, then each cue when it is
 * final, once. Put together as they are, the blocks are the file.
 *
 * A cue has its number in the file, its times, and its lines; who speaks stands in a voice tag (`<v Agent>`).
 * - `live` and `withdrawn` cues are passed over. Order: see `channels`.
 * - Completion: what waits for its turn, then complete. Error: the same, then the error.
 * - Unsubscribe: what waits is gone. Buffered: nothing; with `channels` the cues that wait, 10 000 at most.
 *
 * Throws `invalid-options` when it is called.
 */
export const toWebVtt = (options: WebVttOptions = {}): OperatorFunction<CaptionCue, string> => {
  const ordered = inOrder(options)
  return (cues$) =>
    cues$.pipe(
      ordered,
      map((cue, at) => `${at + 1}\n${cueTimes(cue, '.')}\n${voice(cue)}${escaped(cue.text)}\n\n`),
      startWith('WEBVTT\n\n'),
    )
}

const voice = ({ speaker }: CaptionCue): string =>
  speaker === undefined ? '' : `<v ${escaped(speaker).replace(/\s+/gu, ' ')}>`

/** Also keeps `-->` out of the text, which no line may hold. */
const escaped = (text: string): string => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
