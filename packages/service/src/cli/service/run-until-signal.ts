import type { Logger } from 'rxspeech-server/operations/logger'
import type { EndingSignal, Host } from '../process/host.js'
import { hangupOf, watchEnd } from '../process/interruption.js'
import { openControlOrWarn, type Control, type ReloadAnswer } from './control.js'

/** What a process that runs until a signal needs. */
export interface ProcessLife {
  /** Resolves with the first signal that ends the process; the second one ends it at once. */
  readonly ended: Promise<EndingSignal>
  /** From now on SIGHUP reloads, and `rxspeech reload` if there is a state folder. */
  readonly enableReload: (stateFolder: string | undefined, reload: () => Promise<ReloadAnswer>) => Promise<void>
}

/** Runs a process to its end, with its signals and reloads. */
export const runUntilSignal = async (
  host: Host,
  logger: Logger,
  run: (life: ProcessLife) => Promise<void>,
): Promise<void> => {
  let hangup = (): void => logger.log('warn', 'SIGHUP during the start was ignored: everything is being read now.')
  const { ended, release } = watchEnd(
    host,
    hangupOf(host, () => hangup()),
  )
  let control: Control | undefined
  const enableReload: ProcessLife['enableReload'] = async (stateFolder, reload) => {
    hangup = () => void reload()
    control = stateFolder === undefined ? undefined : await openControlOrWarn(stateFolder, reload, logger)
  }
  try {
    await run({ ended, enableReload })
  } finally {
    await control?.close()
    release()
  }
}
