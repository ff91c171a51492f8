import { type OutputFile, openOutputFile } from '../process/output-file.js'
import { openFormatView, type TranscriptFormat } from '../view/format-view.js'
import { recordingJson } from '../view/json-view.js'
import type { Paint } from '../view/paint.js'
import type { Pane } from '../view/panes.js'
import { Segments } from '../view/segments.js'
import { liveLine } from '../view/transcript-line.js'
import { TranscriptReader } from '../view/transcript-reader.js'
import type { View } from '../view/view.js'

export interface ListenOutputPlan {
  readonly format: TranscriptFormat
  readonly hasWords: boolean
  /** The file of the transcript; undefined for stdout. */
  readonly output?: string | undefined
}

/** What shows and writes a session of the microphone. */
export interface ListenViews extends View {
  /** Of what is shown. */
  readonly reader: TranscriptReader
  /** Writes the transcript as one document, if the format is one, and completes the file; both idempotent. */
  readonly finish: (segments: Segments, audioMs: number) => void
  /** Ends the file, which keeps the name that ends in `.partial` unless it is finished. */
  readonly close: () => void
  /** The first failure of the file. */
  readonly fault: () => Error | undefined
}

const plain: Paint = (_color, text) => text
const liveAudio = { channels: 1, isLive: true, isHurried: false } as const

/** Text on the pane and the format in the file; without a file the format on the pane. Throws as `openOutputFile`. */
export const openListenViews = (
  { format, hasWords, output }: ListenOutputPlan,
  pane: Pane,
  paint: Paint,
): ListenViews => {
  const reader = new TranscriptReader()
  const style = { speakers: [], paint, hasWords }
  const shown = { pane, reader, style, ...liveAudio, segments: new Segments() }
  const file = output === undefined ? undefined : openOutputFile(output)
  const views = [
    openFormatView({ ...shown, format: file === undefined ? format : 'text' }),
    ...(file === undefined ? [] : [viewOfFile(file, format, hasWords, pane)]),
  ]
  // Other formats have no words that may still change.
  pane.show({
    live: (columns, rows) => reader.live().map((spoken) => liveLine(spoken, style, columns * rows)),
  })
  let isFinished = false
  let isFaultNoted = false
  return {
    reader,
    event: (event, transcript) => {
      for (const view of views) view.event(event, transcript)
      const fault = file?.fault()
      if (fault === undefined || isFaultNoted) return
      isFaultNoted = true
      pane.note(`rxspeech: ${fault.message}\n`)
    },
    sent: (audioMs) => {
      for (const view of views) view.sent(audioMs)
    },
    end: () => {
      for (const view of views) view.end()
      pane.show({ live: () => [] })
    },
    finish: (segments, audioMs) => {
      if (isFinished) return
      isFinished = true
      if (format === 'json') {
        const write = file?.write ?? pane.write
        write(recordingJson({ file: 'microphone', segments, speakers: [], hasWords, audioMs }))
      }
      file?.end(true)
    },
    close: () => file?.end(false),
    fault: () => file?.fault(),
  }
}

/** A view of its own, because each reader reads a session once. */
const viewOfFile = (file: OutputFile, format: TranscriptFormat, hasWords: boolean, pane: Pane): View =>
  openFormatView({
    format,
    // Notices are on the pane already.
    pane: { ...pane, write: file.write, note: () => undefined, show: () => undefined, refresh: () => undefined },
    reader: new TranscriptReader(),
    segments: new Segments(),
    style: { speakers: [], paint: plain, hasWords },
    ...liveAudio,
  })
