import { defer, distinctUntilChanged, map, skip, startWith, type OperatorFunction } from 'rxjs'
import { eventName } from '../../protocol/event-name.js'
import { listOf } from '../../protocol/collections.js'
import type { GapEvent, NodeEvent, SessionEvent } from '../../protocol/session-event.js'
import { checkOptions, optionsOf, text, wholeNumber } from '../../protocol/validation.js'
import { isAdjacent } from '../metrics/drop-counter.js'
import {
  accumulate,
  emptyTranscript,
  isResult,
  type Accumulated,
  type ResultEvent,
  type Transcript,
} from '../results/transcript.js'
import type { SpokenLine, TranscriptLine } from './transcript-line.js'

/** Which lines are kept, and the names of the channels. */
export interface CaptionLinesOptions {
  /** Names of the channels, such as `['Agent', 'Customer']`. @default [] */
  readonly speakers?: readonly string[] | undefined
  /** The number of the latest lines that are kept, from 1. Lines that can change are always kept. @default 1000 */
  readonly maxLines?: number | undefined
}

const captionLinesOptions = optionsOf<CaptionLinesOptions>()(
  {},
  { speakers: listOf(text), maxLines: wholeNumber({ min: 1, max: 1_000_000 }) },
)

/**
 * Makes the list of lines that a page shows of a session: one for each result, with what was rejected and lost.
 *
 * - Emits the whole list each time that it changes. A line that did not change is the same object as before, and a line
 *   that changed has the same `key`, so a list in a page is updated and not built again.
 * - A partial opens a line of its channel, the milestone makes it definitive. `committed` is definitive or, in a partial,
 *   what the service does not change any more (`stableLength`); `tentative` is the rest. An empty partial hides the line.
 * - A segment without text (`SR No Match`) is a `rejected` line, dropped audio a `gap`. Silence is none.
 * - Lines are in the order of their starts, also when the results of a channel come late; without times, of arrival.
 * - Results that a service repeats after a reconnect, and what a final repeats, add no line.
 * - Completion and error of the source are passed on; what was tentative stays. Buffering: `maxLines`, and the
 *   transcript.
 *
 * Throws `invalid-options` when it is called.
 *
 * @example
 * ```ts
 * session$.pipe(captionLines({ speakers: ['Agent', 'Customer'] })).subscribe((lines) => {
 *   for (const line of lines) if (line.type === 'speech') console.log(line.key, line.speaker, line.committed + line.tentative)
 * })
 * ```
 */
export const captionLines = (
  options: CaptionLinesOptions = {},
): OperatorFunction<SessionEvent, readonly TranscriptLine[]> => {
  const { speakers = [], maxLines = defaultMaxLines } = checkOptions(captionLinesOptions, options)
  return (source$) =>
    defer(() => {
      const list = new LineList(speakers, maxLines)
      return source$.pipe(
        map((event) => list.take(event)),
        startWith(list.lines),
        distinctUntilChanged(),
        skip(1),
      )
    })
}

const defaultMaxLines = 1000

/** The lines of one session. */
export class LineList {
  readonly #speakers: readonly string[]
  readonly #maxLines: number
  /** The key of the line of each channel that can change, also while it has no text. */
  readonly #open = new Map<number, number>()
  /** Where each line stands, for the order, in milliseconds. */
  readonly #places = new Map<number, number>()
  #accumulated: Accumulated = emptyTranscript
  #lines: readonly TranscriptLine[] = []
  #lastKey = 0

  constructor(speakers: readonly string[] = [], maxLines = defaultMaxLines) {
    this.#speakers = speakers
    this.#maxLines = maxLines
  }

  /** The text of the session so far; the same object as before if it did not change. */
  get transcript(): Transcript {
    return this.#accumulated.transcript
  }

  /** The same object as before if nothing changed. */
  get lines(): readonly TranscriptLine[] {
    return this.#lines
  }

  take(event: SessionEvent): readonly TranscriptLine[] {
    this.#accumulated = accumulate(this.#accumulated, event)
    if (isResult(event)) this.#takeResult(event)
    else if (event.type === 'event' && event.name === eventName.noMatch) this.#reject(event)
    else if (event.type === 'gap' && event.cause !== 'silence') this.#addGap(event)
    return this.#lines
  }

