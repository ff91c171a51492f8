import type { Word } from '../../protocol/session-event.js'
import { PositionReader } from './position-audio.js'
import type { ResolvedBehavior } from './proving-behavior.js'
import type { SampleRange } from './sample-ranges.js'

/** A result in the timeline of one connection, in milliseconds; `words` are of the source. */
export interface ProvingResult {
  readonly type: 'partial' | 'milestone' | 'final'
  readonly text: string
  readonly startMs: number
  readonly endMs: number
  readonly words: readonly Word[]
}

/**
 * One recognition that hears positions: each word is named after its place in the source, whatever connection it comes
 * on. So the transcript is `w0 w1 w2 …` to the end of the source only if each part was finalized exactly once.
 */
export class ProvingRecognition {
  readonly #reader: PositionReader
  readonly #finalized: SampleRange[] = []
  #milestoned = 0
  #partialled = 0
  #saidText = ''

  constructor(
    private readonly sampleRateHz: number,
    channels: 1 | 2,
    private readonly behavior: ResolvedBehavior,
    private readonly say: (result: ProvingResult) => void,
  ) {
    this.#reader = new PositionReader(channels)
  }

  get reader(): PositionReader {
    return this.#reader
  }

  /** Parts of the source that a milestone was said of. */
  get finalized(): readonly SampleRange[] {
    return this.#finalized
  }

  /** Milliseconds of audio that came. */
  get heardMs(): number {
    return (this.#reader.heardSamples * 1_000) / this.sampleRateHz
  }

  take(bytes: Uint8Array): void {
    this.#reader.take(bytes)
    const { milestoneEveryMs, milestoneLagMs, partialEveryMs } = this.behavior
    const lag = this.#samples(milestoneLagMs)
    const every = this.#samples(milestoneEveryMs)
    while (this.#reader.heardSamples >= this.#milestoned + every + lag) this.#milestone(this.#milestoned + every)
    const heard = this.#reader.heardSamples
    if (partialEveryMs === 0 || heard < this.#partialled + this.#samples(partialEveryMs)) return
    this.#partialled = heard
    this.#result('partial', this.#milestoned, heard)
  }

  /** All that is left, then the final. */
  finish(): void {
    this.finishMilestones()
    const endMs = Math.round(this.heardMs)
    this.say({ type: 'final', text: this.#saidText, startMs: 0, endMs, words: [] })
  }

  finishMilestones(): void {
    if (this.#reader.heardSamples > this.#milestoned) this.#milestone(this.#reader.heardSamples)
  }

  #samples(ms: number): number {
    return Math.round((ms * this.sampleRateHz) / 1_000)
  }

  #milestone(to: number): void {
    const from = this.#milestoned
    this.#milestoned = to
    this.#partialled = Math.max(this.#partialled, to)
    this.#finalized.push(...this.#parts(from, to).map(({ source }) => source))
    this.#result('milestone', from, to)
  }

  #result(type: 'partial' | 'milestone', from: number, to: number): void {
    const words = this.#words(from, to)
    const separator = type === 'milestone' && this.#saidText !== '' && words.length > 0 ? ' ' : ''
    const text = separator + words.map((word) => word.text).join(' ')
    if (type === 'milestone') this.#saidText += text
    this.say({ type, text, words, startMs: this.#ms(from), endMs: this.#ms(to) })
  }

  #ms(samples: number): number {
    return Math.round((samples * 1_000) / this.sampleRateHz)
  }

  /** What of the source came between two samples of the connection's audio. */
  #parts(from: number, to: number): readonly { readonly at: number; readonly source: SampleRange }[] {
    return this.#reader.runs.flatMap(({ heardFrom, source }) => {
      const first = Math.max(from, heardFrom)
      const last = Math.min(to, heardFrom + source.to - source.from)
      const offset = source.from - heardFrom
      return last > first ? [{ at: first, source: { from: first + offset, to: last + offset } }] : []
    })
  }

  /** A word is heard where its middle is. */
  #words(from: number, to: number): readonly Word[] {
    const length = this.#samples(this.behavior.wordMs)
    const middle = Math.floor(length / 2)
    return this.#parts(from, to).flatMap(({ at, source }) => {
      const words: Word[] = []
      for (let word = Math.ceil((source.from - middle) / length); word * length + middle < source.to; word += 1) {
        const heardAt = at + word * length - source.from
        words.push({
          text: `w${word}`,
          startMs: this.#ms(Math.max(from, heardAt)),
          endMs: this.#ms(Math.min(to, heardAt + length)),
          confidence: 1,
        })
      }
      return words
    })
  }
}
