import type { SchedulerLike, Unsubscribable } from 'rxjs'
import { schedule } from '../kernel/timers.js'
import type { Line, LineNews } from './connection.js'

/** A connection is succeeded this long before its token ends, or before a twentieth of the time that is left if less. */
const mostLeadMs = 60_000
const leadOf = (leftMs: number): number => Math.min(mostLeadMs, leftMs / 20)

/** How much of that time is left when the successor takes over without having been given a good moment. */
const leastLead = 1 / 4

/** Whom a successor takes over from. */
export interface Predecessor<In, Out> {
  newLine(): Line<In, Out>
  /** The successor must take over now. */
  due(): void
}

/** A connection that has broken loses its session in this time, in milliseconds: one that was only told to end goes on. */
const breaksWithinMs = 100

/** How long a connection that was told to end is trusted to go on, in milliseconds. */
const goesOnMs = 3_000

export interface SuccessionOptions {
  readonly scheduler: SchedulerLike
  /** How long a service lets one session last; it is succeeded that long before. */
  readonly maxConnectionMs: number
  /** How long the successor may take to be ready. */
  readonly readyWithinMs: number
}

/**
 * Opens the next connection while the present one still serves, before its token or its time ends: the successor is
 * authorized, connected and started, and waits. At the next milestone, where the least is sent twice, or at the latest
 * shortly before the end, the session takes it. When it cannot be opened the present connection goes on to its end, and
 * what follows is what follows any lost connection.
 */
export class Succession<In, Out> {
  readonly #predecessor: Predecessor<In, Out>
  readonly #options: SuccessionOptions
  /** Until the successor is opened, and then until it must take over. */
  #timer: Unsubscribable | undefined
  #readyTimer: Unsubscribable | undefined
  #line: Line<In, Out> | undefined
  #isReady = false
  /** The token that ends: another connection with it would end as well. */
  #endingToken: string | undefined

  constructor(predecessor: Predecessor<In, Out>, options: SuccessionOptions) {
    this.#predecessor = predecessor
    this.#options = options
  }

  /** A line has begun to serve; `isUsed` is asked when its time has come. */
  plan(present: Line<In, Out>, isUsed: () => boolean): void {
    this.cancel()
    const { scheduler, maxConnectionMs } = this.#options
    const tokenMs = present.tokenEndsMs - scheduler.now()
    const leftMs = Math.min(tokenMs, maxConnectionMs)
    if (leftMs <= 0 || leftMs === Infinity) return
    const leadMs = leadOf(leftMs)
    this.#timer = this.#after(leftMs - leadMs, () => {
      if (!isUsed()) return
      this.#open(leadMs * (1 - leastLead), tokenMs <= maxConnectionMs ? present.token : undefined)
    })
  }

  /** The present line will end, nobody knows when. */
  hurry(): void {
    if (this.#line !== undefined) return
    this.#timer?.unsubscribe()
    this.#timer = this.#after(breaksWithinMs, () => this.#open(goesOnMs, undefined))
  }

  /** The successor, once it is ready; it is then the caller's. */
  take(): Line<In, Out> | undefined {
    if (!this.#isReady) return undefined
    const line = this.#line
    this.#line = undefined
    this.cancel()
    return line
  }

  /** Takes news of the successor; those of a line that was left are old. */
  hears(line: Line<In, Out>, news: LineNews): void {
    if (line !== this.#line) return
    if ('event' in news) {
      if (news.meaning?.type === 'start-answer' && news.meaning.error === undefined) this.#isReady = true
      else if (news.meaning !== undefined) this.cancel()
    } else if (news.type === 'authorized') {
      if (line.token === this.#endingToken) this.cancel()
      else line.dial()
    } else if (news.type === 'connected') line.start()
    else this.cancel()
  }

  cancel(): void {
    this.#timer?.unsubscribe()
    this.#readyTimer?.unsubscribe()
    this.#line?.leave()
    this.#line = undefined
    this.#isReady = false
  }

  #open(dueMs: number, endingToken: string | undefined): void {
    this.#endingToken = endingToken
    // The session asks for it, and there is one or there is none.
    this.#timer = this.#after(dueMs, () => this.#predecessor.due())
    const line = this.#predecessor.newLine()
    this.#line = line
    this.#readyTimer = this.#after(this.#options.readyWithinMs, () => {
      if (!this.#isReady) this.cancel()
    })
    line.authorize(endingToken === undefined ? 'any' : 'replacement')
  }

  #after(delayMs: number, act: () => void): Unsubscribable {
    return schedule(this.#options.scheduler, delayMs, act)
  }
}
