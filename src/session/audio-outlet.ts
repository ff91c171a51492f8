import { Subscription } from 'rxjs'
import type { GapCause } from '../protocol/session-event.js'
import type { Link } from '../transport/link.js'
import { AudioQueue, type AudioBounds, type Gap } from './audio-queue.js'

export interface OutletReport {
  readonly gap: (gap: Gap) => void
  /** Audio that waited was sent. */
  readonly progress: () => void
  /** Nothing waits any more. */
  readonly idle: () => void
}

type Exit<Out> = Pick<Link<unknown, Out>, 'send' | 'congested' | 'room'>

/** The way of the audio out: held until the link is open and while it is congested, else sent as it comes. */
export class AudioOutlet<Out> {
  readonly #queue: AudioQueue
  readonly #report: OutletReport
  #link: Exit<Out> | undefined
  #say: ((bytes: Uint8Array) => Out) | undefined
  #waiting: Subscription | undefined

  constructor(bounds: AudioBounds, report: OutletReport) {
    this.#queue = new AudioQueue(bounds)
    this.#report = report
  }

  get isEmpty(): boolean {
    return this.#queue.isEmpty
  }

  /** Whether audio that came now would go out at once. */
  get hasRoom(): boolean {
    return this.#queue.isEmpty && this.#link?.congested === false
  }

  /** From now on audio goes to this link; what waited goes first. */
  open(link: Exit<Out>, say: (bytes: Uint8Array) => Out): void {
    this.#link = link
    this.#say = say
    this.#drain()
  }

  take(bytes: Uint8Array): void {
    const link = this.#link
    const say = this.#say
    // Who is not waiting for room has some: every message is followed by that question.
    if (link !== undefined && say !== undefined && this.#waiting === undefined && this.#queue.passes(bytes)) {
      this.#queue.passed(bytes.length)
      link.send(say(bytes))
      if (link.congested) this.#awaitRoom(link)
      return
    }
    this.#queue.push(bytes)
    this.#drain()
    const gap = this.#queue.trim()
    if (gap !== undefined) this.#report.gap(gap)
  }

  /** The source has ended. */
  end(): void {
    this.#queue.end().forEach(this.#report.gap)
  }

  /** Sends nothing more. */
  close(): void {
    this.#link = undefined
    this.#say = undefined
    this.#waiting?.unsubscribe()
    this.#waiting = undefined
  }

  /** Lets go of what waits, and tells it. */
  drop(cause: GapCause): void {
    this.#queue.drop(cause).forEach(this.#report.gap)
  }

  #drain(): void {
    let sent = false
    for (let link = this.#link; link !== undefined && this.#say !== undefined; link = this.#link) {
      if (this.#queue.isEmpty) {
        this.#report.idle()
        if (this.#link?.congested === true) this.#awaitRoom(link)
        return
      }
      if (link.congested) {
        this.#awaitRoom(link)
        break
      }
      const piece = this.#queue.shift()
      if (piece !== undefined) link.send(this.#say(piece))
      sent = true
    }
    if (sent) this.#report.progress()
  }

  #awaitRoom(link: Exit<Out>): void {
    if (this.#waiting !== undefined) return
    // Not the subscription itself: `room` may emit at once, and draining may wait anew before that returns.
    const waiting = new Subscription()
    this.#waiting = waiting
    waiting.add(
      link.room.subscribe(() => {
        this.#waiting = undefined
        this.#drain()
      }),
    )
  }
}
