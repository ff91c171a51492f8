import { Subscription, type SchedulerLike } from 'rxjs'
import type { Direction, Fault, FaultMoment, FaultStep } from './fault-script.js'

/** A fault that was applied. */
export interface AppliedFault<Applied = Fault> {
  /** In milliseconds since the first connection; 0 before it. */
  readonly atMs: number
  /** The same time by the scheduler's clock. */
  readonly clockMs: number
  /** The fault. */
  readonly fault: Applied
}

/** What has passed in one direction. */
export interface Passed {
  readonly bytes?: number | undefined
  readonly messages?: number | undefined
  readonly audioMs?: number | undefined
}

type CountedMoment = Extract<FaultMoment, { readonly when: 'bytes' | 'messages' | 'audio' }>

const maxApplied = 1_000

/** Runs a script: tracks the traffic and applies each fault once at its moment. */
export class FaultDirector<Applied = Fault> {
  readonly #waiting: Set<FaultStep<Applied>>
  readonly #scheduler: SchedulerLike
  readonly #perform: (fault: Applied) => void
  readonly #applied: AppliedFault<Applied>[] = []
  readonly #timers = new Subscription()
  readonly #counts = new Map<string, number>()
  #connections = 0
  #startedMs: number | undefined

  constructor(script: readonly FaultStep<Applied>[], scheduler: SchedulerLike, perform: (fault: Applied) => void) {
    this.#waiting = new Set(script)
    this.#scheduler = scheduler
    this.#perform = perform
  }

  /** The last 1000 faults. */
  get applied(): readonly AppliedFault<Applied>[] {
    return this.#applied
  }

  /** How many connections were requested. */
  get connections(): number {
    return this.#connections
  }

  /** Counts a requested connection and returns its number. The first one starts the clock. */
  connecting(): number {
    this.#connections += 1
    if (this.#startedMs === undefined) this.#start()
    const number = this.#connections
    this.#applyDue((at) => at.when === 'connection' && at.number === number)
    return number
  }

  passed(direction: Direction, connection: number, { bytes = 0, messages = 0, audioMs = 0 }: Passed): void {
    if (this.#waiting.size === 0) return
    this.#count('bytes', direction, connection, bytes)
    this.#count('messages', direction, connection, messages)
    this.#count('audio', direction, connection, audioMs)
    this.#applyDue((at) => isCounted(at) && directionOf(at) === direction && this.#remaining(at) <= 0)
  }

  /** How many bytes may pass before the next fault; `Infinity` if no fault waits for bytes. */
  bytesBefore(direction: Direction, connection: number): number {
    let min = Infinity
    for (const { at } of this.#waiting) {
      if (at.when !== 'bytes' || at.direction !== direction) continue
      if (at.connection !== undefined && at.connection !== connection) continue
      min = Math.min(min, Math.max(1, this.#remaining(at)))
    }
    return min
  }

  signal(name: string): void {
    this.#applyDue((at) => at.when === 'signal' && at.name === name)
  }

  apply(fault: Applied): void {
    const clockMs = this.#scheduler.now()
    this.#applied.push({ atMs: clockMs - (this.#startedMs ?? clockMs), clockMs, fault })
    if (this.#applied.length > maxApplied) this.#applied.shift()
    this.#perform(fault)
  }

  /** Calls `work` later, unless the director is closed before. */
  schedule(work: () => void, delayMs: number): void {
    const timer = this.#scheduler.schedule(work, delayMs)
    this.#timers.add(timer)
    timer.add(() => this.#timers.remove(timer))
  }

  /** Cancels the remaining steps. */
  close(): void {
    this.#waiting.clear()
    this.#timers.unsubscribe()
  }

  #start(): void {
    this.#startedMs = this.#scheduler.now()
    for (const step of this.#waiting) {
      const { at } = step
      if (at.when !== 'elapsed') continue
      if (at.ms === 0) this.#applyStep(step)
      else this.schedule(() => this.#applyStep(step), at.ms)
    }
  }

  #applyDue(isDue: (at: FaultMoment) => boolean): void {
    for (const step of [...this.#waiting]) {
      if (isDue(step.at)) this.#applyStep(step)
    }
  }

  #applyStep(step: FaultStep<Applied>): void {
    if (this.#waiting.delete(step)) this.apply(step.fault)
  }

  #count(unit: CountedMoment['when'], direction: Direction, connection: number, count: number): void {
    if (count === 0) return
    for (const key of [`${unit} ${direction}`, `${unit} ${direction} ${connection}`]) {
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + count)
    }
  }

  #remaining(at: CountedMoment): number {
    const key = `${at.when} ${directionOf(at)}${at.connection === undefined ? '' : ` ${at.connection}`}`
    return (at.when === 'audio' ? at.ms : at.count) - (this.#counts.get(key) ?? 0)
  }
}

const isCounted = (at: FaultMoment): at is CountedMoment =>
  at.when === 'bytes' || at.when === 'messages' || at.when === 'audio'

const directionOf = (at: CountedMoment): Direction => (at.when === 'audio' ? 'to-service' : at.direction)
