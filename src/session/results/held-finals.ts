import type { SchedulerLike, Unsubscribable } from 'rxjs'
import { later } from '../../time/later.js'
import type { FinalEvent } from '../../protocol/session-event.js'

/** How long a service that gives a final may take to end the connection with it, in milliseconds. */
const endsWithinMs = 1_000

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
  #held: readonly FinalEvent[] = none
  #timer: Unsubscribable | undefined

  constructor(scheduler: SchedulerLike, owner: FinalsOwner) {
    this.#scheduler = scheduler
    this.#owner = owner
  }

  /** Those that say of nothing that it is wrong. */
  get count(): number {
    return this.#held.filter(({ error }) => error === undefined).length
  }

  /** `briefly`: the connection may also go on after it, and then it is told. */
  hold(final: FinalEvent, briefly: boolean): void {
    this.#held = [...this.#held, final]
    if (!briefly || this.#held.length > 1) return
    this.#timer = later(this.#scheduler, endsWithinMs, () => this.release(), 'lets the process end')
  }

  release(): void {
    for (const final of this.take()) this.#owner.tell(final)
  }

  /** The connection goes on: what says no error is told. */
  goOn(): void {
    if (this.#held.length === 0) return
    const good = this.#held.filter(isGood)
    const others = this.#held.filter((final) => !isGood(final))
    this.discard()
    this.#held = others
    for (const final of good) this.#owner.tell(final)
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
