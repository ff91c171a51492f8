import type { SchedulerLike } from 'rxjs'
import { maxLeadMs, type IncomingAudio } from '../recognition/incoming-audio.js'

export interface HeldAudioOptions {
  readonly frameBytes: number
  readonly sampleRateHz: number
  readonly scheduler: SchedulerLike
  /** Receives whole frames, at least one. */
  readonly accept: (bytes: Uint8Array, frameCount: number) => void
}

/** Passes on the audio of a client, at once unless its session holds it back. */
export class HeldAudio implements IncomingAudio {
  readonly #options: HeldAudioOptions
  /** Bytes that are passed on; less than this waits. */
  #dueBytes = 0
  #held: Uint8Array | undefined
  #heldBytes = 0
  #receivedFrames = 0
  #lastMs: number
  #playedMs: number

  constructor(options: HeldAudioOptions) {
    this.#options = options
    this.#lastMs = options.scheduler.now()
    this.#playedMs = this.#lastMs
  }

  get lastMs(): number {
    return this.#lastMs
  }

  get playedMs(): number {
    return this.#playedMs
  }

  /** All frames that arrived, held back or not. */
  get receivedFrames(): number {
    return this.#receivedFrames
  }

  /** Takes in whole frames, which are copied if they have to wait. */
  add(bytes: Uint8Array, frameCount: number): void {
    const nowMs = this.#options.scheduler.now()
    const audioMs = (frameCount * 1000) / this.#options.sampleRateHz

    this.#receivedFrames += frameCount
    this.#lastMs = nowMs
    this.#playedMs = Math.min(Math.max(this.#playedMs, nowMs) + audioMs, nowMs + maxLeadMs)
    const total = this.#heldBytes + bytes.length
    if (total < this.#dueBytes) this.#keep(bytes, this.#dueBytes)
    else if (this.#heldBytes === 0) this.#options.accept(bytes, frameCount)
    else {
      this.#keep(bytes, total)
      this.flush()
    }
  }

  hold(frameCount: number): void {
    this.#dueBytes = frameCount * this.#options.frameBytes
  }

  flush(): void {
    const held = this.#held
    if (held === undefined) return
    const bytes = this.#heldBytes === held.length ? held : held.subarray(0, this.#heldBytes)
    this.#held = undefined
    this.#heldBytes = 0
    this.#options.accept(bytes, bytes.length / this.#options.frameBytes)
  }

  /** Appends to what is held back, in memory for `capacity` bytes. */
  #keep(bytes: Uint8Array, capacity: number): void {
    let held = this.#held
    if (held === undefined || held.length < this.#heldBytes + bytes.length) {
      held = new Uint8Array(capacity)
      if (this.#held !== undefined) held.set(this.#held.subarray(0, this.#heldBytes))
      this.#held = held
    }
    held.set(bytes, this.#heldBytes)
    this.#heldBytes += bytes.length
  }
}
