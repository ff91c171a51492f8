import type { FinalEvent, MilestoneEvent, NodeEvent, PartialEvent, Word } from '../../protocol/session-event.js'
import { ChannelText } from './channel-text.js'
import { wordsOf } from './channel-text.js'

/** How a service's times may differ between two readings of the same audio, in milliseconds. */
const slackMs = 40

/**
 * Without times of the service: a milestone is told this long after its speech at the most, in milliseconds of audio.
 * What was sent later than that before it came is taken for pending.
 */
const milestoneDelayMs = 5_000

/** A milestone: where it ended, or without times how far the audio was sent when it came; and what was new in it. */
interface Arrival {
  readonly sentMs: number
  /** How far it can have been heard, by the clock. */
  readonly heardMs: number
  readonly wordCount: number
}

/**
 * Without times of the service: how much of what was sent last before a final that nobody asked for it may not have read.
 */
export const unreadAtFinalMs = 2_000

/** So many arrivals are remembered: more than one replay can reach back. */
const maxArrivals = 64

/**
 * The results of one channel over all connections and recognitions of a session: none twice, none back in time. Where the service gives
 * times they decide, else the words do. All times are of the source, in milliseconds.
 */
export class ChannelResults {
  readonly #text = new ChannelText()
  #connections = 0
  /** What came last on this connection. */
  #last: 'nothing' | 'result' | 'final' = 'nothing'
  /** Whether a final came since the end of the audio was said. */
  #isAnswered = false
  /** Of the final that answered: how far it says that the audio was read; and where else it ends. */
  #answer: Pick<FinalEvent, 'heardMs' | 'endMs'> = {}
  #recognitionId: string | undefined
  /** Up to here there are milestones, or silence. */
  #endMs = 0
  /** Where the last milestone ended. */
  #spokenMs = 0
  #startMs: number | undefined
  /** Of what was new; what repeats it must not push it out. */
  #arrivals: Arrival[] = []
  /** The last two of all. */
  #latest: readonly Arrival[] = []
  /** Of earlier connections, and of this one: the confidence of milestones, weighted by the length of their text. */
  #sureBefore = { weighted: 0, length: 0 }
  #sure = { weighted: 0, length: 0 }

  /** Whether the last result of this connection was a final. */
  get isFinal(): boolean {
    return this.#last === 'final'
  }

  /** Whether this connection has told results without the final that ends them. */
  get isOpen(): boolean {
    return this.#last === 'result'
  }

  get isAnswered(): boolean {
    return this.#isAnswered
  }

  /** The end of the audio is said. */
  ask(): void {
    this.#isAnswered = false
  }

  /** The final that answered the end of the audio, of its times. */
  get answered(): Pick<FinalEvent, 'heardMs' | 'endMs'> {
    return this.#isAnswered ? this.#answer : {}
  }

  /** A final came, also one that only repeats the last one. */
  answer(): void {
    this.#isAnswered = true
  }

  /** What was begun has ended in a way that another connection may mend. */
  end(): void {
    this.#last = 'nothing'
  }

