import { Subscription, type SchedulerLike } from 'rxjs'
import type { LogFields, Logger, LogLevel } from './logger.js'

const minuteMs = 60_000

export interface LimitedLogOptions {
  readonly logger: Logger
  readonly scheduler: SchedulerLike
  /** Lines of one kind. */
  readonly linesPerMinute: number
  /** Called for each line that is left out. */
  readonly onLeftOut?: ((kind: string) => void) | undefined
}

/** The minute of one kind of line, which begins with the first of them. */
interface Minute {
  lines: number
  leftOut: number
}

/** Writes so many lines of each kind a minute, and when the minute is over one that says how many were left out. */
export class LimitedLog {
  readonly #options: LimitedLogOptions
  readonly #minutes = new Map<string, Minute>()
  readonly #timers = new Subscription()

  constructor(options: LimitedLogOptions) {
    this.#options = options
  }

  /** `kind` is a word of ours, so that their number has a bound. */
  write(kind: string, level: LogLevel, message: string, fields: LogFields): void {
    const { logger, linesPerMinute, onLeftOut } = this.#options
    const minute = this.#minutes.get(kind) ?? this.#begin(kind)
    minute.lines += 1
    if (minute.lines <= linesPerMinute) logger.log(level, message, fields)
    else {
      minute.leftOut += 1
      onLeftOut?.(kind)
    }
  }

  /** Says what was left out until now, and ends all timers. */
  close(): void {
    this.#timers.unsubscribe()
    for (const kind of [...this.#minutes.keys()]) this.#end(kind)
  }

  #begin(kind: string): Minute {
    const minute = { lines: 0, leftOut: 0 }
    this.#minutes.set(kind, minute)
    const timer = this.#options.scheduler.schedule(() => {
      this.#timers.remove(timer)
      this.#end(kind)
    }, minuteMs)
    this.#timers.add(timer)
    return minute
  }

  #end(kind: string): void {
    const leftOut = this.#minutes.get(kind)?.leftOut ?? 0
    this.#minutes.delete(kind)
    if (leftOut > 0) this.#options.logger.log('warn', 'Lines left out', { line: kind, leftOut })
  }
}
