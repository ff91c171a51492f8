import { VirtualAction, VirtualTimeScheduler } from 'rxjs'

/** A clock that advances only by `advanceTo`. */
export class VirtualClock extends VirtualTimeScheduler {
  constructor() {
    super(VirtualAction, 0)
  }

  /** Runs everything that is due until then, each at its time. */
  advanceTo(ms: number): void {
    this.maxFrames = ms
    this.flush()
    this.frame = ms
  }

  /** Pending timers. */
  get waiting(): number {
    return this.actions.filter((action) => !action.closed).length
  }

  /** When the pending timers are due. */
  get dueMs(): readonly (number | undefined)[] {
    return this.actions.filter((action) => !action.closed).map(({ delay }) => delay)
  }
}

/** Resolves when all promises that can settle have settled. */
export const flushPromises = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
