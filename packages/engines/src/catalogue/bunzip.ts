import { basename } from 'node:path'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { findWorkerFile } from '../threads/package-files.js'
import { startThread } from '../threads/worker-thread.js'
import type { BunzipSettings, FromBunzip } from './bunzip-worker.js'

/**
 * Decompresses a bzip2 file, a piece at a time, in a thread of its own; the thread waits while pieces are not taken,
 * and ends when the iteration does.
 *
 * Throws `invalid-model` if the file is not bzip2 or is damaged, `missing-dependency`, and the reason of the signal.
 */
export async function* bunzip(file: string, signal: AbortSignal): AsyncGenerator<Uint8Array, undefined> {
  const pending = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const workerData: BunzipSettings = { type: 'rxspeech-bunzip', file, pending }
  const received: FromBunzip[] = []
  let wake = (): void => undefined
  const receive = (message: FromBunzip): void => {
    received.push(message)
    wake()
  }
  const fault = (sentence: string): FromBunzip => ({ type: 'fault', code: 'invalid-model', sentence })
  const worker = startThread<FromBunzip>(
    findWorkerFile(__dirname, 'catalogue/bunzip-worker.js', 'The thread that unpacks models'),
    { workerData, name: 'rxspeech-bunzip' },
    {
      message: receive,
      ended: (cause) => receive(fault(cause instanceof Error ? cause.message : 'Its thread ended.')),
    },
  )
  const abort = (): void => wake()
  signal.addEventListener('abort', abort)
  try {
    for (;;) {
      signal.throwIfAborted()
      const message = received.shift()
      if (message === undefined) await new Promise<void>((resolve) => (wake = resolve))
      else if (message.type === 'end') return undefined
      else if (message.type === 'fault') throw unpackFault(file, message)
      else {
        yield message.bytes
        Atomics.sub(pending, 0, 1)
        Atomics.notify(pending, 0)
      }
    }
  } finally {
    signal.removeEventListener('abort', abort)
    await worker.terminate()
  }
}

const unpackFault = (file: string, { code, sentence }: Extract<FromBunzip, { type: 'fault' }>): SpeechError =>
  code === 'missing-dependency'
    ? new SpeechError(code, sentence)
    : new SpeechError(code, `${basename(file)} is not a whole .tar.bz2 archive (${sentence.replace(/\.$/, '')}).`)
