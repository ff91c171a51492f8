import { randomUUID } from 'node:crypto'
import { open, rm, type FileHandle } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, type Readable } from 'node:stream'
import { incompleteUpload, UploadError } from './upload-error.js'

/** How much is read at once. */
const partBytes = 65_536

/** The bounds of what a client sends. */
export interface UploadBounds {
  readonly maxBytes: number
  /** Aborted when the client has left, or must not continue, with the error of that as its reason. */
  readonly signal: AbortSignal
}

/**
 * A file that a client has sent. Only this process can read it, and it is gone with the process: it has no name, except
 * on Windows, where an open file must have one.
 */
export class Upload {
  readonly byteCount: number
  readonly #handle: FileHandle
  readonly #path: string | undefined

  private constructor(handle: FileHandle, path: string | undefined, byteCount: number) {
    this.#handle = handle
    this.#path = path
    this.byteCount = byteCount
  }

  /** Stores a stream to its end. Rejects with the error of the stream, or with `UploadError` for a longer one. */
  static async store(source: Readable, maxBytes: number): Promise<Upload> {
    const errors: Error[] = []
    // It can fail before it is read, and an error without a listener ends the process.
    source.on('error', (error) => errors.push(error))
    const path = join(tmpdir(), `rxspeech-upload-${randomUUID()}`)
    const writing = await open(path, 'wx', 0o600)
    // Another one, so that no reader can change the file, and each begins at its start.
    const handle = await open(path, 'r').catch(async (error: unknown) => {
      await writing.close()
      throw error
    })
    const isNameless = await rm(path).then(
      () => true,
      () => false,
    )
    const named = isNameless ? undefined : path
    try {
      let byteCount = 0
      const [early] = errors
      if (early !== undefined) throw early
      for await (const part of source as AsyncIterable<Uint8Array>) {
        byteCount += part.length
        if (byteCount > maxBytes) throw tooBig(maxBytes)
        await writing.writeFile(part)
      }
      return new Upload(handle, named, byteCount)
    } catch (error) {
      await new Upload(handle, named, 0).remove()
      throw error
    } finally {
      await writing.close()
    }
  }

  /** Stores the body of a request, which can still be answered if it is refused. */
  static async ofBody(request: IncomingMessage, { maxBytes, signal }: UploadBounds): Promise<Upload> {
    const body = new PassThrough()
    const end = (): void => {
      request.unpipe(body)
      body.destroy(signal.aborted ? (signal.reason as Error) : incompleteUpload())
    }
    const onClose = (): void => {
      if (!request.complete) end()
    }
    signal.addEventListener('abort', end, { once: true })
    request.once('close', onClose)
    try {
      request.pipe(body)
      return await Upload.store(body, maxBytes)
    } finally {
      request.unpipe(body)
      request.off('close', onClose)
      signal.removeEventListener('abort', end)
    }
  }

  /** The open file, which can only be read. */
  get fd(): number {
    return this.#handle.fd
  }

  /** The bytes of the file. A stream of Node would keep the handle from being closed. */
  async *read(): AsyncGenerator<Uint8Array, undefined> {
    let position = 0
    for (;;) {
      const { bytesRead, buffer } = await this.#handle.read({ buffer: Buffer.alloc(partBytes), position })
      if (bytesRead === 0) return
      position += bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  }

  async remove(): Promise<void> {
    await this.#handle.close()
    if (this.#path !== undefined) await rm(this.#path, { force: true })
  }
}

const tooBig = (maxBytes: number): UploadError =>
  new UploadError(413, 'file_too_large', `The file is longer than ${maxBytes} bytes; send it in parts, or compressed.`)
