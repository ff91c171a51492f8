import type { SchedulerLike, Unsubscribable } from 'rxjs'
import { schedule } from 'rxspeech/internal/kernel/timers'

/** A client that sends neither audio nor a message for this long has left; its recognitions end after as long without audio. */
const maxSilentMs = 10_000

/** The shortest time between two checks of that. */
const minWatchMs = 100

/** Reports that a client is silent. What it sends while its socket is paused is not read, so that time does not count. */
export class SilenceWatch {
  readonly #scheduler: SchedulerLike
  #pausedAtMs: number | undefined
  #lastMessageMs: number
  #lastAudioMs: number
  #timer: Unsubscribable | undefined

  constructor(scheduler: SchedulerLike) {
    this.#scheduler = scheduler
    this.#lastMessageMs = this.#lastAudioMs = scheduler.now()
  }

  received(what: 'message' | 'audio'): void {
    this.#lastMessageMs = this.#scheduler.now()
    if (what === 'audio') this.#lastAudioMs = this.#lastMessageMs
  }

  pause(): void {
    this.#pausedAtMs = this.#scheduler.now()
  }

  resume(): void {
    const nowMs = this.#scheduler.now()
    const pausedMs = nowMs - (this.#pausedAtMs ?? nowMs)
    this.#lastMessageMs += pausedMs
    this.#lastAudioMs += pausedMs
    this.#pausedAtMs = undefined
  }

  /** Calls `onSilent` when nothing has arrived for too long, and `onNoAudio` while no audio has. One timer, regardless of their amount. */
  start(onSilent: () => void, onNoAudio: () => void, delayMs = maxSilentMs): void {
    this.#timer = schedule(this.#scheduler, delayMs, () => {
      const nowMs = this.#pausedAtMs ?? this.#scheduler.now()
      const silentMs = nowMs - this.#lastMessageMs
      if (silentMs >= maxSilentMs) return onSilent()
      this.start(onSilent, onNoAudio, Math.max(minWatchMs, maxSilentMs - silentMs))
      if (this.#pausedAtMs === undefined && nowMs - this.#lastAudioMs >= maxSilentMs) onNoAudio()
    })
  }

  stop(): void {
    this.#timer?.unsubscribe()
  }
}
