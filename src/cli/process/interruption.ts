import { QuietEnd } from './failure.js'
import { signalExitCode, type EndingSignal, type Host } from './host.js'

export interface Interruption {
  /** Aborts with the error that the command ends with. */
  readonly signal: AbortSignal
  readonly release: () => void
}

export interface InterruptionOptions {
  /** Does what the first signal asks for, in place of an abort; false when it can't, and then the command aborts. */
  readonly first?: (signal: EndingSignal) => boolean
  /** Aborts as well, such as when nobody reads the output any more. */
  readonly also?: AbortSignal
}

/** The first signal ends the command in good order, the second one at once. */
export const watchInterruption = (host: Host, { first, also }: InterruptionOptions = {}): Interruption => {
  const controller = new AbortController()
  let count = 0
  const offSignal = host.onSignal((signal) => {
    count += 1
    if (count > 1) host.exit(signalExitCode(signal))
    else if (first?.(signal) !== true) controller.abort(new QuietEnd(signalExitCode(signal)))
  })
  const abort = (): void => controller.abort(also?.reason)
  if (also?.aborted === true) abort()
  also?.addEventListener('abort', abort)
  return {
    signal: controller.signal,
    release: () => {
      offSignal()
      also?.removeEventListener('abort', abort)
    },
  }
}
