import { exitCode, SilentExit, CommandError } from './failure.js'
import type { Host } from './host.js'
import type { ScreenStream } from '../view/live-screen.js'

/** Standard output, with its back-pressure and its end. */
export interface Output {
  readonly write: (text: string) => void
  /** The same as a stream that may be a terminal. */
  readonly terminal: ScreenStream
  /** Resolves when the stream can take more; undefined when it can now. */
  readonly whenWritable: () => Promise<void> | undefined
  /** Aborts when the reader has closed the output, with the error that the command ends with. */
  readonly closed: AbortSignal
  /** Resolves when everything is written, or the reader has closed the output. */
  readonly flushed: () => Promise<void>
}

/** A reader that closes the pipe early (`| head`) is not a failure: it ends the command without a message. */
export const openOutput = ({ stdout }: Pick<Host, 'stdout'>): Output => {
  const closed = new AbortController()
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    closed.abort(
      error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED'
        ? new SilentExit(exitCode.done)
        : new CommandError(`Standard output cannot be written (${error.code ?? 'unknown'}); check its destination.`),
    )
  })
  const emptied = (): Promise<void> =>
    new Promise((resolve) => {
      const done = (): void => {
        stdout.off('drain', done)
        closed.signal.removeEventListener('abort', done)
        resolve()
      }
      stdout.on('drain', done)
      closed.signal.addEventListener('abort', done)
    })
  const write = (text: string): void => {
    if (!closed.signal.aborted) stdout.write(text)
  }
  return {
    write,
    terminal: {
      write,
      isTTY: stdout.isTTY,
      get columns() {
        return stdout.columns
      },
      get rows() {
        return stdout.rows
      },
    },
    whenWritable: () => (stdout.writableNeedDrain && !closed.signal.aborted ? emptied() : undefined),
    closed: closed.signal,
    flushed: async () => {
      if (closed.signal.aborted) return
      await new Promise<void>((resolve) => {
        closed.signal.addEventListener('abort', () => resolve(), { once: true })
        // The event that reports a failure of the last text comes after this call.
        stdout.write('', () => setImmediate(resolve))
      })
    },
  }
}
