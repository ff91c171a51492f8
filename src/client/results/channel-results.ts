import type { FinalEvent, MilestoneEvent, NodeEvent, PartialEvent, Word } from '../../protocol/session-event.js'
import { keepStable, stablePart } from '../../protocol/stable-length.js'
import { ChannelText, wordsOf } from './channel-text.js'

/** The tolerance between the service's times in two readings of the same audio, in milliseconds. */
const slackMs = 40
/**
 * Sound that begins where the last word ended and lasts no longer is the rest of that word: without the interruption it
 * would belong to the same segment.
 */
const restMs = 400

/**
 * Without times of the service: the assumed maximum delay of a milestone after its speech, in milliseconds of audio.
 * Audio that was sent within this time before the milestone counts as pending.
 */
const milestoneDelayMs = 5_000

/** A milestone: its end, or without times how far audio had been sent when it arrived; and its new words. */
interface Arrival {
  readonly sentMs: number
  /** The position up to which the service can have read according to the clock. */
  readonly readMs: number
  readonly words: readonly string[]
}

/**
 * Without times of the service: how much of the last audio the service may not have read when it ends a recognition.
 */
export const unreadAtFinalMs = 2_000

// Initial values that all sessions share.
const noTimes: Pick<FinalEvent, 'heardMs' | 'endMs'> = {}
const noConfidence = { weighted: 0, length: 0 }
const noStable = { text: '', endMs: Infinity }

/**
 * The results of one channel over all connections and recognitions of a session, without repetitions and with
 * increasing times. Repetitions are recognized by the times of the service, or by the words if it sends no times. All
 * times are those of the source, in milliseconds.
 */
export class ChannelResults {
  readonly #text = new ChannelText()
  #connections = 0
  /** The last result of this recognition; `failed`: a final with an error of this connection, not emitted yet. */
  #last: 'nothing' | 'result' | 'failed' | 'final' = 'nothing'
  /** Whether a final arrived after the finalize request. */
  #isAnswered = false
  /** The times of the final that answered: how far the audio was read, and the end of the final. */
  #answer: Pick<FinalEvent, 'heardMs' | 'endMs'> = noTimes
  #recognitionId: string | undefined
  /** The end of the last milestone, silence, or speech that matched nothing. */
  #endMs = 0
  /** The end of the last milestone. */
  #spokenMs = 0
  #startMs: number | undefined
  /** Milestones with new words that another connection may repeat; repeated ones must not replace them. */
  #arrivals: Arrival[] = []
  /** The last two milestones. */
  #latest: readonly Arrival[] = []
  /** The confidence of milestones of earlier connections and of this one, weighted by the length of their text. */
  #earlierConfidence = noConfidence
  /** What was stable in the last partial of the open segment, and what of it another connection must not take back. */
  #stable = noStable
  #kept = noStable
  #confidence = noConfidence

  /** Whether the last result was a final. */
  get isFinal(): boolean {
    return this.#last === 'final'
  }

  /** Whether the recognition has results, on this connection or an earlier one, without the final that ends them. */
  get isOpen(): boolean {
    return this.#last === 'result'
  }

  get isAnswered(): boolean {
    return this.#isAnswered
  }

  /** Finalize was requested. */
  expectFinals(): void {
    this.#isAnswered = false
  }

  /** The times of the final that answered, if any. */
  get answered(): Pick<FinalEvent, 'heardMs' | 'endMs'> {
    return this.#isAnswered ? this.#answer : noTimes
  }

  /** A final arrived, which may only repeat the last one. */
  answer(): void {
    this.#isAnswered = true
  }

  /** The recognition failed; another connection may continue it. */
  end(): void {
    this.#last = 'failed'
  }

