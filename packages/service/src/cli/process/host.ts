/** The signals that end a command. */
const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
export type EndingSignal = (typeof endingSignals)[number]

/** The process a command runs in. */
export interface Host {
  /** The version of Node, such as `24.21.0`. */
  readonly nodeVersion: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  /** Calls the listener at each signal that asks the process to end; returns a function that removes it. */
  readonly onSignal: (listener: (signal: EndingSignal) => void) => () => void
  /** Handles a key of the terminal as the signal that it stands for. */
  readonly raise: (signal: EndingSignal) => void
  /** Stops the processes of this job until the shell continues them; returns then. */
  readonly suspend: () => void
  /** Runs synchronous work when the process ends in any way; returns a function that removes it. */
  readonly onExit: (work: () => void) => () => void
  /** Ends the process at once. */
  readonly exit: (code: number) => void
}

export const processHost = (process: NodeJS.Process): Host => ({
  nodeVersion: process.versions.node,
  env: process.env,
  // A getter, because the first access opens standard input.
  get stdin() {
    return process.stdin
  },
  stdout: process.stdout,
  stderr: process.stderr,
  onSignal: (listener) => {
    for (const signal of endingSignals) process.on(signal, listener)
    return () => {
      for (const signal of endingSignals) process.off(signal, listener)
    }
  },
  // Not `kill`, which ends a process of Windows whatever listens.
  raise: (signal) => {
    if (!process.emit(signal, signal)) process.exit(signalExitCode(signal))
  },
  suspend: () => {
    if (process.platform !== 'win32') process.kill(0, 'SIGTSTP')
  },
  onExit: (work) => {
    process.once('exit', work)
    return () => process.off('exit', work)
  },
  exit: (code) => {
    process.exit(code)
  },
})

/** As shells do: 128 and the number of the signal. */
const signalNumber: Readonly<Record<EndingSignal, number>> = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 }
export const signalExitCode = (signal: EndingSignal): number => 128 + signalNumber[signal]
