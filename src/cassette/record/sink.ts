import { createWriteStream } from 'node:fs'
import type { Writable } from 'node:stream'
import { SpeechError } from '../../errors/speech-error.js'
import { numberedPath } from '../../operators/captions/growing-file.js'
import { checkOption, codec, functionValue, objectWith } from '../../protocol/validation.js'
import type { LineWriter } from './line-queue.js'

/**
 * Where cassettes are written. A function receives the lines of one session after another, without line breaks; if it
 * returns a promise, the next line waits for it. An object is opened for each session.
 */
export type CassetteSink = LineWriter['write'] | OpenableSink

/** A sink that is opened for each session. */
export interface OpenableSink {
  /** Opens the sink for one session. */
  readonly open: () => LineWriter
}

const openable = objectWith('open')
const sinkCodec = codec(
  'a function that takes lines, or toFile(path), or toStream(stream)',
  (value): value is CassetteSink => functionValue.is(value) || openable.is(value),
)

/** Returns a function that opens the sink for a session. It throws `already-started` while a function is in use. */
export const openerOf = (sink: CassetteSink): (() => LineWriter) => {
  checkOption('sink', sinkCodec, sink)
  if (typeof sink !== 'function') return () => sink.open()
  let isInUse = false
  return () => {
    if (isInUse) {
      throw new SpeechError(
        'already-started',
        'A session is being written to this sink; use a separate sink for each session that runs at the same time.',
      )
    }
    isInUse = true
    return {
      write: sink,
      end: () => {
        isInUse = false
      },
    }
  }
}

/**
 * Writes to a file, which only its owner can read because it contains what people said. An existing file is replaced.
 * Each further session gets its own file: `call.jsonl`, `call-2.jsonl`.
 *
 * @example
 * audio$.pipe(record(toFile('call.jsonl'))(recognize, options))
 */
export const toFile = (path: string): OpenableSink => {
  let sessions = 0
  return {
    open: () => {
      sessions += 1
      return streamWriter(createWriteStream(numberedPath(path, sessions), { mode: 0o600 }), 'end')
    },
  }
}

/**
 * Writes to a Node stream, such as standard output, and waits while it is full. The stream stays open.
 *
 * @example
 * audio$.pipe(record(toStream(process.stdout))(recognize, options))
 */
export const toStream = (stream: Writable): CassetteSink => {
  const write = (line: string): void | Promise<void> => writer.write(line) as void | Promise<void>
  const writer = streamWriter(stream, 'keep-open')
  return write
}

const streamWriter = (stream: Writable, atEnd: 'end' | 'keep-open'): LineWriter => {
  let failure: Error | undefined
  const failed = new Promise<never>((_resolve, reject) => {
    stream.once('error', (error) => {
      failure = error
      reject(error)
    })
  })
  // The next write reports the failure; without a next write it does not matter.
  failed.catch(() => undefined)
  return {
    write: (line) => {
      if (failure !== undefined) throw failure
      if (stream.write(`${line}\n`)) return undefined
      return Promise.race([failed, new Promise<void>((resolve) => stream.once('drain', resolve))])
    },
    end: () => {
      if (failure !== undefined) throw failure
      if (atEnd === 'keep-open') return undefined
      return Promise.race([
        failed,
        new Promise<void>((resolve, reject) => {
          stream.end((error?: Error | null) => (error ? reject(error) : resolve()))
        }),
      ])
    },
  }
}
