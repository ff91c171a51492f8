import type { EventEnvelope } from 'rxspeech/internal/protocol/dataflow-events'
import type { WireLoss } from './graph-session.js'
import { portText, type WireOptions } from './wire-options.js'

/** An episode in which a wire drops items, reported when it begins and when it ends. */
export interface Drops {
  readonly phase: 'begun' | 'ended'
  /** Frames or events since the episode began. */
  readonly dropped: number
  /** Frames or events that were offered to the wire when the episode began. */
  readonly atCount: number
}

/** Counts what a wire drops, by episode and in total. */
export class WireDropCounter {
  readonly #report: (drops: Drops) => void
  #offered = 0
  #unreported = 0
  #episode: { dropped: number; readonly atCount: number } | undefined

  constructor(report: (drops: Drops) => void) {
    this.#report = report
  }

  get isOpen(): boolean {
    return this.#episode !== undefined
  }

  offer(count: number): void {
    this.#offered += count
  }

  drop(count: number): void {
    this.#unreported += count
    if (this.#episode !== undefined) {
      this.#episode.dropped += count
      return
    }
    this.#episode = { dropped: count, atCount: this.#offered }
    this.#report({ phase: 'begun', ...this.#episode })
  }

  end(): void {
    const episode = this.#episode
    this.#episode = undefined
    if (episode !== undefined) this.#report({ phase: 'ended', ...episode })
  }

  /** Frames or events dropped since the last call. */
  takeLoss(): number {
    const count = this.#unreported
    this.#unreported = 0
    return count
  }
}

/** The event for the client that reports an episode of drops (PROTOCOL 3.3). */
export const droppedEvent = ({ from, to, sampleRateHz }: WireOptions, drops: Drops): EventEnvelope => {
  const { phase, dropped, atCount } = drops
  const toMs = (frames: number, rateHz: number): number => Math.round((frames * 1000) / rateHz)
  return {
    name: 'Wire Dropped',
    channel: -1,
    startMs: sampleRateHz === undefined ? -1 : toMs(atCount, sampleRateHz),
    endMs: -1,
    data: {
      From: portText(from),
      To: portText(to),
      Phase: phase,
      ...(sampleRateHz === undefined ? { DroppedItems: dropped } : { DroppedMsec: toMs(dropped, sampleRateHz) }),
    },
  }
}

/** The loss of a wire for the operator's metrics; `node` is the kind of node that the wire leads to. */
export const wireLoss = ({ whenFull: policy, sampleRateHz }: WireOptions, node: string, count: number): WireLoss =>
  sampleRateHz === undefined
    ? { node, policy, what: 'events', amount: count }
    : { node, policy, what: 'audio-ms', amount: (count * 1000) / sampleRateHz }
