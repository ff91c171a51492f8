import { isAtLeast, writtenFields, type Logger, type LogLevel } from './logger.js'
import type { LineSink } from './json-logger.js'

export type TextStyle = 'dim' | 'warn' | 'error' | 'plain'

export interface TextLoggerOptions {
  readonly level: LogLevel
  readonly now: () => Date
  /** Colors a piece of a line, or leaves it as it is. */
  readonly paint: (style: TextStyle, text: string) => string
}

const styles: Readonly<Record<LogLevel, TextStyle>> = { debug: 'dim', info: 'plain', warn: 'warn', error: 'error' }

/** A value is written bare where that can be read back, else as JSON; control characters never reach a terminal. */
const written = (value: string | number | boolean): string =>
  typeof value === 'string' && !/^[\w.:/@+-]+$/.test(value) ? JSON.stringify(value) : String(value)

const pieces = (name: string, value: string | number | boolean): string => `${name}=${written(value)}`

/** One line a person reads: time of day, level, sentence, and `name=value` for each field. */
export const textLogger = (sink: LineSink, { level, now, paint }: TextLoggerOptions): Logger => ({
  log: (at, message, fields = {}) => {
    if (!isAtLeast(at, level)) return
    const time = paint('dim', now().toISOString().slice(11, 23))
    const known = Object.entries(writtenFields(fields)).map(([name, value]) => pieces(name, value))
    const rest = known.length === 0 ? '' : `  ${paint('dim', known.join(' '))}`
    const sentence = message.replace(/\p{Cc}+/gu, ' ')
    sink.write(`${time} ${paint(styles[at], at.toUpperCase().padEnd(5))} ${sentence}${rest}\n`)
  },
})
