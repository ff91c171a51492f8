import { toSrt, toWebVtt } from 'rxspeech/internal/operators/captions/caption-files'
import type { CaptionOptions } from 'rxspeech/internal/operators/captions/caption-options'
import { toCaptions } from 'rxspeech/internal/operators/captions/to-captions'
import { isResult } from 'rxspeech/internal/operators/results/transcript'
import type { SessionEvent } from 'rxspeech/internal/protocol/session-event'
import { Subject } from 'rxjs'
import { noticeOf } from './notice.js'
import type { TranscriptReader } from './transcript-reader.js'
import type { View } from './view.js'

type CaptionFormat = 'vtt' | 'srt'

export interface CaptionViewOptions {
  readonly format: CaptionFormat
  readonly reader: TranscriptReader
  /** The names of the channels; none for one channel. */
  readonly speakers: readonly string[]
  /**
   * The number of channels of a file, so that cues are put in order. Undefined for live audio, whose cues are written
   * at once.
   */
  readonly channels?: number | undefined
  /**
   * Whether audio is sent faster than real time, so that the arrival of results without times gives no time.
   * @default false
   */
  readonly isHurried?: boolean
  readonly options?: CaptionOptions | undefined
  /** Receives only the captions. */
  readonly write: (text: string) => void
  /** Receives messages about the run. */
  readonly note: (line: string) => void
}

const untimed =
  'rxspeech: the service sends no times, so captions have the position of the audio when their text arrived; set --speed 1.'

/** Prints captions as WebVTT or SubRip, each cue when it is final. */
export const captionView = (view: CaptionViewOptions): View => {
  const { format, reader, speakers, channels, isHurried = false, options, write, note } = view
  let audioMs = 0
  let isNoted = !isHurried
  const events$ = new Subject<SessionEvent>()
  const written$ = events$.pipe(
    toCaptions({ audioMs: () => audioMs, ...options, speakers }),
    format === 'vtt' ? toWebVtt({ channels }) : toSrt({ channels }),
  )
  const writing = written$.subscribe({ next: write, error: () => undefined })
  return {
    event: (event, transcript) => {
      const notice = noticeOf(event, speakers)
      if (notice !== undefined) note(notice)
      if (!isNoted && event.type === 'milestone' && event.endMs === undefined) {
        isNoted = true
        note(untimed)
      }
      events$.next(event)
      if (isResult(event)) reader.take(event, transcript)
    },
    sent: (ms) => {
      audioMs = ms
    },
    // Committed captions are written regardless of how the session ended.
    end: () => {
      events$.complete()
      writing.unsubscribe()
    },
  }
}
