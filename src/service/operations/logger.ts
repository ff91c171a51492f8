import { loadOptional } from '../../errors/load-optional.js'

export const logLevels = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof logLevels)[number]

/** Beside a line; nothing of what was said, no token, no secret. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>

/** Where the service writes its log, a line at a time. Returns at once and never throws. */
export interface Logger {
  log(level: LogLevel, message: string, fields?: LogFields): void
}

/** Nothing below the level gets through. */
export const isAtLeast = (level: LogLevel, least: LogLevel): boolean =>
  logLevels.indexOf(level) >= logLevels.indexOf(least)

/** Fields of these names are never written, whoever passes them. */
const secretName = /token|secret|password|authorization|credential|transcript|^text$|^words$/i

const longestValue = 300

/** The fields as they may be written: without what is undefined, secrets by name struck out, long texts cut. */
export const writtenFields = (fields: LogFields): Readonly<Record<string, string | number | boolean>> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => {
      if (value === undefined) return []
      if (secretName.test(name)) return [[name, '[redacted]']]
      return [
        [name, typeof value === 'string' && value.length > longestValue ? `${value.slice(0, longestValue)}…` : value],
      ]
    }),
  )

/** Whoever takes lines: a stream. */
export interface LineSink {
  write(line: string): unknown
}

/** One object of JSON a line, by pino; the time is `time` in ISO 8601. Rejects with `missing-dependency`. */
export const openJsonLogger = async (sink: LineSink, level: LogLevel): Promise<Logger> => {
  const { pino } = await loadOptional('pino', 'A log in JSON', () => import('pino'))
  const log = pino(
    {
      base: null,
      level,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => void sink.write(line) },
  )
  return {
    log: (at, message, fields = {}) => {
      log[at](writtenFields(fields), message)
    },
  }
}

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
