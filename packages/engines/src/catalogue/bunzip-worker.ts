import { closeSync, openSync, readSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import type * as SeekBzip from 'seek-bzip'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import { requireOptional } from '../threads/load-optional.js'

/** What the thread is started with. */
export interface BunzipSettings {
  readonly type: 'rxspeech-bunzip'
  readonly file: string
  /** How many pieces were sent and are not taken yet. */
  readonly pending: Int32Array
}

/** Messages of the thread. */
export type FromBunzip =
  | { readonly type: 'piece'; readonly bytes: Uint8Array }
  | { readonly type: 'end' }
  /** The file is not bzip2, or damaged; or the package is missing. */
  | { readonly type: 'fault'; readonly code: 'invalid-model' | 'missing-dependency'; readonly sentence: string }

const pieceBytes = 262_144
/** So that memory is bounded, however fast the file can be read. */
const maxPending = 8

const isSettings = (data: unknown): data is BunzipSettings =>
  typeof data === 'object' && data !== null && 'type' in data && data.type === 'rxspeech-bunzip'

/** The package reads and writes synchronously, byte by byte: in this thread nothing else waits for it. */
const run = ({ file, pending }: BunzipSettings, post: (message: FromBunzip) => void): void => {
  const { Stream, decode } = requireOptional('seek-bzip', 'An archive of a model', __filename) as typeof SeekBzip
  const descriptor = openSync(file, 'r')
  const buffer = Buffer.alloc(pieceBytes)
  let [at, end] = [0, 0]
  const fill = (): boolean => {
    if (at < end) return true
    end = readSync(descriptor, buffer, 0, buffer.length, null)
    at = 0
    return end > 0
  }
  let piece = new Uint8Array(pieceBytes)
  let length = 0
  const send = (): void => {
    if (length > 0) post({ type: 'piece', bytes: piece.subarray(0, length) })
    piece = new Uint8Array(pieceBytes)
    length = 0
    for (let count = Atomics.add(pending, 0, 1) + 1; count > maxPending; count = Atomics.load(pending, 0)) {
      Atomics.wait(pending, 0, count)
    }
  }
  const input = Object.assign(new Stream(), {
    readByte: () => {
      if (!fill()) throw new TypeError('It ends early.')
      return buffer[at++] ?? -1
    },
    eof: () => !fill(),
  })
  const output = Object.assign(new Stream(), {
    writeByte: (byte: number) => {
      piece[length++] = byte
      if (length === pieceBytes) send()
    },
  })
  try {
    decode(input, output, true)
    send()
    post({ type: 'end' })
  } finally {
    closeSync(descriptor)
  }
}

if (isSettings(workerData)) {
  const post = (message: FromBunzip): void => parentPort?.postMessage(message)
  try {
    run(workerData, post)
  } catch (error) {
    const code = isSpeechError(error) ? 'missing-dependency' : 'invalid-model'
    post({ type: 'fault', code, sentence: error instanceof Error ? error.message : String(error) })
  }
}
