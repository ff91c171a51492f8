import { randomUUID } from 'node:crypto'
import { open, rm, type FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

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
      await pipeline(source, handle.createWriteStream({ autoClose: false, start: 0 }))
      return new Upload(handle, named, (await handle.stat()).size)
    } catch (error) {
      await new Upload(handle, named, 0).remove()
      throw error
    }
  }

  read(): AsyncIterable<Uint8Array> {
    return this.#handle.createReadStream({ autoClose: false, start: 0 })
  }

  async remove(): Promise<void> {
    await this.#handle.close()
    if (this.#path !== undefined) await rm(this.#path, { force: true })
  }
}
