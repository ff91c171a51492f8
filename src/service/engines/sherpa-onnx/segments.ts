import type { FromWorker, ToWorker } from '../pool/worker-messages.js'
import type { SherpaRecognizer, SherpaStream } from './package.js'
import { sherpaWords } from './words.js'

/** A streaming model looks ahead: so much silence after the last word lets it say that. */
const tailMs = 500

interface Running {
  readonly startMs: number
  readonly stream: SherpaStream
  text: string
}

const toFloat = (samples: Int16Array): Float32Array => Float32Array.from(samples, (sample) => sample / 32768)

/**
 * The segments of one worker, each a stream of the one recognizer. Messages are worked off in order; an abort overtakes
 * what was sent before it and is not read yet.
 */
export class SherpaSegments {
  private readonly running = new Map<number, Running>()
  private readonly queue: ToWorker[] = []
  private working = false

  constructor(
    private readonly recognizer: SherpaRecognizer,
    private readonly sampleRateHz: number,
    private readonly say: (message: FromWorker) => void,
    /** What was sent and not received yet. */
    private readonly takeNext: () => ToWorker | undefined = () => undefined,
  ) {}

  receive(message: ToWorker): void {
    this.take(message)
    if (this.working) return
    this.working = true
    for (;;) {
      for (let next = this.takeNext(); next !== undefined; next = this.takeNext()) this.take(next)
      const first = this.queue.shift()
      if (first === undefined) break
      this.handle(first)
    }
    this.working = false
  }

  private take(message: ToWorker): void {
    if (message.type === 'abort') this.running.delete(message.segment)
    else if (message.type === 'open') this.open(message.segment, message.startMs)
    else if (this.running.has(message.segment)) this.queue.push(message)
  }

  private open(segment: number, startMs: number): void {
    try {
      this.running.set(segment, { startMs, stream: this.recognizer.createStream(), text: '' })
    } catch {
      this.say({ type: 'failed', segment })
    }
  }

  /** A segment whose stream threw is over; the others have streams of their own. */
  private handle(message: ToWorker): void {
    const one = this.running.get(message.segment)
    if (one === undefined) return
    try {
      if (message.type === 'audio') this.hear(message.segment, one, message.samples)
      else if (message.type === 'close') this.decide(message.segment, one, message.endMs)
    } catch {
      this.running.delete(message.segment)
      this.say({ type: 'failed', segment: message.segment })
    }
  }

  private hear(segment: number, one: Running, samples: Int16Array): void {
    this.feed(one.stream, toFloat(samples))
    const text = this.recognizer.getResult(one.stream).text.trim()
    const changed = text !== one.text
    one.text = text
    this.say({ type: 'taken', segment, sampleCount: samples.length, ...(changed && { partial: text }) })
  }

  private decide(segment: number, { startMs, stream }: Running, endMs: number): void {
    stream.acceptWaveform({
      samples: new Float32Array((tailMs * this.sampleRateHz) / 1000),
      sampleRate: this.sampleRateHz,
    })
    stream.inputFinished()
    this.decode(stream)
    const result = this.recognizer.getResult(stream)
    this.running.delete(segment)
    this.say({
      type: 'decided',
      segment,
      words: sherpaWords(result, startMs, endMs),
      whole: { text: result.text.trim() },
    })
  }

  private feed(stream: SherpaStream, samples: Float32Array): void {
    stream.acceptWaveform({ samples, sampleRate: this.sampleRateHz })
    this.decode(stream)
  }

  private decode(stream: SherpaStream): void {
    while (this.recognizer.isReady(stream)) this.recognizer.decode(stream)
  }
}
