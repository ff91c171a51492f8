import { closeSync, ftruncateSync, openSync, realpathSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { extname } from 'node:path'
import { codeOf, SpeechError } from '../../errors/speech-error.js'

const utf8 = new TextEncoder()

/** Texts that may wait while the file cannot be written. */
const maxWaitingBytes = 2 ** 20

/**
 * A file that grows by whole texts. It appears under its name with its first content, in one step; a text that could be
 * written in part only is removed again. Synchronous.
 */
export class GrowingFile {
  readonly #path: string
  #descriptor: number | undefined
  /** The length of what is valid. */
  #length = 0
  #waiting: string[] = []
  #waitingBytes = 0
  #lostTexts = 0
  #isFailing = false
  #fault: SpeechError | undefined

  constructor(path: string) {
    this.#path = path
  }

  /** What went wrong since the last call: the first failure until writing succeeds again, or texts that are missing. */
  takeFault(): SpeechError | undefined {
    const fault = this.#fault
    this.#fault = undefined
    return fault
  }

  /**
   * Returns the texts that are in the file now: this one and those before it that waited, or none. An empty text creates
   * the file, and is another attempt for those that wait.
   */
  append(text: string): readonly string[] {
    if (text !== '') this.#keep(text)
    const texts = this.#waiting
    try {
      this.#write(texts.join(''))
    } catch (error) {
      this.#fail(error)
      return []
    }
    this.#waiting = []
    this.#waitingBytes = 0
    this.#isFailing = false
    this.#reportLost()
    return texts
  }

  /** Leaves a valid file. */
  close(): void {
    if (this.#waiting.length > 0) this.append('')
    this.#lostTexts += this.#waiting.length
    this.#waiting = []
    this.#reportLost()
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }

  #keep(text: string): void {
    const bytes = utf8.encode(text).length
    if (this.#waitingBytes + bytes > maxWaitingBytes && this.#waiting.length > 0) this.#lostTexts += 1
    else {
      this.#waiting.push(text)
      this.#waitingBytes += bytes
    }
  }

  #write(text: string): void {
    if (this.#descriptor === undefined) this.#create(text)
    else if (text !== '') this.#writeAll(this.#descriptor, text)
  }

  /** A reader of the name sees the file before, or the new one with its first content. */
  #create(text: string): void {
    const known = statSync(this.#path, { throwIfNoEntry: false })
    if (known?.isFile() === false) throw new Error('it is no regular file')
    const path = known === undefined ? this.#path : realpathSync(this.#path)
    const created = `${path}.new`
    const descriptor = openSync(created, 'w', 0o600)
    try {
      this.#writeAll(descriptor, text)
      renameSync(created, path)
      this.#descriptor = descriptor
    } catch (error) {
      this.#length = 0
      closeSync(descriptor)
      rmSync(created, { force: true })
      throw error
    }
  }

  #writeAll(descriptor: number, text: string): void {
    const bytes = utf8.encode(text)
    try {
      for (let at = 0; at < bytes.length;) {
        at += writeSync(descriptor, bytes, at, bytes.length - at, this.#length + at)
      }
    } catch (error) {
      ftruncateSync(descriptor, this.#length)
      throw error
    }
    this.#length += bytes.length
  }

  #fail(error: unknown): void {
    if (this.#isFailing) return
    this.#isFailing = true
    const reason = codeOf(error) ?? (error instanceof Error ? error.message : 'unknown')
    const message = `${this.#path} cannot be written (${reason}); check its folder and the disk.`
    this.#fault = new SpeechError('write-failed', message, { cause: error })
  }

  #reportLost(): void {
    if (this.#lostTexts === 0) return
    const texts = this.#lostTexts === 1 ? 'a text' : `${this.#lostTexts} texts`
    const message = `${this.#path} lacks ${texts} that could not be written in time; check its folder and the disk.`
    this.#fault = new SpeechError('write-failed', message)
    this.#lostTexts = 0
  }
}

/** `call.vtt`, `call-2.vtt`, … */
export const numberedPath = (path: string, count: number): string => {
  const extension = extname(path)
  return count === 1 ? path : `${path.slice(0, path.length - extension.length)}-${count}${extension}`
}
