import type { Accumulated, ResultEvent } from 'rxspeech/internal/operators/results/transcript'
import { secondsText } from './plain-text.js'
import type { SpokenText } from './transcript-line.js'

export interface TranscriptCounts {
  readonly words: number
  /** Mean of the finals that have one, weighted by their words; undefined without any. */
  readonly confidence: number | undefined
}

/** Reads a growing transcript as lines: each definitive piece of text once, and the words that may still change. */
export class TranscriptReader {
  /** The words of each channel that may still change. */
  readonly #live = new Map<number, SpokenText | undefined>()
  readonly #finals: { readonly words: number; readonly confidence: number }[] = []
  #committed: readonly string[] = []

  /** The text that became definitive with the event. */
  take(event: ResultEvent, { transcript: { channels }, added }: Accumulated): SpokenText | undefined {
    const channel = event.channel ?? 0
    const view = channels.find((candidate) => candidate.channel === channel)
    if (view === undefined) return undefined
    // The time of a final is that of its whole recognition, so it applies to its last words only if there were none
    // before.
    const startMs = event.type === 'final' && view.committed.length > added.length ? undefined : event.startMs
    const spoken = (text: string): SpokenText | undefined => (text === '' ? undefined : { channel, text, startMs })
    const { partial, stableLength = 0 } = view
    const live = spoken(partial.trim())
    const stable = partial.slice(0, stableLength).trim().length
    this.#live.set(channel, live && stable > 0 ? { ...live, stableLength: stable } : live)
    this.#committed = channels.map(({ committed }) => committed)
    // A final must have a confidence: 0 where the recognizer has none.
    if (event.type === 'final' && event.confidence !== undefined && event.confidence > 0) {
      this.#finals.push({ words: wordCount(event.text), confidence: event.confidence })
    }
    const text = added.trim()
    const { isIncomplete = false, words } = event.type === 'milestone' ? event : {}
    const finished = spoken(isIncomplete ? `${text} …` : text)
    return words === undefined ? finished : finished && { ...finished, words }
  }

  /** The words that may still change, one text for each channel with any. */
  live(): readonly SpokenText[] {
    return [...this.#live.entries()].sort(([left], [right]) => left - right).flatMap(([, live]) => live ?? [])
  }

  counts(): TranscriptCounts {
    const weight = this.#finals.reduce((sum, { words }) => sum + words, 0)
    const sum = this.#finals.reduce((total, { words, confidence }) => total + words * confidence, 0)
    return {
      words: this.#committed.reduce((total, text) => total + wordCount(text), 0),
      confidence: weight === 0 ? undefined : sum / weight,
    }
  }
}

const wordCount = (text: string): number => text.split(/\s+/u).filter((word) => word !== '').length

/** The numbers of one transcription. */
export interface RunSummary {
  /** The duration of the sent audio. */
  readonly audioMs: number
  /** The time from the readiness of the service for audio to its last result. */
  readonly elapsedMs: number
}

/** The run in one line: seconds of audio, words, mean confidence, real-time factor (time taken over time of audio). */
export const summaryLine = (counts: TranscriptCounts, { audioMs, elapsedMs }: RunSummary): string =>
  [
    `${secondsText(audioMs)} of audio`,
    countsText(counts),
    `real-time factor ${audioMs > 0 ? (elapsedMs / audioMs).toFixed(2) : 'unknown'}`,
  ].join(', ')

/** `19 words, mean confidence 0.93`; without it if there is none. */
export const countsText = ({ words, confidence }: TranscriptCounts): string =>
  `${words} ${words === 1 ? 'word' : 'words'}${confidence === undefined ? '' : `, mean confidence ${confidence.toFixed(2)}`}`

/** The counts of several recordings; their confidence is weighted by their words. */
export const sumOfCounts = (counts: readonly TranscriptCounts[]): TranscriptCounts => {
  const total = (of: (one: TranscriptCounts) => number): number => counts.reduce((sum, one) => sum + of(one), 0)
  const weight = total(({ words, confidence }) => (confidence === undefined ? 0 : words))
  return {
    words: total(({ words }) => words),
    confidence: weight === 0 ? undefined : total(({ words, confidence = 0 }) => words * confidence) / weight,
  }
}
