import type { Observable, ObservableInput, Subscription } from 'rxjs'
import { bytesOf } from '../../../audio/pcm.js'
import { isSpeechError, SpeechError, type SpeechErrorOptions } from '../../../errors/speech-error.js'
import { refusalError } from '../../../errors/refusal.js'
import type { SessionEvent } from '../../../protocol/session-event.js'
import { HopCutter } from '../frame-cutter.js'
import type { LaneSegment, SegmentListener } from '../channel-segments.js'
import { SampleFeed } from './sample-feed.js'

/** A session with the other service, for the audio of one segment. */
export type OpenRecognition = (audio: ObservableInput<Uint8Array>) => Observable<SessionEvent>

/**
 * The other service failed. What it said is the cause, for the operator; clients learn that the engine failed, or is
 * overloaded and for how long.
 */
const remoteFailed = (cause: unknown): SpeechError => {
  if (!isSpeechError(cause)) return failed({ cause })
  const { code, retryable, retryAfterMs } = cause
  const options = { cause, retryable, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
  return code === 'overloaded'
    ? new SpeechError('overloaded', 'The recognition engine is overloaded; try again later.', options)
    : failed(options)
}

const failed = (options: SpeechErrorOptions): SpeechError =>
  new SpeechError('engine-failed', 'The remote recognition service failed; try again.', options)

/** One segment as one recognition of the other service. Samples count as taken when the connection has taken them. */
export class RemoteSegment implements LaneSegment {
  private readonly feed = new SampleFeed((samples) => this.send(samples))
  private readonly hops: HopCutter
  private life: Subscription | undefined
  private over = false
  private text = ''
  private shown = ''

  constructor(
    private readonly listener: SegmentListener,
    hopSamples: number,
    /** Called once, when the segment needs its place no more. */
    private readonly leave: () => void,
  ) {
    this.hops = new HopCutter(hopSamples, (hop) => this.feed.push(hop.slice()))
  }

  /** There is a place for it. */
  start(open: OpenRecognition): void {
    if (this.over) return
    this.life = open(this.feed.audio()).subscribe({
      next: (event) => this.hear(event),
      error: (error: unknown) => this.fail(error),
      complete: () => this.fail(new SpeechError('protocol-violation', 'The service ended without a final result.')),
    })
    if (this.over) this.life.unsubscribe()
  }

  write(samples: Int16Array): void {
    if (!this.over) this.hops.write(samples)
  }

  close(): void {
    this.hops.flush()
    this.feed.end()
  }

  abort(): void {
    this.end()
  }

  /** Once a message of audio has room: so many samples more are on their way. */
  private send(samples: Int16Array): Uint8Array {
    if (!this.over) this.listener.taken(samples.length, undefined)
    return bytesOf(samples)
  }

  private hear(event: SessionEvent): void {
    if (event.type === 'partial') this.show(`${this.text} ${event.text}`)
    else if (event.type === 'milestone') this.text += event.text
    else if (event.type === 'final') this.decide(event.error, event.confidence)
    // What fails the session is told after the gap that it leaves.
    else if (event.type === 'connection' && event.state === 'gap' && event.cause !== 'failed') this.fail(lost())
  }

  private show(text: string): void {
    const shown = text.trim().replaceAll(/\s+/g, ' ')
    if (this.over || shown === this.shown) return
    this.shown = shown
    this.listener.taken(0, shown)
  }

  private decide(error: string | undefined, confidence: number | undefined): void {
    if (error !== undefined) {
      this.fail(refusalError(error))
    } else if (this.end()) {
      const text = this.text.trim()
      this.listener.decided([], { text, ...(confidence !== undefined && text !== '' && { confidence }) })
    }
  }

  private fail(error: unknown): void {
    if (this.end()) queueMicrotask(() => this.listener.failed(remoteFailed(error)))
  }

  private end(): boolean {
    if (this.over) return false
    this.over = true
    this.feed.end()
    this.life?.unsubscribe()
    this.leave()
    return true
  }
}

const lost = (): SpeechError => new SpeechError('connection-lost', 'The other service ended before it took all audio.')
