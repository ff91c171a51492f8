import type { FinalEvent, MilestoneEvent, NodeEvent, PartialEvent, Word } from '../../protocol/session-event.js'
import { ChannelText } from './channel-text.js'
import { wordsOf } from './channel-text.js'

/** How a service's times may differ between two readings of the same audio, in milliseconds. */
const slackMs = 40

/**
 * Without times of the service: a milestone comes at most this long after its speech, in milliseconds of audio. Audio that
 * was sent less than that before it counts as pending.
 */
const milestoneDelayMs = 5_000

/** A milestone: where it ended, or without times how far the audio was sent when it came; and its new words. */
interface Arrival {
  readonly sentMs: number
  /** How far the service can have read by the clock. */
  readonly readMs: number
  readonly wordCount: number
}

/**
 * Without times of the service: how much of the last audio a service may not have read when it ends a recognition by itself.
 */
export const unreadAtFinalMs = 2_000

/** At most so many arrivals are remembered: more than a replay can reach back. */
const maxArrivals = 64

/**
 * The results of one channel over all connections and recognitions of a session: none twice, none back in time. The times of
 * the service decide that, or the words if it gives no times. All times are of the source, in milliseconds.
 */
export class ChannelResults {
  readonly #text = new ChannelText()
  #connections = 0
  /** The last result of this connection. */
  #last: 'nothing' | 'result' | 'final' = 'nothing'
  /** Whether a final came since the service was asked to finalize. */
  #isAnswered = false
  /** The times of the final that answered: how far the audio was read, and where the final ends. */
  #answer: Pick<FinalEvent, 'heardMs' | 'endMs'> = {}
  #recognitionId: string | undefined
  /** The end of the last milestone or silence. */
  #endMs = 0
  /** The end of the last milestone. */
  #spokenMs = 0
  #startMs: number | undefined
  /** Milestones with new words; repeated ones must not displace them. */
  #arrivals: Arrival[] = []
  /** The last two milestones. */
  #latest: readonly Arrival[] = []
  /** The confidence of milestones of earlier connections, and of this one, weighted by the length of their text. */
  #earlierConfidence = { weighted: 0, length: 0 }
  #confidence = { weighted: 0, length: 0 }

  /** Whether the last result of this connection was a final. */
  get isFinal(): boolean {
    return this.#last === 'final'
  }

  /** Whether this connection has results without the final that ends them. */
  get isOpen(): boolean {
    return this.#last === 'result'
  }

  get isAnswered(): boolean {
    return this.#isAnswered
  }

  /** The service is asked to finalize. */
  ask(): void {
    this.#isAnswered = false
  }

  /** The times of the final that answered, if one did. */
  get answered(): Pick<FinalEvent, 'heardMs' | 'endMs'> {
    return this.#isAnswered ? this.#answer : {}
  }

  /** A final came, perhaps one that only repeats the last one. */
  answer(): void {
    this.#isAnswered = true
  }

  /** The recognition failed; another connection may continue it. */
  end(): void {
    this.#last = 'nothing'
  }

