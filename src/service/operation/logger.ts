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
