import { defer, EMPTY, repeat, timer, type Observable, type SchedulerLike } from 'rxjs'

export interface IdleRules {
  /** No audio for so long closes the open segment; 0 switches it off. */
  readonly closeAfterSilentWallMs: number
  /** No audio for so long ends the recognition; 0 switches it off. */
  readonly finalizeAfterMs: number
  /** Whether the client's audio is kept waiting: then it is not the client who is silent. */
  readonly isPaused?: () => boolean
}

/** However long the rules wait, the clock is looked at once in this time: timers have a bound of their own. */
const longestNapMs = 60_000

/** How far ahead of real time a client counts as one that sends ahead; the burst that any client may send (decisions.md). */
const longestLeadMs = 5_000

/** Whoever wants to leave waits no longer for audio than this. */
export const stillMs = 1_000

/** A timer later than this means that the process stood still, and what came in meanwhile is still to be read. */
const stallMs = 200

/** Watches by the wall clock whether audio still comes. One timer, set anew when it fires, however much audio there is. */
export class IdleMonitor {
  private lastMs: number
  /** When the audio that came would have been heard to its end, had it been played as it came. */
  private playedMs: number
  private expectedMs = Infinity

  constructor(
    private readonly rules: IdleRules,
    private readonly scheduler: SchedulerLike,
  ) {
    this.lastMs = scheduler.now()
    this.playedMs = this.lastMs
  }

  /** So much audio came. Who sends faster than real time has not fallen silent before it would have been heard. */
  receive(audioMs: number): void {
    this.touch()
    this.playedMs = Math.min(Math.max(this.playedMs, this.lastMs) + audioMs, this.lastMs + longestLeadMs)
  }

  /** The engine took some audio in: it is not the client who is silent then. */
  touch(): void {
    this.lastMs = this.scheduler.now()
  }

  /** What is due now; nothing after a stall, for then it is not the client who was silent. */
  get due(): 'nothing' | 'close' | 'finalize' {
    if (this.stalled) return 'nothing'
    if (this.rules.isPaused?.() === true) {
      this.touch()
      return 'nothing'
    }
    const nowMs = this.scheduler.now()
    const { closeAfterSilentWallMs, finalizeAfterMs } = this.rules
    if (finalizeAfterMs > 0 && nowMs - this.lastMs >= finalizeAfterMs) return 'finalize'
    return closeAfterSilentWallMs > 0 && nowMs >= this.closeAtMs ? 'close' : 'nothing'
  }

  /** Whether nothing has come for a while, however far ahead the client had sent. */
  get isStill(): boolean {
    const isHeldBack = this.stalled || this.rules.isPaused?.() === true
    return !isHeldBack && this.scheduler.now() - this.lastMs >= stillMs
  }

  private get closeAtMs(): number {
    return Math.max(this.lastMs, this.playedMs) + this.rules.closeAfterSilentWallMs
  }

  /** Emits when something may be due. Never completes, unless both rules are off. */
  get ticks$(): Observable<unknown> {
    if (this.rules.closeAfterSilentWallMs === 0 && this.rules.finalizeAfterMs === 0) return EMPTY
    return defer(() => {
      const napMs = this.stalled ? stallMs : this.napMs()
      this.expectedMs = this.scheduler.now() + napMs
      return timer(napMs, this.scheduler)
    }).pipe(repeat())
  }

  private get stalled(): boolean {
    return this.scheduler.now() - this.expectedMs > stallMs
  }

  private napMs(): number {
    const nowMs = this.scheduler.now()
    const { closeAfterSilentWallMs, finalizeAfterMs } = this.rules
    const left = [
      closeAfterSilentWallMs > 0 ? this.closeAtMs - nowMs : Infinity,
      finalizeAfterMs > 0 ? this.lastMs + finalizeAfterMs - nowMs : Infinity,
    ].filter((leftMs) => leftMs > 0)
    return Math.max(1, Math.min(longestNapMs, ...left))
  }
}
