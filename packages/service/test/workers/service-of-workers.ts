import type { LogFields } from '../../../server/src/operations/logger.js'
import type { ServiceOptions } from '../../src/configuration/service-options.js'
import { liveService, type LiveService } from '../interop/live-service.js'

export interface LoggedLine extends LogFields {
  readonly message: string
}

/** A development service whose sessions run in two worker processes, with its log. */
export interface ServiceOfWorkers extends LiveService {
  readonly lines: readonly LoggedLine[]
  /** The lines of a kind. */
  readonly logged: (message: string) => readonly LoggedLine[]
  /** Ends the process of a worker at once, as a crash does, or with another signal. */
  readonly kill: (worker: number, signal?: NodeJS.Signals) => void
  /** The worker of the latest session. */
  readonly lastWorker: () => number
}

export const serviceOfWorkers = async (options: Partial<ServiceOptions> = {}): Promise<ServiceOfWorkers> => {
  const lines: LoggedLine[] = []
  const logged = (message: string): readonly LoggedLine[] => lines.filter((line) => line.message === message)
  const log = (_level: string, message: string, fields?: LogFields): void => {
    lines.push({ message, ...fields })
  }
  const live = await liveService({ workers: 2, defaultModel: 'call', logger: { log }, ...options })
  return {
    ...live,
    lines,
    logged,
    kill: (worker, signal = 'SIGKILL') => {
      const pid = logged('Worker started').findLast((line) => line['worker'] === worker)?.['pid']
      process.kill(Number(pid), signal)
    },
    lastWorker: () => Number(logged('Session started').at(-1)?.['worker']),
  }
}
