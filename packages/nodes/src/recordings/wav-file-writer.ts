import { mkdir, open, rm, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { type AudioFormat, bytesPerFrame } from 'rxspeech-server/nodes'
import { wavHeader } from 'rxspeech/internal/audio/wav-header'
import { codeOf, SpeechError, toSpeechError } from 'rxspeech/internal/errors/speech-error'

/** The size of a write: four seconds of the smallest audio, a third of a second of the largest. */
const blockBytes = 64 * 1024
/** How much audio may wait for the disk before the recording fails. */
const maxWaitingBytes = 4 * 1024 * 1024
const maxNames = 100

/** An error with the code of the system, such as ENOSPC, and without a path. */
const writeFault = (cause: unknown): SpeechError =>
  new SpeechError('internal', `The recording cannot be written (${codeOf(cause) ?? 'unknown'}).`, { cause })

interface OpenFile {
  readonly name: string
  readonly path: string
  readonly file: FileHandle
}

/** Creates a file that only its owner can read. If the name is taken, as by a reopened node, it gets a number. */
const openNew = async (folder: string, name: string): Promise<OpenFile> => {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw writeFault(error)
  }
  for (let number = 1; number <= maxNames; number += 1) {
    const numbered = number === 1 ? `${name}.wav` : `${name}-${number}.wav`
    const path = join(folder, numbered)
    try {
      return { name: numbered, path, file: await open(path, 'wx', 0o600) }
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw writeFault(error)
    }
  }
  throw new SpeechError('internal', 'There are too many recordings of this name already.')
}

/**
 * Writes one WAV file in blocks, one after another. The file is created with the first audio, so no file is empty. A
 * failure does not throw: it is available as `fault`, and `close` rejects with it.
 */
export class WavFileWriter {
  readonly #folder: string
  readonly #name: string
  readonly #format: AudioFormat
  readonly #onProgress: () => void
  #open: OpenFile | undefined
  #fault: SpeechError | undefined
  #block = new Uint8Array(blockBytes)
  #filled = 0
  /** Bytes that are not written yet, without those in the present block. */
  #waitingBytes = 0
  #dataBytes = 0
  #writing: Promise<void> | undefined

  /** Calls `onProgress`, never synchronously, after each write and failure. */
  constructor(folder: string, name: string, format: AudioFormat, onProgress: () => void) {
    this.#folder = folder
    this.#name = name
    this.#format = format
    this.#onProgress = onProgress
  }

  get waitingBytes(): number {
    return this.#waitingBytes
  }

  get dataBytes(): number {
    return this.#dataBytes
  }

  get fault(): SpeechError | undefined {
    return this.#fault
  }

  /** Takes whole frames. Never waits; see `waitingBytes`. */
  add(bytes: Uint8Array): void {
    this.#dataBytes += bytes.byteLength
    for (let from = 0; from < bytes.byteLength;) {
      const part = bytes.subarray(from, from + blockBytes - this.#filled)
      this.#block.set(part, this.#filled)
      this.#filled += part.byteLength
      from += part.byteLength
      if (this.#filled === blockBytes) this.#queueBlock()
    }
    // Creates the file at once with some audio: a fault of the disk shows early, and a process that is killed leaves no
    // file with only a header.
    if (this.#writing === undefined) this.#queueBlock()
    if (this.#waitingBytes > maxWaitingBytes) {
      this.#fault ??= new SpeechError('internal', 'The disk is too slow for the recording.')
    }
  }

  /**
   * Writes the remaining audio and the sizes in the header, also after a fault, so that the written part is readable.
   * Resolves with the name of the file, or with undefined if there was no audio. Call it once.
   */
  async close(): Promise<string | undefined> {
    this.#queueBlock()
    if (this.#writing === undefined) return undefined
    await this.#writing
    const open = this.#open
    try {
      if (open !== undefined) await this.#complete(open)
    } catch (error) {
      this.#fault ??= writeFault(error)
    } finally {
      await open?.file.close().catch(() => undefined)
    }
    if (this.#fault !== undefined || open === undefined) {
      throw this.#fault ?? new SpeechError('internal', 'The recording was never opened.')
    }
    return open.name
  }

  /** A file without audio is removed: on a full disk each attempt would leave one. */
  async #complete({ file, path }: OpenFile): Promise<void> {
    const { size } = await file.stat()
    const headerBytes = wavHeader(this.#format).byteLength
    const written = Math.max(0, Math.min(this.#dataBytes, size - headerBytes))
    const whole = written - (written % bytesPerFrame(this.#format))
    if (whole === 0) return rm(path, { force: true })
    // RIFF pads a chunk of odd length with a zero byte.
    if (this.#fault === undefined && whole % 2 === 1) await file.write(new Uint8Array(1), 0, 1, headerBytes + whole)
    const header = wavHeader(this.#format, whole)
    await file.write(header, 0, header.byteLength, 0)
  }

  #queueBlock(): void {
    if (this.#filled === 0) return
    const block = this.#block.subarray(0, this.#filled)
    this.#block = new Uint8Array(blockBytes)
    this.#filled = 0
    this.#waitingBytes += block.byteLength
    this.#writing = (this.#writing ?? this.#begin()).then(async () => {
      await this.#write(block)
      this.#waitingBytes -= block.byteLength
      this.#onProgress()
    })
  }

  /** Never rejects. */
  async #begin(): Promise<void> {
    try {
      this.#open = await openNew(this.#folder, this.#name)
    } catch (error) {
      this.#fail(toSpeechError(error, 'internal', 'The recording cannot be written.'))
      return
    }
    await this.#write(wavHeader(this.#format))
  }

  /** Never rejects. */
  async #write(bytes: Uint8Array): Promise<void> {
    try {
      for (let from = 0; from < bytes.byteLength && this.#fault === undefined && this.#open !== undefined;) {
        from += (await this.#open.file.write(bytes, from)).bytesWritten
      }
    } catch (error) {
      this.#fail(writeFault(error))
    }
  }

  #fail(error: SpeechError): void {
    this.#fault ??= error
    this.#onProgress()
  }
}
