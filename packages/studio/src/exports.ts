import { filter, from, lastValueFrom, map, toArray, type Observable } from 'rxjs'
import type { SessionEvent } from 'rxspeech'
import { toCaptions, toSrt, toWebVtt } from 'rxspeech/captions'
import type { Run } from './run.js'
import { clock } from './state/sentences.js'
import type { StudioState } from './state/state.js'

export type ExportFormat = 'text' | 'vtt' | 'srt' | 'ndjson' | 'cassette'

/** The formats of files, with their names. */
export const exportFormats: Readonly<Record<ExportFormat, { readonly file: string; readonly type: string }>> = {
  text: { file: 'transcript.txt', type: 'text/plain' },
  vtt: { file: 'captions.vtt', type: 'text/vtt' },
  srt: { file: 'captions.srt', type: 'application/x-subrip' },
  ndjson: { file: 'events.ndjson', type: 'application/x-ndjson' },
  cassette: { file: 'session.jsonl', type: 'application/jsonl' },
}

type Exported = Pick<StudioState, 'lines' | 'channels' | 'results'>

/** The content of a file: of the state that is shown, or of what the session has kept. */
export const contentOf = (
  format: ExportFormat,
  state: Exported,
  { events, cassette }: Pick<Run, 'events' | 'cassette'>,
): string | Blob | Promise<string> => {
  switch (format) {
    case 'text':
      return toText(state)
    case 'vtt':
    case 'srt':
      return toCaptionFile(format, state)
    case 'ndjson':
      return events.blob()
    case 'cassette':
      return cassette.blob()
  }
}

/** The lines that have words, in the order of time. */
export const toText = ({ lines, channels }: Exported): string =>
  lines
    .filter(({ status }) => status === 'recognized')
    .sort((a, b) => a.startMs - b.startMs)
    .map(({ startMs, channel, words }) => {
      const text = words.map((word) => word.text).join(' ')
      return `[${clock(Math.floor(startMs / 1000) * 1000)}] ${channels[channel] ?? ''}: ${text}\n`
    })
    .join('')

/** Captions of the results so far. */
export const toCaptionFile = (format: 'vtt' | 'srt', { results, channels }: Exported): Promise<string> => {
  const event$: Observable<SessionEvent> = from(results)
  const write = format === 'vtt' ? toWebVtt : toSrt
  // A name may take half of a line of 42 characters.
  const speakers = channels.length > 1 ? channels.map((name) => name.slice(0, 19)) : []
  return lastValueFrom(
    event$.pipe(
      filter(({ type }) => type !== 'final' || channels.length === 1),
      toCaptions({ speakers }),
      write({ channels: Math.max(1, channels.length) }),
      toArray(),
      map((blocks) => blocks.join('')),
    ),
  )
}

/** Lets a person save a file. */
export const download = (content: Blob, name: string): void => {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
