/** The signals that end a command. */
export const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
export type EndingSignal = (typeof endingSignals)[number]

/** What a command has of the process it runs in. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  /** Calls back at each signal that asks the process to end; the function that it returns takes that back. */
  readonly onSignal: (told: (signal: EndingSignal) => void) => () => void
  /** Runs when the process ends, however it ends; the function that it returns takes that back. Synchronous work only. */
  readonly onExit: (work: () => void) => () => void
  /** Ends the process at once. */
  readonly exit: (code: number) => void
}

export const processHost = (process: NodeJS.Process): Host => ({
  env: process.env,
  // Looked at only by who needs it: looking opens it.
  get stdin() {
    return process.stdin
  },
  stdout: process.stdout,
  stderr: process.stderr,
  onSignal: (told) => {
    for (const signal of endingSignals) process.on(signal, told)
    return () => {
      for (const signal of endingSignals) process.off(signal, told)
    }
  },
  onExit: (work) => {
    process.once('exit', work)
    return () => process.off('exit', work)
  },
  exit: (code) => {
    process.exit(code)
  },
})

/** The environment of a shell: 128 and the number of the signal. */
const signalNumber: Readonly<Record<EndingSignal, number>> = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 }
export const signalExitCode = (signal: EndingSignal): number => 128 + signalNumber[signal]
