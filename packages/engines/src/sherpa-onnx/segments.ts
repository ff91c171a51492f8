import type { FromWorker, SegmentMessage } from '../pool/worker-messages.js'
import type { SherpaPunctuation, SherpaRecognizer, SherpaSettings, SherpaStream } from './package.js'
import { sherpaWords } from './words.js'

/** What streams are decoded with. */
export interface StreamingSettings extends Pick<SherpaSettings, 'sampleRateHz' | 'leadMs'> {
  readonly languageSetting?: SherpaSettings['languageSetting'] | undefined
  readonly language?: string | undefined
  /** Streaming models look ahead: with this much silence after the last word they return it. */
  readonly tailMs: number
  readonly punctuation?: SherpaPunctuation | undefined
}

interface Segment {
  readonly startMs: number
  readonly stream: SherpaStream
  text: string
}

const toFloat = (samples: Int16Array): Float32Array => Float32Array.from(samples, (sample) => sample / 32768)

/**
 * The segments of one worker, each a stream of the one recognizer. Messages are handled in order, one per turn of the
 * event loop, except that an abort precedes what was sent before it and is not decoded yet.
 */
export class SherpaSegments {
  readonly #recognizer: SherpaRecognizer
  readonly #settings: StreamingSettings
  readonly #post: (message: FromWorker) => void
  readonly #later: (work: () => void) => unknown
  readonly #segments = new Map<number, Segment>()
  readonly #queue: SegmentMessage[] = []

  /** `later` calls its argument once the messages that have arrived by now are received, such as `setImmediate`. */
  constructor(
    recognizer: SherpaRecognizer,
    settings: StreamingSettings,
    post: (message: FromWorker) => void,
    later: (work: () => void) => unknown,
  ) {
    this.#recognizer = recognizer
    this.#settings = settings
    this.#post = post
    this.#later = later
  }

  receive(message: SegmentMessage): void {
    if (message.type === 'abort') this.#segments.delete(message.segment)
    else if (message.type === 'open') this.#open(message)
    else if (this.#segments.has(message.segment) && this.#queue.push(message) === 1) this.#later(() => this.#next())
  }

  #next(): void {
    const [first] = this.#queue
    if (first !== undefined) this.#decode(first)
    this.#queue.shift()
    if (this.#queue.length > 0) this.#later(() => this.#next())
  }

  /** Each segment has a stream of its own, because one that is reset keeps the end of the audio before it. */
  #open({ segment, startMs, settings = {} }: SegmentMessage & { readonly type: 'open' }): void {
    try {
      const stream = this.#recognizer.createStream()
      const { languageSetting, leadMs } = this.#settings
      const language = settings.language ?? this.#settings.language
      if (languageSetting?.by === 'stream' && language !== undefined && language !== 'auto')
        stream.setOption(languageSetting.option, language)
      if (leadMs > 0) this.#addSilence(stream, leadMs)
      this.#segments.set(segment, { startMs, stream, text: '' })
    } catch {
      this.#post({ type: 'failed', segment })
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
    segment.stream.acceptWaveform({ samples: toFloat(samples), sampleRate: this.#settings.sampleRateHz })
    this.#run(segment.stream)
    const text = this.#recognizer.getResult(segment.stream).text.trim()
    const partial = text === segment.text ? undefined : text
    segment.text = text
    this.#post({ type: 'progress', segment: id, sampleCount: samples.length, partial })
  }

  #decide(id: number, { startMs, stream }: Segment, endMs: number): void {
    this.#addSilence(stream, this.#settings.tailMs)
    stream.inputFinished()
    this.#run(stream)
    const result = this.#recognizer.getResult(stream)
    this.#segments.delete(id)
    const words = sherpaWords(result, startMs, endMs, this.#settings.leadMs)
    const text = result.text.trim()
    this.#post({
      type: 'decided',
      segment: id,
      words,
      text: { text: this.#settings.punctuation?.addPunct(text) ?? text },
    })
  }

  #addSilence(stream: SherpaStream, ms: number): void {
    const { sampleRateHz } = this.#settings
    stream.acceptWaveform({ samples: new Float32Array((ms * sampleRateHz) / 1000), sampleRate: sampleRateHz })
  }

  #run(stream: SherpaStream): void {
    while (this.#recognizer.isReady(stream)) this.#recognizer.decode(stream)
  }
}
