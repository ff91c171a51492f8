import type { Word } from '../../../protocol/session-event.js'
import { clamp } from '../decoded-words.js'
import type { FromWorker, SegmentMessage } from '../pool/worker-messages.js'
import type { SherpaRecognizer, SherpaResult, SherpaStream } from './package.js'

/** Streaming models look ahead: with this much silence after the last word they return it. */
const tailMs = 500

interface Segment {
  readonly startMs: number
  readonly stream: SherpaStream
  text: string
}

const toFloat = (samples: Int16Array): Float32Array => Float32Array.from(samples, (sample) => sample / 32768)

/**
 * The segments of one worker, each a stream of the one recognizer. Messages are handled in order, one per turn of the event
 * loop, except that an abort precedes what was sent before it and is not decoded yet.
 */
export class SherpaSegments {
  readonly #recognizer: SherpaRecognizer
  readonly #sampleRateHz: number
  readonly #post: (message: FromWorker) => void
  readonly #later: (work: () => void) => unknown
  readonly #segments = new Map<number, Segment>()
  readonly #queue: SegmentMessage[] = []

  /** `later` calls its argument once the messages that have arrived by now are received, such as `setImmediate`. */
  constructor(
    recognizer: SherpaRecognizer,
    sampleRateHz: number,
    post: (message: FromWorker) => void,
    later: (work: () => void) => unknown,
  ) {
    this.#recognizer = recognizer
    this.#sampleRateHz = sampleRateHz
    this.#post = post
    this.#later = later
  }

  receive(message: SegmentMessage): void {
    if (message.type === 'abort') this.#segments.delete(message.segment)
    else if (message.type === 'open') this.#open(message.segment, message.startMs)
    else if (this.#segments.has(message.segment) && this.#queue.push(message) === 1) this.#later(() => this.#next())
  }

  #next(): void {
    const [first] = this.#queue
    if (first !== undefined) this.#decode(first)
    this.#queue.shift()
    if (this.#queue.length > 0) this.#later(() => this.#next())
  }

  #open(id: number, startMs: number): void {
    try {
      this.#segments.set(id, { startMs, stream: this.#recognizer.createStream(), text: '' })
    } catch {
      this.#post({ type: 'failed', segment: id })
    }
  }

  /** A segment whose stream throws fails; the others have separate streams. */
  #decode(message: SegmentMessage): void {
    const segment = this.#segments.get(message.segment)
    if (segment === undefined) return
    try {
      if (message.type === 'audio') this.#process(message.segment, segment, message.samples)
      else if (message.type === 'close') this.#decide(message.segment, segment, message.endMs)
    } catch {
      this.#segments.delete(message.segment)
      this.#post({ type: 'failed', segment: message.segment })
    }
  }

  #process(id: number, segment: Segment, samples: Int16Array): void {
    segment.stream.acceptWaveform({ samples: toFloat(samples), sampleRate: this.#sampleRateHz })
    this.#run(segment.stream)
    const text = this.#recognizer.getResult(segment.stream).text.trim()
    const partial = text === segment.text ? undefined : text
    segment.text = text
    this.#post({ type: 'progress', segment: id, sampleCount: samples.length, partial })
  }

  #decide(id: number, { startMs, stream }: Segment, endMs: number): void {
    const tail = new Float32Array((tailMs * this.#sampleRateHz) / 1000)
    stream.acceptWaveform({ samples: tail, sampleRate: this.#sampleRateHz })
    stream.inputFinished()
    this.#run(stream)
    const result = this.#recognizer.getResult(stream)
    this.#segments.delete(id)
    const words = sherpaWords(result, startMs, endMs)
    this.#post({ type: 'decided', segment: id, words, text: { text: result.text.trim() } })
  }

  #run(stream: SherpaStream): void {
    while (this.#recognizer.isReady(stream)) this.#recognizer.decode(stream)
  }
}

/** Models write the beginning of a word in a token as U+2581 or as a space. */
const wordStart = /^[\u2581 ]/

interface TokenGroup {
  text: string
  readonly startS: number
  readonly logProbs: number[]
}

/** The tokens of each word. */
const groupTokens = ({ tokens = [], timestamps = [], ys_probs: probs = [] }: SherpaResult): readonly TokenGroup[] => {
  const groups: TokenGroup[] = []
  if (timestamps.length !== tokens.length || probs.length !== tokens.length) return groups
  if (!tokens.some((token) => wordStart.test(token))) return groups
  for (const [at, token] of tokens.entries()) {
    const text = token.replace(wordStart, '')
    const last = groups.at(-1)
    if (last === undefined || wordStart.test(token)) {
      groups.push({ text, startS: timestamps[at] ?? 0, logProbs: [probs[at] ?? 0] })
    } else {
      last.text += text
      last.logProbs.push(probs[at] ?? 0)
    }
  }
  return groups.filter(({ text }) => text !== '')
}

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

/**
 * The words of a segment, if the model provides tokens with times and probabilities and marks where words begin; otherwise
 * none. A model only knows where a word begins, so each ends where the next begins.
 */
export const sherpaWords = (result: SherpaResult, startMs: number, endMs: number): readonly Word[] => {
  const groups = groupTokens(result)
  const startOf = (group: TokenGroup | undefined): number =>
    group === undefined ? endMs : clamp(startMs + Math.round(group.startS * 1000), startMs, endMs)
  return groups.map((group, at) => {
    const wordStartMs = startOf(group)
    return {
      text: group.text,
      startMs: wordStartMs,
      endMs: Math.max(startOf(groups[at + 1]), wordStartMs),
      confidence: clamp(Math.exp(meanOf(group.logProbs)), 0, 1),
    }
  })
}
