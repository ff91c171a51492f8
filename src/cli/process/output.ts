import { exitCode } from './exit-code.js'
import { QuietEnd, RunFailure } from './failure.js'
import type { Host } from './host.js'
import type { ScreenStream } from '../view/live-screen.js'

/** What is printed for others to read, with its end and its pace. */
export interface Output {
  readonly write: (text: string) => void
  /** The same as a stream that may be a terminal. */
  readonly terminal: ScreenStream
  /** Resolves when there is room for more; undefined when there is room now. */
  readonly room: () => Promise<void> | undefined
  /** Aborts when nobody reads any more, with the error that the command ends with. */
  readonly gone: AbortSignal
  /** Resolves when all is written, or nobody reads any more. */
  readonly flushed: () => Promise<void>
}

/** Who reads may leave before the end (`| head`): that is no failure, and ends the command without a word. */
export const openOutput = ({ stdout }: Pick<Host, 'stdout'>): Output => {
  const gone = new AbortController()
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    gone.abort(
      error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED'
        ? new QuietEnd(exitCode.done)
        : new RunFailure(`Standard output takes nothing more (${error.code ?? 'unknown'}); check where it leads.`),
    )
  })
  const emptied = (): Promise<void> =>
    new Promise((resolve) => {
      const done = (): void => {
        stdout.off('drain', done)
        gone.signal.removeEventListener('abort', done)
        resolve()
      }
      stdout.on('drain', done)
      gone.signal.addEventListener('abort', done)
    })
  const write = (text: string): void => {
    if (!gone.signal.aborted) stdout.write(text)
  }
  return {
    write,
    terminal: {
      write,
      isTTY: stdout.isTTY,
      get columns() {
        return stdout.columns
      },
    },
    room: () => (stdout.writableNeedDrain && !gone.signal.aborted ? emptied() : undefined),
    gone: gone.signal,
    flushed: async () => {
      if (gone.signal.aborted) return
      await new Promise<void>((resolve) => {
        gone.signal.addEventListener('abort', () => resolve(), { once: true })
        stdout.write('', () => resolve())
      })
    },
  }
}
