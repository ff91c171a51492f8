import type { ResultEvent } from 'rxspeech/internal/operators/results/transcript'
import type { SpokenText } from './transcript-line.js'

export interface LineOrderOptions {
  /** The number of channels. The lines of one channel are in order as they arrive. */
  readonly channels: number
  /**
   * Whether the audio is sent at a pace that the service keeps up with, so that a channel is silent where its audio was
   * sent a while ago and has no words. Otherwise only results tell how far the service is.
   */
  readonly isPaced: boolean
}

/** How long after its audio was sent a channel without words counts as silent. */
export const silentAfterMs = 3000
/** How much audio a line waits at most, for example for words that the service never completes. */
export const maxWaitOfAudioMs = 30_000
/** How exactly the time of sent audio is known. */
const sampleMs = 100

interface WaitingLine {
  readonly spoken: SpokenText
  readonly atMs: number
}

interface ChannelPosition {
  /** No further line of the channel begins before this. */
  readonly reachedMs: number
  /** Whether it has words that may still change, whose line begins at `reachedMs`. */
  readonly isSpeaking: boolean
  /** Where its latest line begins; -Infinity without one that has a time. */
  readonly lastLineMs: number
}

const unheard: ChannelPosition = { reachedMs: 0, isSpeaking: false, lastLineMs: -Infinity }

/**
 * Puts the lines of several channels in the order of their times. A line waits until no other channel can have one that
 * begins earlier: until its results have reached that position, or it was silent there; for 30 s of audio at most.
 * Lines without times are due at once. Times of arrival (`nowMs`) are passed in, so this has no clock.
 */
export class LineOrder {
  readonly #channels: number
  readonly #isPaced: boolean
  readonly #positions = new Map<number, ChannelPosition>()
  #waiting: readonly WaitingLine[] = []
  /** Positions of sent audio, the first of them `silentAfterMs` ago. */
  #sent: readonly { readonly nowMs: number; readonly audioMs: number }[] = []

  constructor({ channels, isPaced }: LineOrderOptions) {
    this.#channels = channels
    this.#isPaced = isPaced
  }

  /** A result, and the line that it completes, if any. */
  take(event: ResultEvent, spoken: SpokenText | undefined): void {
    const channel = event.channel ?? 0
    const { reachedMs, lastLineMs } = this.#positionOf(channel)
    const isSpeaking = event.type === 'partial' && event.text.trim() !== ''
    const knownMs = event.type === 'partial' ? event.startMs : reachedBy(event)
    // Text that follows the milestones of its recognition has no time of its own.
    const atMs = spoken === undefined ? lastLineMs : Math.max(spoken.startMs ?? -Infinity, lastLineMs)
    this.#positions.set(channel, {
      reachedMs: Math.max(reachedMs, knownMs ?? 0),
      isSpeaking,
      lastLineMs: atMs,
    })
    if (spoken !== undefined) this.#insert({ spoken, atMs })
  }

  /** The position up to which audio has been sent. */
  sent(audioMs: number, nowMs: number): void {
    if (!this.#isPaced) return
    const last = this.#sent.at(-1)
    if (last !== undefined && nowMs - last.nowMs < sampleMs) {
      this.#sent = [...this.#sent.slice(0, -1), { ...last, audioMs }]
      return
    }
    const firstAt = this.#sent.findLastIndex((sample) => nowMs - sample.nowMs >= silentAfterMs)
    this.#sent = [...this.#sent.slice(Math.max(0, firstAt)), { nowMs, audioMs }]
  }

  /** The lines that nothing earlier can precede any more, in their order. They are removed. */
  due(nowMs: number): readonly SpokenText[] {
    const heardMs = this.#sent.findLast((sample) => nowMs - sample.nowMs >= silentAfterMs)?.audioMs ?? 0
    const first = this.#waiting.findIndex(({ spoken, atMs }) => atMs > this.#knownMs(spoken.channel, heardMs))
    return this.#remove(first === -1 ? this.#waiting.length : first)
  }

  /** All waiting lines in their order, when no more can come. They are removed. */
  rest(): readonly SpokenText[] {
    return this.#remove(this.#waiting.length)
  }

  /** The waiting lines in their order. */
  waiting(): readonly SpokenText[] {
    return this.#waiting.map(({ spoken }) => spoken)
  }

  /** Before this position, no channel but `own` can have another line. */
  #knownMs(own: number, heardMs: number): number {
    if (this.#channels === 1) return Infinity
    const positions = Array.from({ length: this.#channels }, (_, channel) => this.#positionOf(channel))
    const latestMs = Math.max(heardMs, ...positions.map(({ reachedMs }) => reachedMs))
    const knownMs = positions
      .filter((_position, channel) => channel !== own)
      .map(({ reachedMs, isSpeaking }) => (isSpeaking ? reachedMs : Math.max(reachedMs, heardMs)))
    return Math.max(Math.min(...knownMs), latestMs - maxWaitOfAudioMs)
  }

  #positionOf(channel: number): ChannelPosition {
    return this.#positions.get(channel) ?? unheard
  }

  #insert(line: WaitingLine): void {
    const after = this.#waiting.findLastIndex(({ atMs }) => atMs <= line.atMs) + 1
    this.#waiting = [...this.#waiting.slice(0, after), line, ...this.#waiting.slice(after)]
  }

  #remove(count: number): readonly SpokenText[] {
    const removed = this.#waiting.slice(0, count)
    this.#waiting = this.#waiting.slice(count)
    return removed.map(({ spoken }) => spoken)
  }
}

/** The end of the audio whose results are definitive with this one. */
const reachedBy = (event: ResultEvent): number | undefined =>
  (event.type === 'final' ? event.heardMs : undefined) ?? event.endMs ?? event.startMs
