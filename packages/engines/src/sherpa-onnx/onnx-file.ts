import { open, type FileHandle } from 'node:fs/promises'

/** The metadata of an ONNX file. */
export interface OnnxFacts {
  readonly metadata: Readonly<Record<string, string>>
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
}

/** A field of a message of Protocol Buffers that has a length, as all that are read here. */
interface Field {
  readonly number: number
  readonly at: number
  readonly end: number
}

const windowBytes = 65_536
const maxHeaderBytes = 20
/** No name and no value that is read here is longer. */
const maxTextBytes = 65_536

/** Reads places of a file through a window, because fields are small, and tensors are skipped. */
class Window {
  readonly #file: FileHandle
  readonly #buffer = Buffer.alloc(windowBytes)
  #from = 0
  #filled = 0

  constructor(file: FileHandle) {
    this.#file = file
  }

  /** The bytes from `at` on, fewer than `count` at the end of the file. */
  async read(at: number, count: number): Promise<Buffer> {
    if (at < this.#from || at + count > this.#from + this.#filled) {
      this.#from = at
      this.#filled = (await this.#file.read(this.#buffer, 0, windowBytes, at)).bytesRead
    }
    return this.#buffer.subarray(at - this.#from, Math.min(at - this.#from + count, this.#filled))
  }
}

/** A varint and the place behind it; undefined if the bytes end within it. */
const varint = (bytes: Buffer, start: number): readonly [value: number, next: number] | undefined => {
  let value = 0
  let factor = 1
  for (let at = start; at < Math.min(bytes.length, start + 10); at += 1) {
    const byte = bytes[at] ?? 0
    value += (byte & 127) * factor
    factor *= 128
    if (byte < 128) return [value, at + 1]
  }
  return undefined
}

/** The fields between two places; throws if they are not those of a message. */
async function* fieldsOf(window: Window, from: number, end: number): AsyncGenerator<Field> {
  for (let at = from; at < end;) {
    const bytes = await window.read(at, maxHeaderBytes)
    const [tag, afterTag] = varint(bytes, 0) ?? broken()
    const fixedBytes = { 1: 8, 5: 4 }[tag & 7]
    if (fixedBytes !== undefined) at += afterTag + fixedBytes
    else {
      const [value, next] = varint(bytes, afterTag) ?? broken()
      const start = at + next
      if ((tag & 7) === 2) yield { number: Math.floor(tag / 8), at: start, end: start + value }
      else if ((tag & 7) !== 0) broken()
      at = start + ((tag & 7) === 2 ? value : 0)
    }
    if (at > end) broken()
  }
}

const broken = (): never => {
  throw new RangeError('no whole message')
}

const textOf = async (window: Window, { at, end }: Field): Promise<string> =>
  (await window.read(at, Math.min(end - at, maxTextBytes - maxHeaderBytes))).toString()

/** The texts of the first fields of a message with these numbers. */
const textsOf = async (window: Window, field: Field, numbers: readonly number[]): Promise<readonly string[]> => {
  const texts = new Map<number, string>()
  for await (const part of fieldsOf(window, field.at, field.end)) {
    if (numbers.includes(part.number) && !texts.has(part.number)) texts.set(part.number, await textOf(window, part))
  }
  return numbers.map((number) => texts.get(number) ?? '')
}

/**
 * Reads the structure of a file of ONNX (onnx.proto3 has the numbers of its fields), but not its tensors. Undefined if
 * it is none, or not whole: the native library ends its process then.
 */
export const readOnnxFile = async (path: string): Promise<OnnxFacts | undefined> => {
  const file = await open(path)
  try {
    const window = new Window(file)
    const { size } = await file.stat()
    const metadata: Record<string, string> = {}
    const inputs: string[] = []
    const outputs: string[] = []
    let hasGraph = false
    for await (const field of fieldsOf(window, 0, size)) {
      if (field.end > size) return undefined
      if (field.number === 14) {
        const [key = '', value = ''] = await textsOf(window, field, [1, 2])
        metadata[key] = value
      } else if (field.number === 7) {
        hasGraph = true
        for await (const part of fieldsOf(window, field.at, field.end)) {
          if (part.number === 11) inputs.push(...(await textsOf(window, part, [1])))
          if (part.number === 12) outputs.push(...(await textsOf(window, part, [1])))
        }
      }
    }
    return hasGraph ? { metadata, inputs, outputs } : undefined
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  } finally {
    await file.close()
  }
}