  /** Another connection reads from `fromMs` on. */
  begin(fromMs: number): void {
    this.#connections += 1
    if (this.#last === 'final') this.#beginRecognition()
    this.#last = 'nothing'
    if (this.#connections === 1) return
    this.#earlierConfidence = this.#confidence
    // A millisecond more, because times are rounded.
    const later = this.#arrivals.filter(({ sentMs }) => sentMs >= fromMs + 1)
    this.#text.begin(later.reduce((sum, { wordCount }) => sum + wordCount, 0))
  }

  /** The new part of a partial; undefined if nothing is new. */
  partial(event: PartialEvent): PartialEvent | undefined {
    this.#open(event)
    if (this.#isFirst) return event
    if (this.#isBefore(event)) return undefined
    const text = this.#isAfter(event) ? event.text : this.#text.newPart(event.text)
    return text === '' && event.text !== '' ? undefined : this.#continuous({ ...event, text })
  }

  /** The new part of a milestone; undefined if nothing is new. */
  milestone(event: MilestoneEvent, sentMs: number, readMs: number): MilestoneEvent | undefined {
    this.#open(event)
    const fresh = this.#newMilestone(event)
    const text = this.#text.commit(event.text, fresh?.text ?? '')
    this.#arrive(event.endMs ?? sentMs, readMs, wordsOf(text).length)
    if (fresh === undefined || (text === '' && event.text !== '')) return undefined
    const milestone = this.#isFirst ? event : this.#continuous({ ...fresh, text })
    this.#startMs ??= milestone.startMs
    this.#spokenMs = Math.max(this.#spokenMs, milestone.endMs ?? 0)
    this.#endMs = Math.max(this.#endMs, this.#spokenMs)
    this.#addConfidence(milestone)
    return milestone
  }

  /** The new part of a silence; undefined if nothing is new. */
  silence(event: NodeEvent): NodeEvent | undefined {
    const beforeMs = this.#endMs
    this.#endMs = Math.max(beforeMs, event.endMs)
    if (this.#isFirst) return event
    return event.endMs <= beforeMs ? undefined : { ...event, startMs: Math.max(event.startMs, beforeMs) }
  }

  /** The one final of a recognition, with its text from all connections; audio was sent up to `sentMs`. */
  final(event: FinalEvent, sentMs: number, readMs: number): FinalEvent {
    if (this.#last === 'final') this.#beginRecognition()
    this.#last = 'final'
    this.#isAnswered = true
    this.#answer = event
    const added = this.#text.commitFinal(event.text)
    if (added !== '') this.#arrive(event.endMs ?? sentMs, readMs, wordsOf(added).length)
    if (this.#isFirst) return event
    this.#recognitionId ??= event.recognitionId
    const { text } = this.#text
    // The confidence and the end of a recognition without words are not those of the words before it.
    const isEmpty = event.text.trim() === '' && text !== ''
    const { confidence: own, ...rest } = event
    const confidence = this.#confidenceOf(isEmpty ? undefined : own, text.length)
    const endMs = isEmpty && this.#spokenMs > 0 ? this.#spokenMs : event.endMs
    return this.#named({
      ...rest,
      ...(this.#startMs === undefined ? {} : { startMs: this.#startMs }),
      ...(endMs === undefined ? {} : { endMs: Math.max(endMs, this.#spokenMs) }),
      ...(confidence === undefined ? {} : { confidence }),
      text,
    })
  }

  /** The text of a final beyond its milestones, as one more milestone: that of a final that does not end the session. */
  milestoneOf({ recognitionId, channel, endMs, text }: FinalEvent): MilestoneEvent | undefined {
    const added = this.#text.addedBy(text)
    if (added.trim() === '') return undefined
    return {
      type: 'milestone',
      ...(channel === undefined ? {} : { channel }),
      ...(recognitionId === undefined ? {} : { recognitionId }),
      ...(endMs === undefined ? {} : { startMs: Math.min(this.#endMs, endMs), endMs }),
      text: added,
    }
  }

  /** How far audio has its results after a milestone without times: not beyond the milestone before it. */
  get estimateMs(): number {
    const [before, last] = this.#latest
    if (before === undefined || last === undefined) return 0
    return Math.min(before.readMs, last.readMs - milestoneDelayMs)
  }

  /** A result came. After a final on the same connection it belongs to another recognition. */
  #open({ recognitionId }: PartialEvent | MilestoneEvent): void {
    if (this.#last === 'final') this.#beginRecognition()
    this.#last = 'result'
    this.#recognitionId ??= recognitionId
  }

  #beginRecognition(): void {
    this.#text.close()
    this.#recognitionId = undefined
    this.#startMs = undefined
    this.#spokenMs = 0
    this.#confidence = { weighted: 0, length: 0 }
    this.#earlierConfidence = this.#confidence
  }

  get #isFirst(): boolean {
    return this.#connections <= 1
  }

  #newMilestone(event: MilestoneEvent): MilestoneEvent | undefined {
    if (this.#isFirst) return event
    if (this.#isBefore(event)) return undefined
    if (this.#isAfter(event)) return event
    const words = event.words?.filter((word) => middleOf(word) > this.#endMs)
    // By the times of its words if it has them all, else by the words alone.
    if (words !== undefined && words.length > 0 && event.words?.length === wordsOf(event.text).length) {
      const text = wordsOf(event.text).slice(-words.length).join(' ')
      return { ...event, startMs: words[0]?.startMs ?? this.#endMs, words, text }
    }
    const text = this.#text.newPart(event.text)
    if (text.trim() === '') return undefined
    if (text === event.text) return event
    const { words: _all, ...rest } = event
    return { ...rest, text }
  }

  /** Whether a result lies in audio that already has its milestones. */
  #isBefore(event: PartialEvent | MilestoneEvent): boolean {
    return this.#endMs > 0 && event.endMs !== undefined && event.endMs <= this.#endMs + slackOf(event)
  }

  #isAfter(event: PartialEvent | MilestoneEvent): boolean {
    return event.startMs !== undefined && event.startMs >= this.#endMs
  }

  /** With the id of the first recognition, and never back in time. */
  #continuous<Event extends PartialEvent | MilestoneEvent>(event: Event): Event {
    const isBack = event.startMs !== undefined && event.startMs < this.#endMs
    return { ...this.#named(event), ...(isBack ? { startMs: this.#endMs } : {}) }
  }

  #named<Event extends PartialEvent | MilestoneEvent | FinalEvent>(event: Event): Event {
    return this.#recognitionId === undefined ? event : { ...event, recognitionId: this.#recognitionId }
  }

  #arrive(sentMs: number, readMs: number, wordCount: number): void {
    const arrival = { sentMs, readMs: Math.min(sentMs, readMs), wordCount }
    this.#latest = [...this.#latest.slice(-1), arrival]
    if (wordCount > 0) this.#arrivals.push(arrival)
    if (this.#arrivals.length > maxArrivals) this.#arrivals.shift()
  }

  #addConfidence({ confidence, text }: MilestoneEvent): void {
    if (confidence === undefined) return
    const { weighted, length } = this.#confidence
    this.#confidence = { weighted: weighted + confidence * text.length, length: length + text.length }
  }

  #confidenceOf(confidence: number | undefined, length: number): number | undefined {
    const { weighted, length: before } = this.#earlierConfidence
    if (before === 0 || length === 0) return confidence
    if (confidence === undefined) return weighted / before
    const own = Math.max(0, length - before)
    return (weighted + confidence * own) / (before + own)
  }
}

/** Less for a short result: it may be new. */
const slackOf = ({ startMs = -Infinity, endMs = Infinity }: PartialEvent | MilestoneEvent): number =>
  Math.min(slackMs, (endMs - startMs) / 4)

const middleOf = ({ startMs, endMs }: Word): number => (startMs + endMs) / 2