  /** Another connection reads from `fromMs` on. */
  begin(fromMs: number): void {
    this.#connections += 1
    this.#kept = this.#stable
    if (this.#last === 'final') {
      this.#beginRecognition()
      this.#last = 'nothing'
    } else if (this.#last === 'failed') this.#last = 'result'
    if (this.#connections === 1) return
    this.#earlierConfidence = this.#confidence
    this.forget(fromMs)
    this.#text.begin(this.#arrivals.flatMap(({ words }) => words))
  }

  /** No other connection reads audio before `ms`. */
  forget(ms: number): void {
    // One millisecond more, because times are rounded.
    const from = this.#arrivals.findIndex(({ sentMs }) => sentMs >= ms + 1)
    this.#arrivals = from === -1 ? [] : from === 0 ? this.#arrivals : this.#arrivals.slice(from)
  }

  /** The new part of a partial; undefined if nothing is new, or if it contradicts stable text of another connection. */
  partial(event: PartialEvent): PartialEvent | undefined {
    this.#open(event)
    const added = this.#newPartial(event)
    if (added === undefined) return undefined
    const { startMs = -Infinity, endMs = Infinity } = added
    if (startMs >= this.#kept.endMs) this.#kept = noStable
    const partial = keepStable(this.#kept.text, added)
    if (partial !== undefined) this.#stable = { text: partial.text.slice(0, partial.stableLength ?? 0), endMs }
    return partial
  }

  #newPartial(event: PartialEvent): PartialEvent | undefined {
    if (this.#isFirst) return event
    if (this.#isBefore(event)) return undefined
    const text = this.#isAfter(event) ? event.text : this.#text.newPart(event.text)
    if (text === event.text) return this.#continuous(event)
    if (text === '') return undefined
    const { stableLength = 0, ...rest } = event
    // The text without its first words ends as before, unless the words had other spaces between them.
    const stable = event.text.endsWith(text) ? stableLength - (event.text.length - text.length) : 0
    return this.#continuous({ ...rest, text, ...stablePart(text, stable) })
  }

  /** The new part of a milestone; undefined if nothing is new. */
  milestone(event: MilestoneEvent, sentMs: number, readMs: number): MilestoneEvent | undefined {
    this.#open(event)
    this.#stable = this.#kept = noStable
    const fresh = this.#newMilestone(event)
    const text = this.#text.commit(event.text, fresh?.text ?? '')
    this.#arrive(event.endMs ?? sentMs, readMs, wordsOf(text))
    if (fresh === undefined || (text === '' && event.text !== '')) return undefined
    const milestone = this.#isFirst ? event : this.#continuous({ ...fresh, text })
    this.#startMs ??= milestone.startMs
    this.#spokenMs = Math.max(this.#spokenMs, milestone.endMs ?? 0)
    this.#endMs = Math.max(this.#endMs, this.#spokenMs)
    this.#addConfidence(milestone)
    return milestone
  }

  /** The new part of a silence, or of speech that matched nothing; undefined if nothing is new. */
  silence(event: NodeEvent): NodeEvent | undefined {
    this.#stable = this.#kept = noStable
    const beforeMs = this.#endMs
    this.#endMs = Math.max(beforeMs, event.endMs)
    if (this.#isFirst) return event
    const toMs = beforeMs + (beforeMs > 0 && this.#spokenMs === beforeMs ? restMs : slackMs)
    return event.startMs <= beforeMs + slackMs && event.endMs < toMs
      ? undefined
      : { ...event, startMs: Math.max(event.startMs, beforeMs) }
  }

  /** The final of a recognition, with its text from all connections; audio was sent up to `sentMs`. */
  final(event: FinalEvent, sentMs: number, readMs: number): FinalEvent {
    if (this.#last === 'final') this.#beginRecognition()
    this.#stable = this.#kept = noStable
    this.#last = 'final'
    this.#isAnswered = true
    // Some services report 0 as the end of a final without text.
    this.#answer = event.text === '' && event.heardMs === undefined ? noTimes : event
    const added = this.#text.commitFinal(event.text)
    if (added !== '') this.#arrive(event.endMs ?? sentMs, readMs, wordsOf(added))
    if (this.#isFirst) return event
    this.#recognitionId ??= event.recognitionId
    const { text } = this.#text
    // A recognition without words does not inherit the confidence and the end of earlier words.
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

  /** The text of a final that does not end the session, beyond its milestones, as one more milestone. */
  milestoneOf({ recognitionId, channel, startMs, endMs, text }: FinalEvent): MilestoneEvent | undefined {
    const added = this.#text.addedBy(text)
    if (added.trim() === '') return undefined
    // A final that may repeat earlier words begins before them.
    const fromMs = (this.#text.isRepeating ? startMs : undefined) ?? this.#endMs
    return {
      type: 'milestone',
      ...(channel === undefined ? {} : { channel }),
      ...(recognitionId === undefined ? {} : { recognitionId }),
      ...(endMs === undefined ? {} : { startMs: Math.min(fromMs, endMs), endMs }),
      text: added,
    }
  }

  /** Audio up to here has its results after a milestone without times: the end of the previous milestone. */
  get estimateMs(): number {
    const [before, last] = this.#latest
    if (before === undefined || last === undefined) return 0
    return Math.min(before.readMs, last.readMs - milestoneDelayMs)
  }

  /** A result arrived. After a final on the same connection it belongs to another recognition. */
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
    this.#confidence = noConfidence
    this.#earlierConfidence = noConfidence
  }

  get #isFirst(): boolean {
    return this.#connections <= 1
  }

  #newMilestone(event: MilestoneEvent): MilestoneEvent | undefined {
    if (this.#isFirst) return event
    if (this.#isBefore(event)) return undefined
    if (this.#isAfter(event)) return event
    const words = event.words?.filter((word) => middleOf(word) > this.#endMs)
    // Uses the times of the words if all have times, otherwise the words alone.
    if (words !== undefined && event.words?.length === wordsOf(event.text).length) {
      // The end of what was heard before can be read as other words the second time.
      if (words.length === 0) return undefined
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
    const { endMs = Infinity, text } = event
    return this.#endMs > 0 && endMs <= this.#endMs + slackOf(event, wordsOf(text).length || 1)
  }

  #isAfter(event: PartialEvent | MilestoneEvent): boolean {
    return event.startMs !== undefined && event.startMs >= this.#endMs
  }

  /** Sets the id of the first recognition, and keeps times increasing. */
  #continuous<Event extends PartialEvent | MilestoneEvent>(event: Event): Event {
    const isBack = event.startMs !== undefined && event.startMs < this.#endMs
    return { ...this.#named(event), ...(isBack ? { startMs: this.#endMs } : {}) }
  }

  #named<Event extends PartialEvent | MilestoneEvent | FinalEvent>(event: Event): Event {
    return this.#recognitionId === undefined ? event : { ...event, recognitionId: this.#recognitionId }
  }

  #arrive(sentMs: number, readMs: number, words: readonly string[]): void {
    const arrival = { sentMs, readMs: Math.min(sentMs, readMs), words }
    this.#latest = [...this.#latest.slice(-1), arrival]
    if (words.length > 0) this.#arrivals.push(arrival)
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

/** Less than a word lasts, because the last one may be new. */
const slackOf = ({ startMs = -Infinity, endMs = Infinity }: PartialEvent | MilestoneEvent, wordCount: number): number =>
  Math.min(slackMs, (endMs - startMs) / 4 / wordCount)

const middleOf = ({ startMs, endMs }: Word): number => (startMs + endMs) / 2
