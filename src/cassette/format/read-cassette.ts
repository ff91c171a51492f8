import { createReadStream } from 'node:fs'
import { either } from 'fp-ts'
import { SpeechError, toSpeechError } from '../../errors/speech-error.js'
import { checkOptions, optionsOf, wholeNumber } from '../../protocol/validation.js'
import type { Cassette, CassetteHeader, CassetteLine } from './cassette.js'
import { readHeader, readLine } from './codec.js'

/** Limits for reading a cassette. */
export interface ReadCassetteOptions {
  /** The maximum size of a cassette in bytes. @default 268435456 (256 MiB) */
  readonly maxBytes?: number | undefined
  /**
   * The maximum size of one line in bytes. The default leaves room for the largest message of a link, which takes 1.4
   * MiB. @default 4194304 (4 MiB)
   */
  readonly maxLineBytes?: number | undefined
}

const readCassetteOptions = optionsOf<ReadCassetteOptions>()(
  {},
  { maxBytes: wholeNumber({ min: 1 }), maxLineBytes: wholeNumber({ min: 1 }) },
)

/**
 * Reads a cassette from its text or its lines. Ignores unknown fields and empty lines.
 *
 * @throws SpeechError `invalid-json`, `invalid-field` or `message-too-big`. The message has the line number and what
 * was expected there, but not the content of the line, which may be secret.
 * @example
 * const { header, lines } = parseCassette(readFileSync('call.jsonl', 'utf8'))
 */
export const parseCassette = (text: string | Iterable<string>, options: ReadCassetteOptions = {}): Cassette => {
  const reader = new CassetteReader(options)
  for (const line of typeof text === 'string' ? text.split('\n') : text) reader.add(line)
  return reader.end()
}

/**
 * Reads a cassette from a file, line by line. Rejects with the errors of `parseCassette`, or with `source-failed` if
 * the file cannot be read.
 *
 * @example
 * const cassette = await readCassette('call.jsonl')
 */
export const readCassette = async (path: string | URL, options: ReadCassetteOptions = {}): Promise<Cassette> => {
  const reader = new CassetteReader(options)
  let rest = ''
  try {
    for await (const part of createReadStream(path, 'utf8') as AsyncIterable<string>) {
      const lines = (rest + part).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) reader.add(line)
      reader.checkPartialLine(rest)
    }
  } catch (error) {
    throw toSpeechError(error, 'source-failed', 'The cassette cannot be read; see the cause.')
  }
  reader.add(rest)
  return reader.end()
}

const cassetteTooBig = (maxBytes: number): SpeechError =>
  new SpeechError('message-too-big', `The cassette is larger than the ${maxBytes} bytes allowed; raise maxBytes.`)

/** Collects the lines and throws at the first one that is invalid or in the wrong place. */
class CassetteReader {
  readonly #maxBytes: number
  readonly #maxLineBytes: number
  #header: CassetteHeader | undefined
  readonly #lines: CassetteLine[] = []
  readonly #connections = new Map<number, 'dialled' | 'open' | 'ended'>()
  #lineNumber = 0
  #sizeBytes = 0
  #nowMs = 0
  #state: 'complete' | 'incomplete' | 'ended' = 'complete'

  constructor(options: ReadCassetteOptions) {
    const { maxBytes = 256 * 1024 * 1024, maxLineBytes = 4 * 1024 * 1024 } = checkOptions(readCassetteOptions, options)
    this.#maxBytes = maxBytes
    this.#maxLineBytes = maxLineBytes
  }

  add(text: string): void {
    this.#lineNumber += 1
    const sizeBytes = Buffer.byteLength(text)
    this.#sizeBytes += sizeBytes + 1
    if (this.#sizeBytes > this.#maxBytes + 1) throw cassetteTooBig(this.#maxBytes)
    if (sizeBytes > this.#maxLineBytes) throw this.#locate(this.#lineTooBig())
    if (text.trim() === '') return
    if (this.#header === undefined) this.#header = this.#valueOf(readHeader(text))
    else this.#addLine(this.#valueOf(readLine(text)))
  }

  /** Checks the beginning of the next line, so that a line without an end is refused before all of it is in memory. */
  checkPartialLine(text: string): void {
    if (text.length <= this.#maxLineBytes) return
    this.#lineNumber += 1
    throw this.#locate(this.#lineTooBig())
  }

  end(): Cassette {
    if (this.#header === undefined)
      throw new SpeechError('invalid-json', 'The cassette is empty; line 1 must be its header.')
    return { header: this.#header, lines: this.#lines }
  }

  #addLine(line: CassetteLine): void {
    if (this.#state === 'ended') this.#refuse('event must not follow "end"; one file is one session.')
    if (line.atMs < this.#nowMs) this.#refuse(`atMs must be at least that of the line before, ${this.#nowMs}.`)
    this.#nowMs = line.atMs
    if (line.event === 'end') this.#state = 'ended'
    else if (line.event === 'lost') this.#state = 'incomplete'
    else this.#updateConnection(line)
    this.#lines.push(line)
  }

  /** Each connection is dialled, opens and ends. Not checked after lost lines, which may be among them. */
  #updateConnection(line: Exclude<CassetteLine, { readonly event: 'lost' | 'end' }>): void {
    const { event, connection } = line
    const state = this.#connections.get(connection)
    const expected = event === 'dial' ? undefined : event === 'open' || event === 'dial-failed' ? 'dialled' : 'open'
    const isExpected = state === expected || (event === 'close' && state === 'dialled')
    if (!isExpected && this.#state !== 'incomplete') {
      const required = event === 'dial' ? 'new' : event === 'open' ? 'one that was dialled' : 'one that is open'
      this.#refuse(`connection must be ${required}, for event "${event}".`)
    }
    if (event === 'dial') this.#connections.set(connection, 'dialled')
    else if (event === 'open') this.#connections.set(connection, 'open')
    else if (event === 'close' || event === 'ended' || event === 'dial-failed')
      this.#connections.set(connection, 'ended')
  }

  #valueOf<A>(read: either.Either<SpeechError, A>): A {
    if (either.isRight(read)) return read.right
    throw this.#locate(read.left)
  }

  #refuse(sentence: string): never {
    throw this.#locate(new SpeechError('invalid-field', sentence))
  }

  #lineTooBig(): SpeechError {
    const sentence = `The line is larger than the ${this.#maxLineBytes} bytes allowed; raise maxLineBytes.`
    return new SpeechError('message-too-big', sentence)
  }

  #locate({ code, message }: SpeechError): SpeechError {
    return new SpeechError(code, `Line ${this.#lineNumber} of the cassette: ${message}`)
  }
}
