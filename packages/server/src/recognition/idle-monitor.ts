import type { SchedulerLike, Unsubscribable } from 'rxjs'
import { schedule } from 'rxspeech/internal/kernel/timers'
import { maxLeadMs, type IncomingAudio } from './incoming-audio.js'

export interface IdleRules {
  /** No audio for this long closes the open segment; 0 turns the rule off. */
  readonly closeAfterSilentWallMs: number
  /** No audio for this long ends the recognition; 0 turns the rule off. */
  readonly finalizeAfterMs: number
  /** Whether the client's audio is held back at the moment. Then missing audio is not the client's silence. */
  readonly isPaused?: (() => boolean) | undefined
  /**
   * Whether the client is known to be there and to have sent nothing since its last audio; the first call asks it.
   * Without an answer the network may be interrupted, and the audio on its way. @default () => true
   */
  readonly isAnswering?: (() => boolean) | undefined
  /** When audio arrived, if it may be held back before it is received here. */
  readonly incoming?: Pick<IncomingAudio, 'lastMs' | 'playedMs'> | undefined
}

/**
 * How much longer the open segment is kept for a client that does not answer. By default clients leave within this
 * time.
 */
const maxUnansweredMs = 10_000

/** The period of the checks whether the client has answered. */
const answerCheckMs = 200

/** The longest time between two checks of the clock, because timers have a maximum delay. */
const maxWaitMs = 60_000

/** The period of the checks whether audio still arrives while a drain waits for a pause. */
export const quietCheckMs = 500

/** A drain does not wait for a pause when this many checks in a row, each on time, have found no new audio. */
const maxQuietChecks = 2

/** A timer that fires later than this shows that the process was stopped; audio may wait to be read. */
const stallMs = 200

/**
 * Watches by the wall clock whether audio still arrives (PROTOCOL 5.5). It has a single timer, which is set again when
 * it fires, regardless of the amount of audio.
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
  /** Whether the client has not answered in time. */
  #isLate = false
  /** When it answered after that: audio may still follow, so the silence counts again. */
  #answeredMs = -Infinity
  /** The newest audio after which the open segment was closed. */
  #closedAfterMs = -Infinity
  #timer: Unsubscribable | undefined

  constructor(rules: IdleRules, scheduler: SchedulerLike) {
    this.#rules = rules
    this.#scheduler = scheduler
    this.#lastMs = scheduler.now()
    this.#playedMs = this.#lastMs
  }

  /** Audio arrived. A client that sends faster than real time counts as silent only when its audio would be over. */
  receive(audioMs: number): void {
    this.#isTouched = true
    if (this.#rules.incoming !== undefined) return
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
    if (finalizeAfterMs > 0 && nowMs - this.#newestMs >= finalizeAfterMs) return 'finalize'
    if (closeAfterSilentWallMs === 0 || nowMs < this.#askAtMs) return 'nothing'
    const isAnswering = this.#rules.isAnswering?.() ?? true
    const isDue = nowMs >= this.#closeAtMs
    // Once in a silence: each other message of the client needs a new answer, which may be late, too.
    if (isDue && isAnswering && this.#isLate && this.#answeredMs < this.#newestMs) this.#answeredMs = nowMs
    this.#isLate = isDue && !isAnswering
    if (nowMs < this.#closeAtMs + (isAnswering ? 0 : maxUnansweredMs)) return 'nothing'
    this.#closedAfterMs = this.#newestMs
    return 'close'
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

  /** Calls `act` when something may be due, again and again until `stop`; never if both rules are off. */
  start(act: () => void): void {
    if (this.#rules.closeAfterSilentWallMs === 0 && this.#rules.finalizeAfterMs === 0) return
    const waitMs = this.#isStalled ? stallMs : this.#waitMs()
    this.#expectedMs = this.#scheduler.now() + waitMs
    const onTime = (): void => {
      const timer = this.#timer
      act()
      if (this.#timer === timer) this.start(act)
    }
    this.#timer = schedule(this.#scheduler, waitMs, onTime, { ref: true })
  }

  stop(): void {
    this.#timer?.unsubscribe()
    this.#timer = undefined
  }

  get #closeAtMs(): number {
    const playedMs = this.#rules.incoming?.playedMs ?? this.#playedMs
    return Math.max(this.#newestMs, playedMs, this.#answeredMs) + this.#rules.closeAfterSilentWallMs
  }

  /** Early, so that a client that is there has answered in time. */
  get #askAtMs(): number {
    return this.#closeAtMs - (this.#rules.isAnswering === undefined ? 0 : this.#rules.closeAfterSilentWallMs / 2)
  }

  /** When audio arrived or was processed last. */
  get #newestMs(): number {
    return Math.max(this.#lastMs, this.#rules.incoming?.lastMs ?? -Infinity)
  }

  get #isStalled(): boolean {
    return this.#scheduler.now() - this.#expectedMs > stallMs
  }

  #waitMs(): number {
    const nowMs = this.#scheduler.now()
    const { closeAfterSilentWallMs, finalizeAfterMs } = this.#rules
    const isAsking = closeAfterSilentWallMs > 0 && nowMs >= this.#askAtMs && this.#closedAfterMs < this.#newestMs
    const left = [
      closeAfterSilentWallMs > 0 ? this.#askAtMs - nowMs : Infinity,
      closeAfterSilentWallMs > 0 ? this.#closeAtMs - nowMs : Infinity,
      isAsking ? answerCheckMs : Infinity,
      finalizeAfterMs > 0 ? this.#newestMs + finalizeAfterMs - nowMs : Infinity,
    ].filter((leftMs) => leftMs > 0)
    return Math.max(1, Math.min(maxWaitMs, ...left))
  }
}
