import { Subscription, type SchedulerLike } from 'rxjs'
import type { Direction, Fault, FaultMoment, FaultScript, FaultStep } from './fault-script.js'

/** What was done, and when, in milliseconds since the first connection was asked for (0 before that). */
export interface DoneFault {
  readonly atMs: number
  /** The same by the scheduler's clock. */
  readonly clockMs: number
  readonly fault: Fault
}

/** What has passed, of one direction. */
export interface Passed {
  readonly bytes?: number
  readonly messages?: number
  readonly audioMs?: number
}

type Counted = Extract<FaultMoment, { readonly when: 'bytes' | 'messages' | 'audio' }>

/** Plays a script: knows how far things are, and does each fault at its moment, once. */
export class FaultDirector {
  readonly #waiting: Set<FaultStep>
  readonly #done: DoneFault[] = []
  readonly #timers = new Subscription()
  readonly #counts = new Map<string, number>()
  #connections = 0
  #startedMs: number | undefined

  constructor(
    script: FaultScript,
    private readonly scheduler: SchedulerLike,
    private readonly perform: (fault: Fault) => void,
  ) {
    this.#waiting = new Set(script)
  }

  /** The last 1000 of what was done. */
  get done(): readonly DoneFault[] {
    return this.#done
  }

  /** How many connections were asked for. */
  get connections(): number {
    return this.#connections
  }

  /** A connection is asked for; gives its number. The first starts the clock. */
  connecting(): number {
    this.#connections += 1
    if (this.#startedMs === undefined) this.#start()
    const number = this.#connections
    this.#doAll((at) => at.when === 'connection' && at.number === number)
    return number
  }

  passed(direction: Direction, connection: number, { bytes = 0, messages = 0, audioMs = 0 }: Passed): void {
    if (this.#waiting.size === 0) return
    this.#count('bytes', direction, connection, bytes)
    this.#count('messages', direction, connection, messages)
    this.#count('audio', direction, connection, audioMs)
    this.#doAll((at) => isCounted(at) && directionOf(at) === direction && this.#remaining(at) <= 0)
  }

  /** How many bytes may pass that way before the next fault; `Infinity` when none waits for bytes. */
  bytesBefore(direction: Direction, connection: number): number {
    let least = Infinity
    for (const { at } of this.#waiting) {
      if (at.when !== 'bytes' || at.direction !== direction) continue
      if (at.connection !== undefined && at.connection !== connection) continue
      least = Math.min(least, Math.max(1, this.#remaining(at)))
    }
    return least
  }

  tell(name: string): void {
    this.#doAll((at) => at.when === 'told' && at.name === name)
  }

  /** Does a fault now. */
  act(fault: Fault): void {
    const clockMs = this.scheduler.now()
    this.#done.push({ atMs: clockMs - (this.#startedMs ?? clockMs), clockMs, fault })
    if (this.#done.length > 1_000) this.#done.shift()
    this.perform(fault)
  }

  /** Does something later, unless all is closed by then. */
  later(work: () => void, ms: number): Subscription {
    const timer = this.scheduler.schedule(work, ms)
    this.#timers.add(timer)
    timer.add(() => this.#timers.remove(timer))
    return timer
  }

  /** Nothing happens any more. */
  close(): void {
    this.#waiting.clear()
    this.#timers.unsubscribe()
  }

  #start(): void {
    this.#startedMs = this.scheduler.now()
    for (const step of this.#waiting) {
      const { at } = step
      if (at.when !== 'elapsed') continue
      if (at.ms === 0) this.#do(step)
      else this.later(() => this.#do(step), at.ms)
    }
  }

  #doAll(due: (at: FaultMoment) => boolean): void {
    for (const step of [...this.#waiting]) {
      if (due(step.at)) this.#do(step)
    }
  }

  #do(step: FaultStep): void {
    if (this.#waiting.delete(step)) this.act(step.fault)
  }

  #count(what: Counted['when'], direction: Direction, connection: number, count: number): void {
    if (count === 0) return
    for (const key of [`${what} ${direction}`, `${what} ${direction} ${connection}`]) {
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + count)
    }
  }

  #remaining(at: Counted): number {
    const key = `${at.when} ${directionOf(at)}${at.connection === undefined ? '' : ` ${at.connection}`}`
    return (at.when === 'audio' ? at.ms : at.count) - (this.#counts.get(key) ?? 0)
  }
}

const isCounted = (at: FaultMoment): at is Counted =>
  at.when === 'bytes' || at.when === 'messages' || at.when === 'audio'

const directionOf = (at: Counted): Direction => (at.when === 'audio' ? 'to-service' : at.direction)
