import type { SchedulerLike } from 'rxjs'
import { FaultDirector, type AppliedFault } from './fault-director.js'
import { checkFault, type Direction, type Fault, type FaultLevel, type FaultScript } from './fault-script.js'
import { seededRandom, shapesAfter, unshapedTraffic } from './traffic.js'

/** A connection or a link. */
export interface FaultTarget {
  /** Applies a fault; those that do not concern an open connection have no effect. */
  apply(fault: Fault): void
  /** Ends a stall of one direction. */
  resumeDirection(direction: Direction): void
}

/** Applies the faults of a script and of calls to everything that is open, and ends those with a duration. */
export abstract class FaultInjector<Target extends FaultTarget> {
  protected readonly targets = new Set<Target>()
  protected readonly scheduler: SchedulerLike
  protected readonly director: FaultDirector
  protected readonly random: () => number
  protected shapes = unshapedTraffic
  readonly #level: FaultLevel
  #outages = 0

  /** @param script that `checkScript` has checked for this level */
  constructor(script: FaultScript, level: FaultLevel, seed: number, scheduler: SchedulerLike) {
    this.#level = level
    this.scheduler = scheduler
    this.random = seededRandom(seed)
    this.director = new FaultDirector(script, scheduler, (fault) => this.#perform(fault))
  }

  get applied(): readonly AppliedFault[] {
    return this.director.applied
  }

  get connections(): number {
    return this.director.connections
  }

  apply(fault: Fault): void {
    this.director.apply(checkFault(fault, this.#level))
  }

  signal(name: string): void {
    this.director.signal(name)
  }

  /** Accepts or refuses new connections from a fault on. */
  protected abstract steerAccess(fault: Fault): void

  #perform(fault: Fault): void {
    this.shapes = shapesAfter(this.shapes, fault)
    this.steerAccess(fault)
    for (const target of [...this.targets]) target.apply(fault)
    if (fault.do === 'outage') this.#outages += 1
    if (!('forMs' in fault) || fault.forMs === undefined) return
    const outage = this.#outages
    this.director.schedule(() => this.#expire(fault, outage), fault.forMs)
  }

  /** Ends a fault with a duration. A half-open connection is reset, as when the system detects it. */
  #expire(fault: Fault, outage: number): void {
    // Does not end a later outage.
    if (fault.do === 'outage' && outage === this.#outages) this.endOutage()
    for (const target of [...this.targets]) {
      if (fault.do === 'half-open') target.apply({ do: 'reset' })
      if (fault.do === 'stall') target.resumeDirection(fault.direction)
    }
  }

  protected abstract endOutage(): void
}
