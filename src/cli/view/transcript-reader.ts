import type { Transcript } from '../../operators/results/accumulate-milestones.js'
import type { FinalEvent, MilestoneEvent, PartialEvent, SessionEvent } from '../../protocol/session-event.js'
import type { Said } from './transcript-line.js'

export type ResultEvent = PartialEvent | MilestoneEvent | FinalEvent

export const isResult = (event: SessionEvent): event is ResultEvent =>
  event.type === 'partial' || event.type === 'milestone' || event.type === 'final'

interface Lane {
  /** How much of the committed text has been handed out. */
  readonly told: number
  readonly live?: Said
}

/** What a transcript amounts to. */
export interface Tally {
  readonly words: number
  /** Of the finals, each with the weight of its words; undefined where no service said any. */
  readonly confidence: number | undefined
}

/** Reads a growing transcript as lines: each piece of text once, when it is definitive, and what is being said now. */
export class TranscriptReader {
  readonly #channels = new Map<number, Lane>()
  readonly #finals: { readonly words: number; readonly confidence: number }[] = []
  #committed: readonly string[] = []

  /** The text that became definitive with the event; `transcript` is what stands after it. */
  take(event: ResultEvent, { channels }: Transcript): Said | undefined {
    const channel = event.channel ?? 0
    const lane = channels.find((one) => one.channel === channel)
    if (lane === undefined) return undefined
    const { told } = this.#channels.get(channel) ?? { told: 0 }
    // A final names the time of its whole recognition, so of its last words only where there were none before.
    const startMs = event.type === 'final' && told > 0 ? undefined : event.startMs
    const said = (text: string): Said => ({ channel, text, ...(startMs === undefined ? {} : { startMs }) })
    this.#channels.set(channel, {
      told: lane.committed.length,
      ...(lane.partial.trim() === '' ? {} : { live: said(lane.partial.trim()) }),
    })
    this.#committed = channels.map(({ committed }) => committed)
    if (event.type === 'final' && event.confidence !== undefined) {
      this.#finals.push({ words: wordCount(event.text), confidence: event.confidence })
    }
    const text = lane.committed.slice(told).trim()
    return text === '' ? undefined : said(text)
  }

  /** What is being said and may still change, one for each channel that speaks. */
  live(): readonly Said[] {
    return [...this.#channels.entries()].sort(([one], [other]) => one - other).flatMap(([, { live }]) => live ?? [])
  }

  tally(): Tally {
    const weight = this.#finals.reduce((sum, { words }) => sum + words, 0)
    const sum = this.#finals.reduce((total, { words, confidence }) => total + words * confidence, 0)
    return {
      words: this.#committed.reduce((total, text) => total + wordCount(text), 0),
      confidence: weight === 0 ? undefined : sum / weight,
    }
  }
}

const wordCount = (text: string): number => text.split(/\s+/u).filter((word) => word !== '').length
