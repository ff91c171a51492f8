import type { Socket } from 'node:net'
import type { SchedulerLike, Subscription } from 'rxjs'
import { corruptBytes } from './corrupt.js'
import { Arrivals, type TrafficShape } from './traffic-shape.js'

/** So much is read ahead of what was handed on; then the sender has to wait. */
const mostHeldBytes = 262_144

export interface ProxyLaneOptions {
  readonly shape: () => TrafficShape
  readonly scheduler: SchedulerLike
  readonly random: () => number
  /** Bytes that may be handed on before the next fault is due. */
  readonly allowance: () => number
  /** So many were handed on; may bring a fault about. */
  readonly passed: (bytes: number) => void
}

interface Held {
  readonly bytes: Uint8Array
  readonly dueMs: number
}

/** One direction of a proxied connection: bytes from a socket to another, in order, as the shape and the faults want. */
export class ProxyLane {
  readonly #arrivals: Arrivals
  #held: Held[] = []
  #heldBytes = 0
  #timer: Subscription | undefined
  #immediate: NodeJS.Immediate | undefined
  #mode: 'open' | 'stalled' | 'swallowing' | 'closed' = 'open'
  #sourceEnded = false
  #waitsForDrain = false
  #toCorrupt = 0

  constructor(
    private readonly from: Socket,
    private readonly to: Socket,
    private readonly options: ProxyLaneOptions,
  ) {
    this.#arrivals = new Arrivals(options.random)
    from.on('data', (bytes: Buffer) => this.#take(bytes))
    from.on('end', () => {
      this.#sourceEnded = true
      this.#handOn()
    })
    to.once('connect', () => this.#handOn())
    to.on('drain', () => {
      this.#waitsForDrain = false
      this.#handOn()
    })
  }

  get isSwallowing(): boolean {
    return this.#mode === 'swallowing'
  }

  stall(): void {
    if (this.#mode !== 'open') return
    this.#mode = 'stalled'
    // What the reader has not taken from this end yet was already on its way.
    this.from.pause()
  }

  goOn(): void {
    if (this.#mode !== 'stalled') return
    this.#mode = 'open'
    this.#handOn()
  }

  /** Reads on, and hands nothing on, for good; not the end either. */
  swallow(): void {
    if (this.#mode === 'closed') return
    this.#mode = 'swallowing'
    this.#letGo()
    this.from.resume()
  }

  corruptNext(bytes: number): void {
    this.#toCorrupt += bytes
  }

  close(): void {
    this.#mode = 'closed'
    this.#letGo()
  }

  #letGo(): void {
    this.#held = []
    this.#heldBytes = 0
    this.#timer?.unsubscribe()
    this.#timer = undefined
    if (this.#immediate !== undefined) clearImmediate(this.#immediate)
    this.#immediate = undefined
  }

  #take(chunk: Uint8Array): void {
    if (this.#mode === 'swallowing' || this.#mode === 'closed') return
    const bytes = this.#toCorrupt === 0 ? chunk : corruptBytes(chunk, 0, this.#toCorrupt)
    this.#toCorrupt = Math.max(0, this.#toCorrupt - chunk.length)
    const { shape, scheduler } = this.options
    const now = shape()
    // A slow wire does not hold the last byte of a long chunk against the first.
    const stepBytes = Math.max(1, Math.min(now.sliceBytes, Math.ceil(now.bytesPerSecond / 50)))
    for (let at = 0; at < bytes.length; at += stepBytes) {
      const part = stepBytes >= bytes.length ? bytes : bytes.subarray(at, at + stepBytes)
      this.#held.push({ bytes: part, dueMs: this.#arrivals.dueMs(now, scheduler.now(), part.length) })
    }
    this.#heldBytes += bytes.length
    this.#handOn()
    if (this.#heldBytes > mostHeldBytes) this.from.pause()
  }

  #handOn(): void {
    const { scheduler } = this.options
    // What cannot arrive yet must not count as passed.
    if (this.to.connecting) return
    while (this.#mode === 'open' && !this.#waitsForDrain && this.#immediate === undefined) {
      const [next] = this.#held
      if (next === undefined) break
      const earlyMs = next.dueMs - scheduler.now()
      if (earlyMs > 0) {
        this.#timer ??= scheduler.schedule(() => {
          this.#timer = undefined
          this.#handOn()
        }, earlyMs)
        return
      }
      this.#write(this.#nextBytes(next))
    }
    if (this.#mode !== 'open') return
    if (this.#heldBytes <= mostHeldBytes / 2) this.from.resume()
    if (this.#sourceEnded && this.#held.length === 0) this.to.end()
  }

  /** As much as may go at once: one slice, or all that is due, and never beyond the next fault. */
  #nextBytes(next: Held): Uint8Array {
    const { shape, allowance, scheduler } = this.options
    const most = allowance()
    const parts: Uint8Array[] = []
    let count = 0
    const together = shape().coalesceMs > 0
    for (const { bytes, dueMs } of this.#held) {
      if (parts.length > 0 && (!together || dueMs > scheduler.now())) break
      parts.push(bytes)
      count += bytes.length
      if (count >= most) break
    }
    const taken = Math.min(count, most)
    const [only = next.bytes] = parts
    const joined = parts.length === 1 ? only : Buffer.concat(parts)
    this.#held.splice(0, parts.length, ...(taken < count ? [{ bytes: joined.subarray(taken), dueMs: next.dueMs }] : []))
    this.#heldBytes -= taken
    return joined.subarray(0, taken)
  }

  #write(bytes: Uint8Array): void {
    if (this.to.writable) this.#waitsForDrain = !this.to.write(bytes)
    // Else two slices would leave in one segment.
    if (this.options.shape().sliceBytes !== Infinity) {
      this.#immediate = setImmediate(() => {
        this.#immediate = undefined
        this.#handOn()
      })
    }
    this.options.passed(bytes.length)
  }
}
