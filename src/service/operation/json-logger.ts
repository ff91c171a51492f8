import { loadOptional } from '../../errors/load-optional.js'
import { writtenFields, type Logger, type LogLevel } from './logger.js'

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