  #takeResult(event: ResultEvent): void {
    const { channel = 0 } = event
    if (event.type === 'partial') {
      const { text, stableLength = 0, startMs, endMs } = event
      const committed = text.slice(0, stableLength).trim()
      const tentative = text.trim().slice(committed.length)
      this.#speak(channel, { committed, tentative, startMs, endMs, isDefinitive: false })
      return
    }
    const committed = this.#accumulated.added.trim()
    if (committed !== '') {
      // The start of a final is that of its recognition, whose first words have a line already.
      const startMs = event.type === 'final' && committed.length < event.text.trim().length ? undefined : event.startMs
      const words = event.type === 'milestone' ? event.words : undefined
      const { endMs } = event
      this.#speak(channel, { committed, tentative: '', startMs, endMs, isDefinitive: true, ...(words && { words }) })
    } else if (event.type === 'final') this.#speak(channel, withoutText)
    if (event.type === 'final') this.#open.delete(channel)
  }

  #speak(channel: number, spoken: Omit<SpokenLine, 'type' | 'key' | 'channel' | 'speaker'>): void {
    const isEmpty = spoken.committed === '' && spoken.tentative === ''
    if (isEmpty && !this.#open.has(channel)) return
    const key = this.#openKey(channel)
    if (isEmpty) {
      this.#remove(key)
      return
    }
    const speaker = this.#speakers[channel]
    this.#put({ type: 'speech', key, channel, ...(speaker !== undefined && { speaker }), ...spoken })
    if (spoken.isDefinitive) this.#open.delete(channel)
  }

  #reject({ channel: given, startMs, endMs }: NodeEvent): void {
    const channel = Math.max(0, given)
    const speaker = this.#speakers[channel]
    this.#put({
      type: 'rejected',
      key: this.#openKey(channel),
      channel,
      ...(speaker !== undefined && { speaker }),
      startMs,
      endMs,
    })
    this.#open.delete(channel)
  }

  #addGap({ fromMs, toMs, cause, channel }: GapEvent): void {
    const before = this.#lines.findLast(
      (line) =>
        line.type === 'gap' && line.cause === cause && line.channel === channel && isAdjacent(line.endMs ?? -1, fromMs),
    )
    const place = { cause, startMs: before?.startMs ?? fromMs, endMs: toMs, ...(channel !== undefined && { channel }) }
    this.#put({ type: 'gap', key: before?.key ?? ++this.#lastKey, ...place })
  }

  /** The key of the line that the results of the channel change, or of a new one. */
  #openKey(channel: number): number {
    const key = this.#open.get(channel) ?? ++this.#lastKey
    this.#open.set(channel, key)
    return key
  }

  #put(given: TranscriptLine): void {
    const at = this.#lines.findLastIndex(({ key }) => key === given.key)
    const known = this.#lines[at]
    const line =
      given.startMs === undefined && known?.startMs !== undefined ? { ...given, startMs: known.startMs } : given
    const placeMs = line.startMs ?? (known && this.#places.get(known.key)) ?? this.#lastPlaceMs()
    if (known !== undefined && this.#places.get(line.key) === placeMs) {
      if (!isSame(known, line)) this.#lines = this.#lines.with(at, line)
      return
    }
    const others = known === undefined ? this.#lines : this.#lines.toSpliced(at, 1)
    const after = others.findLastIndex(({ key }) => (this.#places.get(key) ?? 0) <= placeMs)
    this.#places.set(line.key, placeMs)
    this.#lines = others.toSpliced(after + 1, 0, line)
    if (this.#lines.length > this.#maxLines) this.#removeOldest()
  }

  /** Without a time of its own a line follows all others. */
  #lastPlaceMs(): number {
    const last = this.#lines.at(-1)
    return last === undefined ? 0 : (this.#places.get(last.key) ?? 0)
  }

  #removeOldest(): void {
    const oldest = this.#lines.find((line) => line.type !== 'speech' || line.isDefinitive)
    if (oldest !== undefined) this.#remove(oldest.key)
  }

  #remove(key: number): void {
    const at = this.#lines.findLastIndex((line) => line.key === key)
    if (at >= 0) this.#lines = this.#lines.toSpliced(at, 1)
    this.#places.delete(key)
  }
}

const withoutText = { committed: '', tentative: '', isDefinitive: false } as const

const isSame = (a: TranscriptLine, b: TranscriptLine): boolean =>
  a.type === 'speech' &&
  b.type === 'speech' &&
  a.committed === b.committed &&
  a.tentative === b.tentative &&
  a.isDefinitive === b.isDefinitive &&
  a.startMs === b.startMs &&
  a.endMs === b.endMs
