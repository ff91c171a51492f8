import { map, type OperatorFunction } from 'rxjs'
import type { CaptionCue } from './caption-cue.js'
import { inOrder, type CueOrder } from './cue-order.js'
import { cueTimes } from './cue-time.js'

export type SrtOptions = CueOrder

/**
 * Writes captions as a SubRip file (`.srt`), block by block: each cue when it is final, once, numbered from 1. Put
 * together as they are, the blocks are the file.
 *
 * The format knows no speakers and no escapes: a name stands before the text (`Agent: `), and the text is as it is, but
 * for `-->`, which would read as times.
 * - `live` and `withdrawn` cues are passed over. Order: see `channels`.
 * - Completion: what waits for its turn, then complete. Error: the same, then the error.
 * - Unsubscribe: what waits is gone. Buffered: nothing; with `channels` the cues that wait, 10 000 at most.
 *
 * Throws `invalid-options` when it is called.
 */
export const toSrt = (options: SrtOptions = {}): OperatorFunction<CaptionCue, string> => {
  const ordered = inOrder(options)
  return (cues$) =>
    cues$.pipe(
      ordered,
      map((cue, at) => `${at + 1}\n${cueTimes(cue, ',')}\n${plain(label(cue) + cue.text)}\n\n`),
    )
}

const label = ({ speaker }: CaptionCue): string => (speaker === undefined ? '' : `${speaker.replace(/\s+/gu, ' ')}: `)

const plain = (text: string): string => text.replaceAll('-->', '->')
