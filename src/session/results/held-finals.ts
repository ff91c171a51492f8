import type { SchedulerLike, Unsubscribable } from 'rxjs'
import { later } from '../../time/later.js'
import type { FinalEvent, SessionEvent } from '../../protocol/session-event.js'

/** How long a service that gives a final may take to end the connection with it, in milliseconds. */
const endsWithinMs = 1_000

/** Where other channels have none yet, the service may still read what it has of them: as long as a drain may take. */
const othersWithinMs = 10_000

/** Who is told of a final that was held back. */
export interface FinalsOwner {
  tell(final: FinalEvent): void
}

const none: readonly FinalEvent[] = []

/**
 * Finals that came before they were asked for, or with an error: whether they end the session or only a connection, how
 * the connection ends tells.
 */
export class HeldFinals {
  readonly #scheduler: SchedulerLike
  readonly #owner: FinalsOwner
  readonly #channelCount: number
  #held: readonly FinalEvent[] = none
  #early: readonly FinalEvent[] = none
  #timer: Unsubscribable | undefined

  constructor(scheduler: SchedulerLike, owner: FinalsOwner, channelCount: number) {
    this.#scheduler = scheduler
    this.#owner = owner
    this.#channelCount = channelCount
  }

  /** Those that came after they were asked for, and say of nothing that it is wrong. */
  get askedCount(): number {
    return this.#held.filter((final) => isGood(final) && !this.#early.includes(final)).length
  }

  /** The end of the audio is said: what came before may belong to less than all of it. */
  ask(): void {
    this.#early = this.#held
  }

  /** `briefly`: the connection may also go on after it, and then it is told. */
  hold(final: FinalEvent, briefly: boolean): void {
    this.#held = [...this.#held, final]
    const { length } = this.#held
    // The first begins the time for the others, the last one the time for the end.
    if (!briefly || (length > 1 && length !== this.#channelCount)) return
    this.#timer?.unsubscribe()
    const withinMs = length < this.#channelCount ? othersWithinMs : endsWithinMs
    this.#timer = later(this.#scheduler, withinMs, () => this.release(), 'lets the process end')
  }

  release(): void {
    for (const final of this.take()) this.#owner.tell(final)
  }

  /**
   * The connection goes on `after` them: what says no error of that channel is told, of that one alone, for a service
   * that ends a connection may have read one channel to its end before another.
   */
  goOn(after: SessionEvent): void {
    // An answer to a request, or what is of no channel, says nothing of one.
    if (after.type !== 'partial' && after.type !== 'milestone' && after.type !== 'event') return
    const { channel = 0 } = after
    const goesOn = (final: FinalEvent): boolean => isGood(final) && (final.channel ?? 0) === channel
    const told = this.#held.filter(goesOn)
    if (this.#held.length === 0) return
    this.#held = this.#held.filter((final) => !goesOn(final))
    if (!this.#held.some(isGood)) this.#timer?.unsubscribe()
    for (const final of told) this.#owner.tell(final)
  }

  take(): readonly FinalEvent[] {
    const held = this.#held
    this.discard()
    return held
  }

  discard(): void {
    this.#timer?.unsubscribe()
    this.#held = none
  }
}

const isGood = ({ error }: FinalEvent): boolean => error === undefined
