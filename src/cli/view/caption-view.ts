import { Subject } from 'rxjs'
import type { CaptionOptions } from '../../operators/captions/caption-options.js'
import { toCaptions } from '../../operators/captions/to-captions.js'
import { toSrt, toWebVtt } from '../../operators/captions/caption-files.js'
import type { SessionEvent } from '../../protocol/session-event.js'
import { noticeOf } from './notice.js'
import { isResult, type TranscriptReader } from './transcript-reader.js'
import type { View } from './view.js'

type CaptionFormat = 'vtt' | 'srt'

export interface CaptionViewOptions {
  readonly format: CaptionFormat
  readonly reader: TranscriptReader
  /** The names of the channels; none for one channel. */
  readonly speakers: readonly string[]
  /** Of a file: how many channels there are, so that cues are put in order. Undefined for live audio, whose cues are written at once. */
  readonly channels?: number | undefined
  /** Whether audio is sent faster than real time, so that results without times give no time. @default false */
  readonly isHurried?: boolean
  readonly options?: CaptionOptions | undefined
  /** Takes the captions, and nothing else. */
  readonly write: (text: string) => void
  /** Takes a line about the work. */
  readonly note: (line: string) => void
}

const untimed =
  'rxspeech: the service gives no times, so captions stand where the audio was when their text came; give --speed 1.'

/** Captions as a file of WebVTT or SubRip, each cue as soon as it is final. */
export const captionView = (view: CaptionViewOptions): View => {
  const { format, reader, speakers, channels, isHurried = false, options, write, note } = view
  let audioMs = 0
  let isNoted = !isHurried
  const events$ = new Subject<SessionEvent>()
  const order = channels === undefined ? {} : { channels }
  const written$ = events$.pipe(
    toCaptions({ audioMs: () => audioMs, ...options, speakers }),
    format === 'vtt' ? toWebVtt(order) : toSrt(order),
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
      if (isResult(event) && transcript !== undefined) reader.take(event, transcript)
    },
    sent: (ms) => {
      audioMs = ms
    },
    // Committed captions are written however the session ended.
    end: () => {
      events$.complete()
      writing.unsubscribe()
    },
  }
}
