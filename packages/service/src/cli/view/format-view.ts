import { captionView } from './caption-view.js'
import { jsonView } from './json-view.js'
import { ndjsonView } from './ndjson-view.js'
import type { Pane } from './panes.js'
import type { Segments } from './segments.js'
import { openTextView } from './text-view.js'
import type { LineStyle } from './transcript-line.js'
import type { TranscriptReader } from './transcript-reader.js'
import type { View } from './view.js'

/** The formats of transcripts, with the extensions of their files. */
export const formatExtensions = { text: 'txt', json: 'json', ndjson: 'ndjson', vtt: 'vtt', srt: 'srt' } as const
export type TranscriptFormat = keyof typeof formatExtensions

export interface FormatViewOptions {
  readonly format: TranscriptFormat
  readonly pane: Pane
  readonly reader: TranscriptReader
  /** Receives the segments for `json`, which is written at the end. */
  readonly segments: Segments
  readonly style: LineStyle
  readonly channels: number
  /** Whether the audio comes in real time and has no known end, rather than from a recording. */
  readonly isLive: boolean
  /** Whether that of a recording is sent faster than real time. */
  readonly isHurried: boolean
}

/** The view that writes a session in a format to a pane. */
export const openFormatView = (options: FormatViewOptions): View => {
  const { format, pane, reader, segments, style, channels, isLive, isHurried } = options
  const { speakers } = style
  switch (format) {
    case 'text':
      // Of a recording only results tell how far the service is.
      return openTextView({ pane, reader, style, channels, isPaced: isLive })
    case 'json':
      return jsonView({ segments, reader, pane, speakers })
    case 'ndjson':
      return ndjsonView(pane.write, reader)
    case 'vtt':
    case 'srt':
      return captionView({
        format,
        reader,
        speakers,
        // The cues of a recording are put in order; those of live audio are written at once.
        channels: isLive ? undefined : channels,
        isHurried: !isLive && isHurried,
        write: pane.write,
        note: (line) => pane.note(`${line}\n`),
      })
  }
}
