import { mkdir, open, rm, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { bytesPerFrame, type AudioFormat } from '../../../audio/format.js'
import { wavHeader } from '../../../audio/wav-header.js'
import { SpeechError, toSpeechError } from '../../../errors/speech-error.js'

/** Written at once: four seconds of the smallest audio, a third of a second of the largest. */
const blockBytes = 64 * 1024
/** Audio that may wait for the disk before the recording gives up, where nobody upstream waits for it. */
export const maxWaitingBytes = 4 * 1024 * 1024
const maxNames = 100

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown'

/** The system's word for it, such as ENOSPC, and no path. */
const writeFault = (cause: unknown): SpeechError =>
  new SpeechError('internal', `The recording cannot be written (${codeOf(cause)}).`, { cause })

interface OpenFile {
  readonly name: string
  readonly path: string
  readonly file: FileHandle
}

/**
 * Opens a file that was not there, for its owner alone; where the name is taken, as by a node that was opened anew, it
 * gets a number.
 */
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
 * One WAV file on its way to the disk: audio is put into blocks, the blocks are written in turn. It is made with the first
 * audio, so that there is never a file without. A fault never throws: it stands in `fault`, and `close` rejects with
 * it.
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
  /** Bytes that the disk has not taken yet, those in the block left out. */
  #waitingBytes = 0
  #dataBytes = 0
  #work: Promise<void> | undefined

  /** `onProgress` is called, never at once, whenever the disk took something or refused to. */
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

  /** Whole frames. Never waits; look at `waitingBytes`. */
  add(bytes: Uint8Array): void {
    this.#dataBytes += bytes.byteLength
    for (let from = 0; from < bytes.byteLength;) {
      const part = bytes.subarray(from, from + blockBytes - this.#filled)
      this.#block.set(part, this.#filled)
      this.#filled += part.byteLength
      from += part.byteLength
      if (this.#filled === blockBytes) this.#queueBlock()
    }
    // The file is made at once, with some audio in it: what is amiss with the disk shows, and a process that is killed leaves
    // no header alone.
    if (this.#work === undefined) this.#queueBlock()
    if (this.#waitingBytes > maxWaitingBytes) {
      this.#fault ??= new SpeechError('internal', 'The disk is too slow for the recording.')
    }
  }

  /**
   * Writes what is left and puts the sizes into the header, also after a fault, so that what was written can be read.
   * Gives the name of the file, undefined where there was no audio and so is none. It is closed however this ends. To be
   * called once.
   */
  async close(): Promise<string | undefined> {
    this.#queueBlock()
    if (this.#work === undefined) return undefined
    await this.#work
    const open = this.#open
    try {
      if (open !== undefined && (await this.#mendHeader(open.file)) === 0) await rm(open.path, { force: true })
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

  /** Gives how many bytes of audio the file has. */
  async #mendHeader(file: FileHandle): Promise<number> {
    const { size } = await file.stat()
    const headerBytes = wavHeader(this.#format).byteLength
    const written = Math.max(0, Math.min(this.#dataBytes, size - headerBytes))
    const whole = written - (written % bytesPerFrame(this.#format))
    // A chunk of an odd length is followed by a zero byte (RIFF).
    if (this.#fault === undefined && whole % 2 === 1) await file.write(new Uint8Array(1), 0, 1, headerBytes + whole)
    const header = wavHeader(this.#format, whole)
    await file.write(header, 0, header.byteLength, 0)
    return whole
  }

  #queueBlock(): void {
    if (this.#filled === 0) return
    const block = this.#block.subarray(0, this.#filled)
    this.#block = new Uint8Array(blockBytes)
    this.#filled = 0
    this.#waitingBytes += block.byteLength
    this.#work = (this.#work ?? this.#begin()).then(async () => {
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
