import type { Word } from '../../protocol/session-event.js'
import { checkOptions, codec, flag, functionValue, numberUpToInfinity, optionsOf } from '../../protocol/validation.js'
import { PositionReader, type SampleRange } from './position-audio.js'

/** The behavior of a verifying service. All times are audio of one connection, so the service needs no clock. */
export interface VerifyingBehavior {
  /** How much audio a milestone covers, in milliseconds. @default 1000 */
  readonly milestoneEveryMs?: number | undefined
  /** How much further audio must arrive before a milestone is sent, in milliseconds. @default 0 */
  readonly milestoneLagMs?: number | undefined
  /** How often a partial is sent, in milliseconds of audio; 0 for never. @default 200 */
  readonly partialEveryMs?: number | undefined
  /** The length of a word in milliseconds. @default 100 */
  readonly wordMs?: number | undefined
  /** Whether results have times, which a plain service omits. @default true */
  readonly times?: boolean | undefined
  /** Whether the service answers a finalize. @default true */
  readonly answersFinalize?: boolean | undefined
  /** Whether the service answers a start. @default true */
  readonly answersStart?: boolean | undefined
  /** Stops reading from a connection after this many bytes of audio. @default Infinity */
  readonly stopsReadingAfterBytes?: number | undefined
  /** Sends a malformed message on each connection after this much audio. @default Infinity */
  readonly malformedAfterMs?: number | undefined
  /** Sends all results and closes with 1001 or UNAVAILABLE after this much audio on a connection. @default Infinity */
  readonly goesAwayAfterMs?: number | undefined
  /** Whether a token is accepted; `connection` counts from 1. @default accepts every token */
  readonly accepts?: ((token: string, connection: number) => boolean) | undefined
}

const aboveZero = codec('above 0', (value): value is number => typeof value === 'number' && value > 0)
const amount = numberUpToInfinity(0)

const verifyingBehavior = optionsOf<VerifyingBehavior>()(
  {},
  {
    milestoneEveryMs: aboveZero,
    milestoneLagMs: amount,
    partialEveryMs: amount,
    wordMs: aboveZero,
    times: flag,
    answersFinalize: flag,
    answersStart: flag,
    stopsReadingAfterBytes: amount,
    malformedAfterMs: amount,
    goesAwayAfterMs: amount,
    accepts: functionValue,
  },
)

const defaults = {
  milestoneEveryMs: 1_000,
  milestoneLagMs: 0,
  partialEveryMs: 200,
  wordMs: 100,
  times: true,
  answersFinalize: true,
  answersStart: true,
  stopsReadingAfterBytes: Infinity,
  malformedAfterMs: Infinity,
  goesAwayAfterMs: Infinity,
}

export type ResolvedBehavior = Readonly<typeof defaults> & Pick<VerifyingBehavior, 'accepts'>

/** The behavior with its defaults. Throws `invalid-options` for a time that is out of range. */
export const resolveBehavior = (behavior: VerifyingBehavior): ResolvedBehavior => {
  const given = Object.entries(checkOptions(verifyingBehavior, behavior)).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(given) }
}

/** A result with times of the connection's audio, in milliseconds. */
export interface VerifyingResult {
  readonly type: 'partial' | 'milestone' | 'final'
  readonly text: string
  readonly startMs: number
  readonly endMs: number
  readonly words: readonly Word[]
}

/**
 * Recognizes position audio: each word is named after its position in the source, on any connection. So the transcript
 * is `w0 w1 w2 …` to the end of the source only if each part was finalized exactly once.
 */
export class VerifyingRecognition {
  readonly #reader: PositionReader
  readonly #sampleRateHz: number
  readonly #behavior: ResolvedBehavior
  readonly #emit: (result: VerifyingResult) => void
  readonly #finalized: SampleRange[] = []
  /** The ends of the last milestone and of the last partial, in samples of the connection. */
  #milestoneEnd = 0
  #partialEnd = 0
  #finalText = ''

