import type { ProcessIdentity } from './process-identity.js'

export const logLevels = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof logLevels)[number]

/** The fields of a log line; never transcripts, tokens or secrets. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>

/** The log of the service. Implementations must return at once and must not throw. */
export interface Logger {
  /** Writes one line. */
  log(level: LogLevel, message: string, fields?: LogFields): void
}

const isAtLeast = (level: LogLevel, minLevel: LogLevel): boolean =>
  logLevels.indexOf(level) >= logLevels.indexOf(minLevel)

/** Fields with these names are never written. */
const secretName = /token|secret|password|authorization|credential|transcript|^text$|^words$/i

const maxValueLength = 300

/** The fields to write: without undefined ones, with secrets redacted by name, and with long texts truncated. */
const writtenFields = (fields: LogFields): Readonly<Record<string, string | number | boolean>> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => {
      if (value === undefined) return []
      if (secretName.test(name)) return [[name, '[redacted]']]
      return [
        [
          name,
          typeof value === 'string' && value.length > maxValueLength ? `${value.slice(0, maxValueLength)}…` : value,
        ],
      ]
    }),
  )

/** Receives lines, such as a stream. */
export interface LineSink {
  write(line: string): unknown
}

/**
 * Writes a JSON object per line, by pino; `time` is ISO 8601. Rejects with `missing-dependency`.
 *
 * @param base fields of every line
 */
export const openJsonLogger = async (
  sink: LineSink,
  level: LogLevel,
  base?: Readonly<ProcessIdentity>,
): Promise<Logger> => {
  const { pino } = await import('pino')
  const log = pino(
    {
      base: base === undefined ? null : { ...base },
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
  /** Colors a part of a line, or returns it unchanged. */
  readonly paint: (style: TextStyle, text: string) => string
}

const styles: Readonly<Record<LogLevel, TextStyle>> = { debug: 'dim', info: 'plain', warn: 'warn', error: 'error' }

/** Writes simple values as they are, others as JSON, so that control characters never reach a terminal. */
const written = (value: string | number | boolean): string =>
  typeof value === 'string' && !/^[\w.:/@+-]+$/.test(value) ? JSON.stringify(value) : String(value)

const fieldText = (name: string, value: string | number | boolean): string => `${name}=${written(value)}`

/** Writes readable lines: time of day, level, sentence, and `name=value` for each field. */
export const textLogger = (sink: LineSink, { level, now, paint }: TextLoggerOptions): Logger => ({
  log: (at, message, fields = {}) => {
    if (!isAtLeast(at, level)) return
    const time = paint('dim', now().toISOString().slice(11, 23))
    const known = Object.entries(writtenFields(fields)).map(([name, value]) => fieldText(name, value))
    const rest = known.length === 0 ? '' : `  ${paint('dim', known.join(' '))}`
    const sentence = message.replace(/\p{Cc}+/gu, ' ')
    sink.write(`${time} ${paint(styles[at], at.toUpperCase().padEnd(5))} ${sentence}${rest}\n`)
  },
})
