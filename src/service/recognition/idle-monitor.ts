import { defer, EMPTY, repeat, timer, type Observable, type SchedulerLike } from 'rxjs'

export interface IdleRules {
  /** No audio for this long closes the open segment; 0 turns the rule off. */
  readonly closeAfterSilentWallMs: number
  /** No audio for this long ends the recognition; 0 turns the rule off. */
  readonly finalizeAfterMs: number
  /** Whether the client's audio is held back at the moment. Then missing audio is not the client's silence. */
  readonly isPaused?: (() => boolean) | undefined
}

/** The longest time between two checks of the clock, because timers have a maximum delay. */
const maxWaitMs = 60_000

/** How far a client that sends faster than real time may be ahead: the burst that PROTOCOL 8 allows every client. */
const maxLeadMs = 5_000

/** The period of the checks whether audio still arrives while a drain waits for a pause. */
export const quietCheckMs = 500

/** A drain does not wait for a pause when this many checks in a row, each on time, have found no new audio. */
const maxQuietChecks = 2

/** A timer that fires later than this shows that the process was stopped; audio may wait to be read. */
const stallMs = 200

/**
 * Watches by the wall clock whether audio still arrives (PROTOCOL 5.5). It has a single timer, which is set again when it
 * fires, regardless of the amount of audio.
 */
export class IdleMonitor {
  readonly #rules: IdleRules
  readonly #scheduler: SchedulerLike
  #lastMs: number
  /** When the received audio would end if it had been played as it arrived. */
  #playedMs: number
  #expectedMs = Infinity
  #quietChecks = 0
  #quietCheckedMs = 0
  #isTouched = false

  constructor(rules: IdleRules, scheduler: SchedulerLike) {
    this.#rules = rules
    this.#scheduler = scheduler
    this.#lastMs = scheduler.now()
    this.#playedMs = this.#lastMs
  }

  /** Audio arrived. A client that sends faster than real time counts as silent only when its audio would be over. */
  receive(audioMs: number): void {
    this.touch()
    this.#playedMs = Math.min(Math.max(this.#playedMs, this.#lastMs) + audioMs, this.#lastMs + maxLeadMs)
  }

  /** The engine processed some audio, so the client does not count as silent. */
  touch(): void {
    this.#lastMs = this.#scheduler.now()
    this.#isTouched = true
  }

  /** The action that is due now; none after a stall, because the client was not silent then. */
  get due(): 'nothing' | 'close' | 'finalize' {
    if (this.#isStalled) return 'nothing'
    if (this.#rules.isPaused?.() === true) {
      this.touch()
      return 'nothing'
    }
    const nowMs = this.#scheduler.now()
    const { closeAfterSilentWallMs, finalizeAfterMs } = this.#rules
    if (finalizeAfterMs > 0 && nowMs - this.#lastMs >= finalizeAfterMs) return 'finalize'
    return closeAfterSilentWallMs > 0 && nowMs >= this.#closeAtMs ? 'close' : 'nothing'
  }

  /** A drain begins: `isQuiet` is to be called every `quietCheckMs` from now on. */
  beginQuietChecks(): void {
    this.#quietChecks = 0
    this.#quietCheckedMs = this.#scheduler.now()
    this.#isTouched = false
  }

  /**
   * Whether no audio has arrived for 1 s to 1.5 s, however far ahead the client had sent. A late check does not count:
   * the process was stopped, and audio may wait to be read.
   */
  isQuiet(): boolean {
    const nowMs = this.#scheduler.now()
    const isOnTime = nowMs - this.#quietCheckedMs <= quietCheckMs + stallMs
    const hasNone = isOnTime && !this.#isTouched && this.#rules.isPaused?.() !== true
    this.#quietCheckedMs = nowMs
    this.#isTouched = false
    this.#quietChecks = hasNone ? this.#quietChecks + 1 : 0
    return this.#quietChecks >= maxQuietChecks
  }

  /** Emits when something may be due. Never completes, unless both rules are off. */
  get ticks$(): Observable<unknown> {
    if (this.#rules.closeAfterSilentWallMs === 0 && this.#rules.finalizeAfterMs === 0) return EMPTY
    return defer(() => {
      const waitMs = this.#isStalled ? stallMs : this.#waitMs()
      this.#expectedMs = this.#scheduler.now() + waitMs
      return timer(waitMs, this.#scheduler)
    }).pipe(repeat())
  }

  get #closeAtMs(): number {
    return Math.max(this.#lastMs, this.#playedMs) + this.#rules.closeAfterSilentWallMs
  }

  get #isStalled(): boolean {
    return this.#scheduler.now() - this.#expectedMs > stallMs
  }

  #waitMs(): number {
    const nowMs = this.#scheduler.now()
    const { closeAfterSilentWallMs, finalizeAfterMs } = this.#rules
    const left = [
      closeAfterSilentWallMs > 0 ? this.#closeAtMs - nowMs : Infinity,
      finalizeAfterMs > 0 ? this.#lastMs + finalizeAfterMs - nowMs : Infinity,
    ].filter((leftMs) => leftMs > 0)
    return Math.max(1, Math.min(maxWaitMs, ...left))
  }
}
