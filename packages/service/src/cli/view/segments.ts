import type { ResultEvent } from 'rxspeech/internal/operators/results/transcript'
import type { MilestoneEvent } from 'rxspeech/internal/protocol/session-event'

/** A definitive piece of a transcript. */
export interface Segment extends Pick<
  MilestoneEvent,
  'startMs' | 'endMs' | 'confidence' | 'words' | 'slots' | 'isIncomplete'
> {
  readonly channel: number
  /** Without spaces around it. */
  readonly text: string
}

/** Collects the definitive pieces of a session. */
export class Segments {
  readonly #segments: Segment[] = []
  /** The channels with milestones, whose finals only repeat them. */
  readonly #withMilestones = new Set<number>()

  take(event: ResultEvent): void {
    if (event.type === 'partial') return
    const { type, channel = 0, text } = event
    if (type === 'milestone') this.#withMilestones.add(channel)
    else if (this.#withMilestones.has(channel)) return
    if (text.trim() !== '') this.#segments.push({ ...event, channel, text: text.trim() })
  }

  /** Those of one channel, or of all, in the order of time; pieces without a time follow the others. */
  list(channel?: number): readonly Segment[] {
    return this.#segments
      .filter((segment) => channel === undefined || segment.channel === channel)
      .toSorted(({ startMs: a = Infinity }, { startMs: b = Infinity }) => (a === b ? 0 : a - b))
  }

  text(channel?: number): string {
    return this.list(channel)
      .map(({ text }) => text)
      .join(' ')
  }
}
