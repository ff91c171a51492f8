import type { Socket } from 'node:net'
import type { SchedulerLike, Subscription } from 'rxjs'
import { ArrivalClock, corruptBytes, type TrafficShape } from './traffic.js'

/** How many bytes are held before the sender has to wait. */
const maxHeldBytes = 262_144

export interface BytePipeOptions {
  readonly shape: () => TrafficShape
  readonly scheduler: SchedulerLike
  readonly random: () => number
  /** How many bytes may be sent before the next fault is due. */
  readonly allowance: () => number
  /** Called after bytes were sent; can trigger a fault. */
  readonly passed: (bytes: number) => void
}

interface Held {
  readonly bytes: Uint8Array
  readonly dueMs: number
}

/** One direction of a proxied connection: sends bytes from socket to socket in order, with the shape and the faults. */
export class BytePipe {
  readonly #from: Socket
  readonly #to: Socket
  readonly #options: BytePipeOptions
  readonly #arrivals: ArrivalClock
  #held: Held[] = []
  #heldBytes = 0
  #timer: Subscription | undefined
  #immediate: NodeJS.Immediate | undefined
  #mode: 'open' | 'stalled' | 'discarding' | 'closed' = 'open'
  #isSourceEnded = false
  #isWaitingForDrain = false
  #toCorrupt = 0

  constructor(from: Socket, to: Socket, options: BytePipeOptions) {
    this.#from = from
    this.#to = to
    this.#options = options
    this.#arrivals = new ArrivalClock(options.random)
    from.on('data', (bytes: Buffer) => this.#take(bytes))
    from.on('end', () => {
      this.#isSourceEnded = true
      this.#flush()
    })
    to.once('connect', () => this.#flush())
    to.on('drain', () => {
      this.#isWaitingForDrain = false
      this.#flush()
    })
  }

  get isDiscarding(): boolean {
    return this.#mode === 'discarding'
  }

  stall(): void {
    if (this.#mode !== 'open') return
    this.#mode = 'stalled'
    // Bytes that were already written to the other socket still arrive.
    this.#from.pause()
  }

  resume(): void {
    if (this.#mode !== 'stalled') return
    this.#mode = 'open'
    this.#flush()
  }

  /** Reads and discards everything permanently, including the end. */
  discard(): void {
    if (this.#mode === 'closed') return
    this.#mode = 'discarding'
    this.#clear()
    this.#from.resume()
  }

  corruptNext(bytes: number): void {
    this.#toCorrupt += bytes
  }

  close(): void {
    this.#mode = 'closed'
    this.#clear()
  }

  #clear(): void {
    this.#held = []
    this.#heldBytes = 0
    this.#timer?.unsubscribe()
    this.#timer = undefined
    if (this.#immediate !== undefined) clearImmediate(this.#immediate)
    this.#immediate = undefined
  }

  #take(chunk: Uint8Array): void {
    if (this.#mode === 'discarding' || this.#mode === 'closed') return
    const bytes = this.#toCorrupt === 0 ? chunk : corruptBytes(chunk, 0, this.#toCorrupt)
    this.#toCorrupt = Math.max(0, this.#toCorrupt - chunk.length)
    const { shape, scheduler } = this.#options
    const currentShape = shape()
    // Divides long chunks, so that on a slow line the first byte does not wait for the last one.
    const stepBytes = Math.max(1, Math.min(currentShape.sliceBytes, Math.ceil(currentShape.bytesPerSecond / 50)))
    for (let at = 0; at < bytes.length; at += stepBytes) {
      const part = stepBytes >= bytes.length ? bytes : bytes.subarray(at, at + stepBytes)
      this.#held.push({ bytes: part, dueMs: this.#arrivals.dueMs(currentShape, scheduler.now(), part.length) })
    }
    this.#heldBytes += bytes.length
    this.#flush()
    if (this.#heldBytes > maxHeldBytes) this.#from.pause()
  }

  #flush(): void {
    const { scheduler } = this.#options
    // Bytes do not count as passed before the connection is open.
    if (this.#to.connecting) return
    while (this.#mode === 'open' && !this.#isWaitingForDrain && this.#immediate === undefined) {
      const [next] = this.#held
      if (next === undefined) break
      const earlyMs = next.dueMs - scheduler.now()
      if (earlyMs > 0) {
        this.#timer ??= scheduler.schedule(() => {
          this.#timer = undefined
          this.#flush()
        }, earlyMs)
        return
      }
      this.#write(this.#nextBytes(next))
    }
    if (this.#mode !== 'open') return
    if (this.#heldBytes <= maxHeldBytes / 2) this.#from.resume()
    if (this.#isSourceEnded && this.#held.length === 0) this.#to.end()
  }

  /** The bytes of the next write: one slice, or all that is due when coalescing, but none beyond the next fault. */
  #nextBytes(next: Held): Uint8Array {
    const { shape, allowance, scheduler } = this.#options
    const max = allowance()
    const parts: Uint8Array[] = []
    let count = 0
    const isCoalescing = shape().coalesceMs > 0
    for (const { bytes, dueMs } of this.#held) {
      if (parts.length > 0 && (!isCoalescing || dueMs > scheduler.now())) break
      parts.push(bytes)
      count += bytes.length
      if (count >= max) break
    }
    const taken = Math.min(count, max)
    const [only = next.bytes] = parts
    const joined = parts.length === 1 ? only : Buffer.concat(parts)
    this.#held.splice(0, parts.length, ...(taken < count ? [{ bytes: joined.subarray(taken), dueMs: next.dueMs }] : []))
    this.#heldBytes -= taken
    return joined.subarray(0, taken)
  }

  #write(bytes: Uint8Array): void {
    if (this.#to.writable) this.#isWaitingForDrain = !this.#to.write(bytes)
    // Waits for the next turn, or the system would join two slices in one segment.
    if (this.#options.shape().sliceBytes !== Infinity) {
      this.#immediate = setImmediate(() => {
        this.#immediate = undefined
        this.#flush()
      })
    }
    this.#options.passed(bytes.length)
  }
}
