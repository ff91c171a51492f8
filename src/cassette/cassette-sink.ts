import { createWriteStream } from 'node:fs'
import { extname } from 'node:path'
import type { Writable } from 'node:stream'
import { SpeechError } from '../errors/speech-error.js'
import type { LineWriter } from './line-queue.js'

/**
 * Where cassettes go. A function takes the lines of one session after another, each without its line break; where it
 * gives a promise, the next line waits for it. Otherwise something that is opened for each session.
 */
export type CassetteSink = LineWriter['write'] | OpenedSink

/** A sink that is opened once a session. */
export interface OpenedSink {
  readonly open: () => LineWriter
}

/** How a sink is opened for a session. A function takes one session at a time: `already-started`. */
export const openSink = (sink: CassetteSink): (() => LineWriter) => {
  if (typeof sink !== 'function') {
    if (typeof (sink as { readonly open?: unknown } | null)?.open === 'function') return () => sink.open()
    throw new SpeechError(
      'invalid-options',
      'sink must be a function that takes lines, or toFile(path), or toStream(stream).',
    )
  }
  let state: 'free' | 'taken' = 'free'
  return () => {
    if (state === 'taken') {
      throw new SpeechError(
        'already-started',
        'A session is being written to this sink; give each session that runs at the same time a sink of its own.',
      )
    }
    state = 'taken'
    return {
      write: sink,
      end: () => {
        state = 'free'
      },
    }
  }
}

/**
 * Writes to a file, which only its owner may read, for it holds what was said. A file that is there is replaced. The
 * second session goes to a file of its own: `call.jsonl`, `call-2.jsonl`.
 */
export const toFile = (path: string): OpenedSink => {
  let sessions = 0
  return {
    open: () => {
      sessions += 1
      const extension = extname(path)
      const own = sessions === 1 ? path : `${path.slice(0, path.length - extension.length)}-${sessions}${extension}`
      return streamWriter(createWriteStream(own, { mode: 0o600 }), 'end')
    },
  }
}

/** Writes to a stream of Node, such as standard output, and waits where it is full. The stream stays open. */
export const toStream = (stream: Writable): CassetteSink => {
  const write = (line: string): void | Promise<void> => writer.write(line) as void | Promise<void>
  const writer = streamWriter(stream, 'leave')
  return write
}

const streamWriter = (stream: Writable, atEnd: 'end' | 'leave'): LineWriter => {
  let failure: Error | undefined
  const failed = new Promise<never>((_resolve, reject) => {
    stream.once('error', (error) => {
      failure = error
      reject(error)
    })
  })
  // Told with the next line, if there is one.
  failed.catch(() => undefined)
  return {
    write: (line) => {
      if (failure !== undefined) throw failure
      if (stream.write(`${line}\n`)) return undefined
      return Promise.race([failed, new Promise<void>((resolve) => stream.once('drain', resolve))])
    },
    end: () => {
      if (failure !== undefined) throw failure
      if (atEnd === 'leave') return undefined
      return Promise.race([
        failed,
        new Promise<void>((resolve, reject) => {
          stream.end((error?: Error | null) => (error ? reject(error) : resolve()))
        }),
      ])
    },
  }
}
