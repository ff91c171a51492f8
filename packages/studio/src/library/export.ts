import { from, lastValueFrom, toArray, map } from 'rxjs'
import type { SessionEvent, Word } from 'rxspeech'
import { toCaptions, toSrt, toWebVtt } from 'rxspeech/captions'
import { clockOf, gapSentence } from '../state/sentences.js'
import type { TranscriptDocument, TranscriptLine } from '../state/transcript.js'
import type { CaptionWord } from '../state/words.js'
import { asRecognized, textOfLine } from './edits.js'

/** The formats of files. Those of the service hold what it sent; corrections are in the others. */
export const exportFormats = {
  text: { name: 'Text', extension: 'txt', type: 'text/plain', of: 'transcript' },
  srt: { name: 'SRT', extension: 'srt', type: 'application/x-subrip', of: 'transcript' },
  vtt: { name: 'WebVTT', extension: 'vtt', type: 'text/vtt', of: 'transcript' },
  json: { name: 'JSON', extension: 'json', type: 'application/json', of: 'transcript' },
  ndjson: { name: 'Events, NDJSON', extension: 'ndjson', type: 'application/x-ndjson', of: 'service' },
  cassette: { name: 'Cassette', extension: 'jsonl', type: 'application/jsonl', of: 'service' },
} as const

export type ExportFormat = keyof typeof exportFormats

export interface ExportOptions {
  /** Whether text has the time of each line. */
  readonly hasTimes: boolean
  /** Whether text and captions have the names of the speakers. */
  readonly hasSpeakers: boolean
  /** Whether the text is the corrected one, otherwise what was recognized. JSON has both. */
  readonly isCorrected: boolean
}

/** What a file is made from; the transcript has the corrections. */
export interface Exported {
  readonly document: TranscriptDocument
  readonly events: Blob
  readonly cassette: Blob | undefined
}

/** The content of a file; undefined if the session has none of this format. */
export const fileOf = async (
  format: ExportFormat,
  { document, events, cassette }: Exported,
  options: ExportOptions,
): Promise<Blob | undefined> => {
  const used = options.isCorrected ? document : asRecognized(document)
  const { type } = exportFormats[format]
  switch (format) {
    case 'text':
      return new Blob([toText(used, options)], { type })
    case 'srt':
    case 'vtt':
      return new Blob([await toCaptionFile(format, used, options)], { type })
    case 'json':
      return new Blob([`${JSON.stringify(toJson(document, options), undefined, 2)}\n`], { type })
    case 'ndjson':
      return new Blob([events], { type })
    case 'cassette':
      return cassette && new Blob([cassette], { type })
  }
}

/** A name for the file of a session, which every file system takes. */
export const fileName = ({ title }: TranscriptDocument, format: ExportFormat): string => {
  const base = title
    .replace(/\.[a-z0-9]{2,5}$/iu, '')
    .replace(/[^\p{L}\p{N}\p{M}]+/gu, '-')
    .replace(/^-+|-+$/gu, '')
    .slice(0, 60)
  return `${base === '' ? 'session' : base}.${exportFormats[format].extension}`
}

/** A line of text for each line that has words, and for lost audio. */
export const toText = (
  { lines, speakers }: Pick<TranscriptDocument, 'lines' | 'speakers'>,
  { hasTimes, hasSpeakers }: Pick<ExportOptions, 'hasTimes' | 'hasSpeakers'>,
): string =>
  lines
    .flatMap((line) => {
      const text = line.status === 'gap' ? `(${gapSentence(line.cause, line.endMs - line.startMs)})` : textOfLine(line)
      if (text === '') return []
      const time = hasTimes ? `[${clockOf(line.startMs)}] ` : ''
      const speaker = hasSpeakers && line.status === 'recognized' ? (speakers[line.channel] ?? '') : ''
      return [`${time}${speaker === '' ? '' : `${speaker}: `}${text}\n`]
    })
    .join('')

/** Captions with the times of the words. */
const toCaptionFile = (
  format: 'srt' | 'vtt',
  { lines, speakers }: Pick<TranscriptDocument, 'lines' | 'speakers'>,
  { hasSpeakers }: Pick<ExportOptions, 'hasSpeakers'>,
): Promise<string> => {
  const write = format === 'vtt' ? toWebVtt : toSrt
  return lastValueFrom(
    from(lines.flatMap(eventsOf)).pipe(
      toCaptions({ speakers: hasSpeakers ? speakers.map(captionName) : [] }),
      write({ channels: Math.max(1, speakers.length) }),
      toArray(),
      map((blocks) => blocks.join('')),
    ),
  )
}

/** The results of a line. */
const eventsOf = ({
  status,
  channel,
  startMs,
  endMs,
  words,
  starts,
  cause,
}: TranscriptLine): readonly SessionEvent[] => {
  if (status === 'gap') return [{ type: 'gap', channel, fromMs: startMs, toMs: endMs, cause: cause ?? 'failed' }]
  return starts.flatMap((start, at): readonly SessionEvent[] => {
    const result = words.slice(start, starts[at + 1])
    const spoken = result.filter(({ text }) => text !== '')
    const [first, last] = [result[0], result.at(-1)]
    if (first === undefined || last === undefined || spoken.length === 0) return []
    const text = spoken.map((word) => word.text).join(' ')
    return [{ type: 'milestone', channel, text, startMs: first.startMs, endMs: last.endMs, words: spoken.map(wordOf) }]
  })
}

const wordOf = ({ text, startMs, endMs }: CaptionWord): Word => ({ text, startMs, endMs })

/** A name may take half of a line of 42 columns, of which a wide character takes two. */
const captionName = (name: string): string => {
  let columns = 0
  let short = ''
  for (const character of name) {
    columns += (character.codePointAt(0) ?? 0) >= 0x1100 ? 2 : 1
    if (columns > 19) break
    short += character
  }
  return short
}

/** The transcript with the fields of `rxspeech transcribe --format json`; unknown values are absent. */
const toJson = (document: TranscriptDocument, { isCorrected }: ExportOptions): object => {
  const { title, origin, startedAtMs, durationMs, model, recognition, speakers, lines } = document
  const shown = isCorrected ? document : asRecognized(document)
  return {
    title,
    origin,
    startedAt: new Date(startedAtMs).toISOString(),
    model,
    ...recognition,
    audioMs: Math.round(durationMs),
    /** Which text `text` is; `recognized` is beside it where they differ. */
    textIs: isCorrected ? 'corrected' : 'recognized',
    text: shown.lines
      .map(textOfLine)
      .filter((text) => text !== '')
      .join(' '),
    segments: lines.map((line, at) => segmentJson(line, textOfLine(shown.lines[at] ?? line), speakers)),
  }
}

const segmentJson = (line: TranscriptLine, text: string, speakers: readonly string[]): object => {
  const { startMs, endMs, channel, status, cause, words } = line
  const isCorrected = words.some(({ recognized }) => recognized !== undefined)
  return {
    startMs: Math.round(startMs),
    endMs: Math.round(endMs),
    channel,
    speaker: speakers[channel],
    status,
    cause,
    text,
    recognized: isCorrected ? words.map((word) => word.recognized ?? word.text).join(' ') : undefined,
    words: words.map(({ text: word, startMs: from, endMs: to, confidence, times, recognized }) => ({
      text: word,
      recognized,
      startMs: Math.round(from),
      endMs: Math.round(to),
      confidence,
      isEstimate: times === 'estimate' ? true : undefined,
    })),
  }
}
