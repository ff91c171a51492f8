import { Subscription, type SchedulerLike } from 'rxjs'
import { later } from '../../operators/later.js'
import type { FinalEvent } from '../../protocol/session-event.js'

/** How long a service that gives a final may take to end the connection with it, in milliseconds. */
const endsWithinMs = 1_000

/**
 * Finals that came before they were asked for, or with an error: whether they end the session or only a connection, how
 * the connection ends tells.
 */
export class HeldFinals {
  readonly #scheduler: SchedulerLike
  readonly #tell: (final: FinalEvent) => void
  #held: FinalEvent[] = []
  #timer = new Subscription()

  constructor(scheduler: SchedulerLike, tell: (final: FinalEvent) => void) {
    this.#scheduler = scheduler
    this.#tell = tell
  }

  /** Those that say of nothing that it is wrong. */
  get count(): number {
    return this.#held.filter(({ error }) => error === undefined).length
  }

  /** `briefly`: the connection may also go on after it, and then it is told. */
  hold(final: FinalEvent, briefly: boolean): void {
    this.#held.push(final)
    if (!briefly || this.#held.length > 1) return
    this.#timer = later(this.#scheduler, endsWithinMs, () => this.release(), 'lets the process end')
  }

  release(): void {
    for (const final of this.take()) this.#tell(final)
  }

  /** The connection goes on: what says no error is told. */
  goOn(): void {
    if (this.#held.length === 0) return
    const good = this.#held.filter(isGood)
    const others = this.#held.filter((final) => !isGood(final))
    this.discard()
    this.#held = others
    for (const final of good) this.#tell(final)
  }

  take(): readonly FinalEvent[] {
    const held = this.#held
    this.discard()
    return held
  }

  discard(): void {
    this.#timer.unsubscribe()
    this.#held = []
  }
}

const isGood = ({ error }: FinalEvent): boolean => error === undefined
