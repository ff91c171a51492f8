import { Subscription, type SchedulerLike } from 'rxjs'
import { later } from '../../operators/later.js'
import type { GapCause } from '../../protocol/session-event.js'
import type { Link } from '../../transport/link.js'
import type { AudioTape, Gap } from './audio-tape.js'
import type { SendingPace } from './sending-pace.js'

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
  readonly #tape: AudioTape
  readonly #scheduler: SchedulerLike
  readonly #report: OutletReport
  #link: Exit<Out> | undefined
  #say: ((bytes: Uint8Array) => Out) | undefined
  #pace: SendingPace | undefined
  #waiting: Subscription | undefined

  constructor(tape: AudioTape, scheduler: SchedulerLike, report: OutletReport) {
    this.#tape = tape
    this.#scheduler = scheduler
    this.#report = report
  }

  /** Whether audio that came now would go out at once. */
  get hasRoom(): boolean {
    return this.#tape.isSent && this.#link?.congested === false && this.#waiting === undefined
  }

  /** From now on audio goes to this link; what waited goes first, no faster than the pace where one is given. */
  open(link: Exit<Out>, say: (bytes: Uint8Array) => Out, pace?: SendingPace): void {
    this.#link = link
    this.#say = say
    this.#pace = pace
    this.#drain()
  }

  take(bytes: Uint8Array): void {
    const link = this.#link
    const say = this.#say
    // Who is not waiting for room has some: every message is followed by that question.
    if (
      link !== undefined &&
      say !== undefined &&
      this.#waiting === undefined &&
      this.#pace === undefined &&
      this.#tape.passes(bytes)
    ) {
      this.#tape.pass(bytes)
      link.send(say(bytes))
      if (this.#link === link && link.congested) this.#awaitRoom(link)
      return
    }
    this.#tape.push(bytes)
    this.#drain()
    const gap = this.#tape.trim()
    if (gap !== undefined) this.#report.gap(gap)
  }

  /** The source has ended. */
  end(): void {
    this.#tape.end().forEach(this.#report.gap)
  }

  /** Sends nothing more, until another link opens. */
  close(): void {
    this.#link = undefined
    this.#say = undefined
    this.#waiting?.unsubscribe()
    this.#waiting = undefined
  }

  /** Lets go of all that has no definitive result, and tells it. */
  drop(cause: GapCause): void {
    this.#tape.drop(cause).forEach(this.#report.gap)
  }

  #drain(): void {
    if (this.#waiting !== undefined) return
    let sent = false
    for (let link = this.#link; link !== undefined && this.#say !== undefined; link = this.#link) {
      if (this.#tape.isSent) {
        this.#report.idle()
        if (this.#link?.congested === true) this.#awaitRoom(link)
        return
      }
      if (link.congested) {
        this.#awaitRoom(link)
        break
      }
      const waitMs = this.#pace?.waitMs ?? 0
      if (waitMs > 0) {
        this.#awaitTurn(waitMs)
        break
      }
      const piece = this.#tape.shift()
      if (piece !== undefined) {
        this.#pace?.sent(piece.length)
        link.send(this.#say(piece))
      }
      sent = true
    }
    if (sent) this.#report.progress()
  }

  #awaitTurn(waitMs: number): void {
    const go = (): void => {
      this.#waiting = undefined
      this.#drain()
    }
    this.#waiting = later(this.#scheduler, waitMs, go, 'holds the process')
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
