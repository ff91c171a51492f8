import type { SpeechError } from '../../../errors/speech-error.js'
import type { Word } from '../../../protocol/session-event.js'
import { HopCutter } from '../frame-cutter.js'
import type { DecidedWhole, LaneSegment, SegmentListener } from '../channel-segments.js'
import type { ToWorker } from './worker-messages.js'

/** What a segment tells its pool. */
export interface SegmentPool {
  /** It holds a decoder no more, or waits for none. */
  readonly leave: (segment: PooledSegment) => void
  /** Its worker has to say something now. */
  readonly asked: () => void
  readonly hopSamples: number
}

type State =
  | { readonly type: 'waiting'; readonly held: ToWorker[] }
  | { readonly type: 'running'; readonly post: (message: ToWorker) => void }
  | { readonly type: 'over' }

/**
 * A segment on its way through the pool. Its audio is cut into hops of one length, whatever the chunks it came in:
 * that makes the answer the same, and one message of five chunks. While it waits in line its hops are kept.
 */
export class PooledSegment implements LaneSegment {
  private state: State
  private readonly hops: HopCutter
  /** Messages that the worker has and did not answer. */
  private owed = 0

  constructor(
    readonly id: number,
    startMs: number,
    private readonly listener: SegmentListener,
    private readonly pool: SegmentPool,
  ) {
    this.hops = new HopCutter(pool.hopSamples, (hop) => this.sendHop(hop))
    this.state = { type: 'waiting', held: [{ type: 'open', segment: id, startMs }] }
  }

  /** Whether its worker has to say something, for it has audio that it did not read, or the end. */
  get isOwed(): boolean {
    return this.state.type === 'running' && this.owed > 0
  }

  /** A decoder is there: what was held goes to its worker. */
  start(post: (message: ToWorker) => void): void {
    if (this.state.type !== 'waiting') return
    const { held } = this.state
    this.state = { type: 'running', post }
    for (const message of held) this.send(message)
  }

  write(samples: Int16Array): void {
    this.hops.write(samples)
  }

  close(endMs: number): void {
    this.hops.flush()
    this.send({ type: 'close', segment: this.id, endMs })
  }

  abort(): void {
    if (this.state.type === 'over') return
    if (this.state.type === 'running') this.state.post({ type: 'abort', segment: this.id })
    this.state = { type: 'over' }
    this.pool.leave(this)
  }

  taken(sampleCount: number, partial: string | undefined): void {
    this.owed -= 1
    if (this.state.type !== 'over') this.listener.taken(sampleCount, partial)
  }

  decided(words: readonly Word[], whole?: DecidedWhole): void {
    if (this.end()) this.listener.decided(words, whole)
  }

  failed(error: SpeechError): void {
    if (this.end()) this.listener.failed(error)
  }

  private end(): boolean {
    const wasOn = this.state.type !== 'over'
    this.state = { type: 'over' }
    return wasOn
  }

  /** A message to a worker is copied on its way, so the hop is used again; one that is held needs its own samples. */
  private sendHop(hop: Int16Array): void {
    const samples = this.state.type === 'running' && hop.length === this.pool.hopSamples ? hop : hop.slice()
    this.send({ type: 'audio', segment: this.id, samples })
  }

  private send(message: ToWorker): void {
    if (this.state.type === 'waiting') this.state.held.push(message)
    if (this.state.type !== 'running') return
    if (message.type === 'audio' || message.type === 'close') {
      this.owed += 1
      if (this.owed === 1) this.pool.asked()
    }
    this.state.post(message)
  }
}
