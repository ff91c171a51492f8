import { randomUUID } from 'node:crypto'
import { open, rm, type FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'

/** How much is read at once. */
const partBytes = 65_536

/** A file that a client has sent. Only this process can read it, and it is gone with the process. */
export class Upload {
  readonly byteCount: number
  readonly #handle: FileHandle
  readonly #path: string | undefined

  private constructor(handle: FileHandle, path: string | undefined, byteCount: number) {
    this.#handle = handle
    this.#path = path
    this.byteCount = byteCount
  }

  /** Stores a stream to its end, whose length its source limits. Rejects with the error of the stream. */
  static async store(source: Readable): Promise<Upload> {
    const path = join(tmpdir(), `rxspeech-upload-${randomUUID()}`)
    const handle = await open(path, 'wx+', 0o600)
    // An open file needs no name, except on Windows.
    const isNameless = await rm(path).then(
      () => true,
      () => false,
    )
    const named = isNameless ? undefined : path
    try {
      let byteCount = 0
      for await (const part of source as AsyncIterable<Uint8Array>) {
        await handle.writeFile(part)
        byteCount += part.length
      }
      return new Upload(handle, named, byteCount)
    } catch (error) {
      await new Upload(handle, named, 0).remove()
      throw error
    }
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
