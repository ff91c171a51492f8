import { Subscription, type SchedulerLike, type Unsubscribable } from 'rxjs'
import { schedule } from '../../kernel/timers.js'
import type { GapCause } from '../../protocol/session-event.js'
import type { Link } from '../../transport/link.js'
import type { ReplayBuffer, Gap } from './replay-buffer.js'
import type { RateLimiter } from './rate-limiter.js'

export interface AudioPumpEvents {
  gap(gap: Gap): void
  /** Audio that waited was sent. */
  progress(): void
  /** Nothing waits any more. */
  idle(): void
}

/** How audio is said. */
export interface AudioEncoder<Out> {
  audio(bytes: Uint8Array): Out
}

type SendingLink<Out> = Pick<Link<unknown, Out>, 'send' | 'isCongested' | 'drain$'>

/** The way of the audio out: held until the link is open and while it is congested, else sent as it comes. */
export class AudioPump<Out> {
  readonly #tape: ReplayBuffer
  readonly #scheduler: SchedulerLike
  readonly #report: AudioPumpEvents
  #link: SendingLink<Out> | undefined
  #voice: AudioEncoder<Out> | undefined
  #pace: RateLimiter | undefined
  #speed: 'full' | 'with bursts' | 'as spoken' = 'full'
  #waiting: Unsubscribable | undefined

  constructor(tape: ReplayBuffer, scheduler: SchedulerLike, report: AudioPumpEvents) {
    this.#tape = tape
    this.#scheduler = scheduler
    this.#report = report
  }

  /** Whether audio that came now would go out at once. */
  get hasRoom(): boolean {
    return this.#tape.isSent && this.#link?.isCongested === false && this.#waiting === undefined
  }

  /**
   * From the next link on, audio goes slower: `with bursts` once the service has refused it as too fast; `as spoken` once
   * it has ended a recognition without a sign of how far it had read, for then only the clock tells that.
   */
  slow(speed: 'with bursts' | 'as spoken'): void {
    if (this.#speed !== 'as spoken') this.#speed = speed
  }

  /** From now on audio goes to this link; what waited goes first. */
  open(link: SendingLink<Out>, voice: AudioEncoder<Out>, newPace?: (burst: boolean) => RateLimiter): void {
    this.#link = link
    this.#voice = voice
    this.#pace = this.#speed === 'full' ? undefined : newPace?.(this.#speed === 'with bursts')
    this.#drain()
  }

  take(bytes: Uint8Array): void {
    const link = this.#link
    const voice = this.#voice
    // Who is not waiting for room has some: every message is followed by that question.
    if (
      link !== undefined &&
      voice !== undefined &&
      this.#waiting === undefined &&
      this.#pace === undefined &&
      this.#tape.passes(bytes)
    ) {
      this.#tape.pass(bytes)
      link.send(voice.audio(bytes))
      if (this.#link === link && link.isCongested) this.#awaitRoom(link)
      return
    }
    this.#tape.push(bytes)
    this.#drain()
    const gap = this.#tape.trim()
    if (gap !== undefined) this.#report.gap(gap)
  }

  /** Takes audio while no recognition runs; returns whether there is something to be heard in it. */
  hold(bytes: Uint8Array): boolean {
    this.#tape.push(bytes)
    const isSound = this.#tape.listen()
    const gap = this.#tape.trim()
    if (gap !== undefined) this.#report.gap(gap)
    return isSound
  }

  /** The source has ended. */
  end(): void {
    for (const gap of this.#tape.end()) this.#report.gap(gap)
  }

  /** Sends nothing more, until another link opens. */
  close(): void {
    this.#link = undefined
    this.#voice = undefined
    this.#waiting?.unsubscribe()
    this.#waiting = undefined
  }

  /** Lets go of all that has no definitive result, and tells it. */
  drop(cause: GapCause): void {
    for (const gap of this.#tape.drop(cause)) this.#report.gap(gap)
  }

  #drain(): void {
    if (this.#waiting !== undefined) return
    let sent = false
    for (let link = this.#link; link !== undefined && this.#voice !== undefined; link = this.#link) {
      if (this.#tape.isSent) {
        this.#report.idle()
        if (this.#link?.isCongested === true) this.#awaitRoom(link)
        return
      }
      if (link.isCongested) {
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
        link.send(this.#voice.audio(piece))
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
    this.#waiting = schedule(this.#scheduler, waitMs, go, { ref: true })
  }

  #awaitRoom(link: SendingLink<Out>): void {
    if (this.#waiting !== undefined) return
    // Not the subscription itself: `drain$` may emit at once, and draining may wait anew before that returns.
    const waiting = new Subscription()
    this.#waiting = waiting
    waiting.add(
      link.drain$.subscribe(() => {
        this.#waiting = undefined
        this.#drain()
      }),
    )
  }
}