  constructor(
    sampleRateHz: number,
    channels: 1 | 2,
    behavior: ResolvedBehavior,
    emit: (result: VerifyingResult) => void,
  ) {
    this.#reader = new PositionReader(channels)
    this.#sampleRateHz = sampleRateHz
    this.#behavior = behavior
    this.#emit = emit
  }

  get reader(): PositionReader {
    return this.#reader
  }

  /** The samples of the source that a milestone covers. */
  get finalized(): readonly SampleRange[] {
    return this.#finalized
  }

  /** How much audio arrived, in milliseconds. */
  get receivedMs(): number {
    return (this.#reader.receivedSamples * 1_000) / this.#sampleRateHz
  }

  take(bytes: Uint8Array): void {
    this.#reader.take(bytes)
    const { milestoneEveryMs, milestoneLagMs, partialEveryMs } = this.#behavior
    const lag = this.#samples(milestoneLagMs)
    const every = this.#samples(milestoneEveryMs)
    while (this.#reader.receivedSamples >= this.#milestoneEnd + every + lag) this.#milestone(this.#milestoneEnd + every)
    const received = this.#reader.receivedSamples
    if (partialEveryMs === 0 || received < this.#partialEnd + this.#samples(partialEveryMs)) return
    this.#partialEnd = received
    this.#result('partial', this.#milestoneEnd, received)
  }

  /** Emits a milestone for the remaining audio, then the final. */
  finish(): void {
    this.finishMilestones()
    const endMs = Math.round(this.receivedMs)
    this.#emit({ type: 'final', text: this.#finalText, startMs: 0, endMs, words: [] })
  }

  finishMilestones(): void {
    if (this.#reader.receivedSamples > this.#milestoneEnd) this.#milestone(this.#reader.receivedSamples)
  }

  #samples(ms: number): number {
    return Math.round((ms * this.#sampleRateHz) / 1_000)
  }

  #milestone(to: number): void {
    const from = this.#milestoneEnd
    this.#milestoneEnd = to
    this.#partialEnd = Math.max(this.#partialEnd, to)
    this.#finalized.push(...this.#parts(from, to).map(({ source }) => source))
    this.#result('milestone', from, to)
  }

  #result(type: 'partial' | 'milestone', from: number, to: number): void {
    const words = this.#words(from, to)
    const separator = type === 'milestone' && this.#finalText !== '' && words.length > 0 ? ' ' : ''
    const text = separator + words.map((word) => word.text).join(' ')
    if (type === 'milestone') this.#finalText += text
    this.#emit({ type, text, words, startMs: this.#ms(from), endMs: this.#ms(to) })
  }

  #ms(samples: number): number {
    return Math.round((samples * 1_000) / this.#sampleRateHz)
  }

  /** The parts of the source between two samples of the connection. */
  #parts(from: number, to: number): readonly { readonly at: number; readonly source: SampleRange }[] {
    return this.#reader.runs.flatMap(({ receivedFrom, source }) => {
      const first = Math.max(from, receivedFrom)
      const last = Math.min(to, receivedFrom + source.to - source.from)
      const offset = source.from - receivedFrom
      return last > first ? [{ at: first, source: { from: first + offset, to: last + offset } }] : []
    })
  }

  /** A word belongs to the part that contains its middle. */
  #words(from: number, to: number): readonly Word[] {
    const length = this.#samples(this.#behavior.wordMs)
    const middle = Math.floor(length / 2)
    return this.#parts(from, to).flatMap(({ at, source }) => {
      const words: Word[] = []
      for (let word = Math.ceil((source.from - middle) / length); word * length + middle < source.to; word += 1) {
        const start = at + word * length - source.from
        words.push({
          text: `w${word}`,
          startMs: this.#ms(Math.max(from, start)),
          endMs: this.#ms(Math.min(to, start + length)),
          confidence: 1,
        })
      }
      return words
    })
  }
}
