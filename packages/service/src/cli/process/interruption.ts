import { SilentExit } from './failure.js'
import { signalExitCode, type EndingSignal, type Host } from './host.js'

export interface Interruption {
  /** Aborts with the error that the command ends with. */
  readonly signal: AbortSignal
  readonly release: () => void
}

export interface InterruptionOptions {
  /** Handles the first signal instead of an abort; returns false when it cannot, and then the command aborts. */
  readonly first?: (signal: EndingSignal) => boolean
  /** Handles the second signal; then the third one ends the process at once. */
  readonly second?: (signal: EndingSignal) => void
  /** Handles SIGHUP, each time; without it SIGHUP ends the command as the other signals do. */
  readonly hangup?: (() => void) | undefined
  /** Also aborts the command, for example when the output is closed. */
  readonly also?: AbortSignal
}

/** What SIGHUP does to a service: in a terminal, which closes, it ends it, and otherwise `act` is called. */
export const hangupOf = (
  { stdout, stderr }: Pick<Host, 'stdout' | 'stderr'>,
  act: () => void,
): (() => void) | undefined => (stdout.isTTY || stderr.isTTY ? undefined : act)

/** The first signal ends the command in an orderly way, the second one at once. */
export const watchInterruption = (
  host: Host,
  { first, second, hangup, also }: InterruptionOptions = {},
): Interruption => {
  const controller = new AbortController()
  let count = 0
  const offSignal = host.onSignal((signal) => {
    if (signal === 'SIGHUP' && hangup !== undefined) {
      hangup()
      return
    }
    count += 1
    if (count === 2 && second !== undefined) second(signal)
    else if (count > 1) host.exit(signalExitCode(signal))
    else if (first?.(signal) !== true) controller.abort(new SilentExit(signalExitCode(signal)))
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

/** Resolves with the first signal, after which the command ends in its own time; the second one ends it at once. */
export const watchEnd = (
  host: Host,
  hangup?: () => void,
): { readonly ended: Promise<EndingSignal>; readonly release: () => void } => {
  let receive: (signal: EndingSignal) => void = () => undefined
  const ended = new Promise<EndingSignal>((resolve) => (receive = resolve))
  const first = (signal: EndingSignal): boolean => {
    receive(signal)
    return true
  }
  return { ended, release: watchInterruption(host, { first, hangup }).release }
}

/**
 * Waits for a resource that has to be closed. If the signal aborts first, rejects with its reason at once and closes
 * the resource when it is available.
 */
export const acquire = async <A extends { readonly close: () => Promise<void> }>(
  opening: Promise<A>,
  signal: AbortSignal,
): Promise<A> => {
  let stop = (): void => undefined
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason as Error)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop)
  })
  try {
    return await Promise.race([opening, aborted])
  } catch (error) {
    const ignore = (): void => undefined
    if (signal.aborted) opening.then((late) => late.close()).catch(ignore)
    throw error
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
