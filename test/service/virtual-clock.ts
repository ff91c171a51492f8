import { VirtualAction, VirtualTimeScheduler } from 'rxjs'

/** A clock that stands until it is told how late it is. */
export class VirtualClock extends VirtualTimeScheduler {
  constructor() {
    super(VirtualAction, 0)
  }

  /** Whatever is due until then happens, each in its time. */
  advanceTo(ms: number): void {
    this.maxFrames = ms
    this.flush()
    this.frame = ms
  }

  /** Timers that somebody waits for. */
  get waiting(): number {
    return this.actions.filter((action) => !action.closed).length
  }
}

/** Lets all promises that can settle do so. */
export const flushPromises = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