  /** Another connection reads from `fromMs` on. */
  begin(fromMs: number): void {
    this.#connections += 1
    if (this.#last === 'final') this.#beginRecognition()
    this.#last = 'nothing'
    if (this.#connections === 1) return
    this.#sureBefore = this.#sure
    // A millisecond, for times are rounded.
    const later = this.#arrivals.filter(({ sentMs }) => sentMs >= fromMs + 1)
    this.#text.begin(later.reduce((sum, { wordCount }) => sum + wordCount, 0))
  }

  /** What of a partial is new; undefined where nothing is. */
  partial(event: PartialEvent): PartialEvent | undefined {
    this.#open(event)
    if (this.#isFirst) return event
    if (this.#isBefore(event)) return undefined
    const text = this.#isAfter(event) ? event.text : this.#text.newPart(event.text)
    return text === '' && event.text !== '' ? undefined : this.#continuous({ ...event, text })
  }

  /** What of a milestone is new; undefined where nothing is. */
  milestone(event: MilestoneEvent, sentMs: number, readMs: number): MilestoneEvent | undefined {
    this.#open(event)
    const fresh = this.#newMilestone(event)
    const text = this.#text.commit(event.text, fresh?.text ?? '')
    this.#arrive(event.endMs ?? sentMs, readMs, wordsOf(text).length)
    if (fresh === undefined || (text === '' && event.text !== '')) return undefined
    const told = this.#isFirst ? event : this.#continuous({ ...fresh, text })
    this.#startMs ??= told.startMs
    this.#spokenMs = Math.max(this.#spokenMs, told.endMs ?? 0)
    this.#endMs = Math.max(this.#endMs, this.#spokenMs)
    this.#weigh(told)
    return told
  }

  /** What of a silence is new; undefined where nothing is. */
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
    // A recognition without a word says nothing of the words before it: not how sure they are, nor where they ended.
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

  /** A final that ends a connection and not the session: what it says beyond the milestones, as one more of them. */
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

  /** Up to where audio has its results when a milestone without times came: before the one before it, at least. */
  get estimateMs(): number {
    const [before, last] = this.#latest
    if (before === undefined || last === undefined) return 0
    return Math.min(before.heardMs, last.heardMs - milestoneDelayMs)
  }

  /** A result came: what follows a final on the same connection is of another recognition. */
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
    this.#sure = { weighted: 0, length: 0 }
    this.#sureBefore = this.#sure
  }

  get #isFirst(): boolean {
    return this.#connections <= 1
  }

  #newMilestone(event: MilestoneEvent): MilestoneEvent | undefined {
    if (this.#isFirst) return event
    if (this.#isBefore(event)) return undefined
    if (this.#isAfter(event)) return event
    const words = event.words?.filter((word) => middleOf(word) > this.#endMs)
    // By the times of its words, where it has them all; else by the words alone.
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

  /** Whether a result lies in what has its milestones already. */
  #isBefore(event: PartialEvent | MilestoneEvent): boolean {
    return this.#endMs > 0 && event.endMs !== undefined && event.endMs <= this.#endMs + slackOf(event)
  }

  #isAfter(event: PartialEvent | MilestoneEvent): boolean {
    return event.startMs !== undefined && event.startMs >= this.#endMs
  }

  /** Under the name of the first recognition, and never back in time. */
  #continuous<Event extends PartialEvent | MilestoneEvent>(event: Event): Event {
    const isBack = event.startMs !== undefined && event.startMs < this.#endMs
    return { ...this.#named(event), ...(isBack ? { startMs: this.#endMs } : {}) }
  }

  #named<Event extends PartialEvent | MilestoneEvent | FinalEvent>(event: Event): Event {
    return this.#recognitionId === undefined ? event : { ...event, recognitionId: this.#recognitionId }
  }

  #arrive(sentMs: number, readMs: number, wordCount: number): void {
    const arrival = { sentMs, heardMs: Math.min(sentMs, readMs), wordCount }
    this.#latest = [...this.#latest.slice(-1), arrival]
    if (wordCount > 0) this.#arrivals.push(arrival)
    if (this.#arrivals.length > maxArrivals) this.#arrivals.shift()
  }

  #weigh({ confidence, text }: MilestoneEvent): void {
    if (confidence === undefined) return
    const { weighted, length } = this.#sure
    this.#sure = { weighted: weighted + confidence * text.length, length: length + text.length }
  }

  #confidenceOf(confidence: number | undefined, length: number): number | undefined {
    const { weighted, length: before } = this.#sureBefore
    if (before === 0 || length === 0) return confidence
    if (confidence === undefined) return weighted / before
    const own = Math.max(0, length - before)
    return (weighted + confidence * own) / (before + own)
  }
}

/** Less for a result that is hardly longer: it may be new. */
const slackOf = ({ startMs = -Infinity, endMs = Infinity }: PartialEvent | MilestoneEvent): number =>
  Math.min(slackMs, (endMs - startMs) / 4)

const middleOf = ({ startMs, endMs }: Word): number => (startMs + endMs) / 2
