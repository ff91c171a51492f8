import { createReadStream } from 'node:fs'
import { either } from 'fp-ts'
import { SpeechError, toSpeechError } from '../errors/speech-error.js'
import { checkOption, wholeNumber } from '../protocol/validation.js'
import type { Cassette, CassetteHeader, CassetteLine } from './cassette.js'
import { readHeader, readLine } from './cassette-codec.js'

export interface ReadCassetteOptions {
  /** The most bytes of a whole cassette. Default 256 MiB. */
  readonly maxBytes?: number
  /** The most bytes of one line. Default 4 MiB, for the largest message of a link takes 1.4 MiB. */
  readonly maxLineBytes?: number
}

/**
 * Reads a cassette: its text, or its lines. Unknown fields are ignored; empty lines too.
 *
 * @throws SpeechError `invalid-json`, `invalid-field` or `message-too-big`, with the number of the line and what was
 * expected there. What stood there is never repeated.
 */
export const parseCassette = (text: string | Iterable<string>, options: ReadCassetteOptions = {}): Cassette => {
  const reader = new CassetteReader(options)
  for (const line of typeof text === 'string' ? text.split('\n') : text) reader.take(line)
  return reader.end()
}

/** Reads a cassette from a file, line by line; rejects as `parseCassette` throws, and `source-failed` when it cannot be read. */
export const readCassette = async (path: string | URL, options: ReadCassetteOptions = {}): Promise<Cassette> => {
  const reader = new CassetteReader(options)
  let rest = ''
  try {
    for await (const part of createReadStream(path, 'utf8') as AsyncIterable<string>) {
      const lines = (rest + part).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) reader.take(line)
      reader.checkRest(rest)
    }
  } catch (error) {
    throw toSpeechError(error, 'source-failed', 'The cassette cannot be read; see the cause.')
  }
  reader.take(rest)
  return reader.end()
}

const tooLong = (maxBytes: number): SpeechError =>
  new SpeechError('message-too-big', `The cassette is larger than the ${maxBytes} bytes allowed; raise maxBytes.`)

/** Takes the lines in turn, and refuses the first that cannot stand where it does. */
class CassetteReader {
  readonly #maxBytes: number
  readonly #maxLineBytes: number
  #header: CassetteHeader | undefined
  readonly #lines: CassetteLine[] = []
  readonly #connections = new Map<number, 'dialled' | 'open' | 'over'>()
  #lineNumber = 0
  #sizeBytes = 0
  #nowMs = 0
  #state: 'running' | 'holed' | 'ended' = 'running'

  constructor({ maxBytes = 256 * 1024 * 1024, maxLineBytes = 4 * 1024 * 1024 }: ReadCassetteOptions) {
    this.#maxBytes = checkOption('maxBytes', wholeNumber({ min: 1 }), maxBytes)
    this.#maxLineBytes = checkOption('maxLineBytes', wholeNumber({ min: 1 }), maxLineBytes)
  }

  take(text: string): void {
    this.#lineNumber += 1
    const sizeBytes = Buffer.byteLength(text)
    this.#sizeBytes += sizeBytes + 1
    if (this.#sizeBytes > this.#maxBytes + 1) throw tooLong(this.#maxBytes)
    if (sizeBytes > this.#maxLineBytes) throw this.#at(this.#longLine())
    if (text.trim() === '') return
    if (this.#header === undefined) this.#header = this.#right(readHeader(text))
    else this.#add(this.#right(readLine(text)))
  }

  /** What has come of the next line so far: one that never ends must not be gathered whole before it is refused. */
  checkRest(text: string): void {
    if (text.length <= this.#maxLineBytes) return
    this.#lineNumber += 1
    throw this.#at(this.#longLine())
  }

  end(): Cassette {
    if (this.#header === undefined)
      throw new SpeechError('invalid-json', 'The cassette is empty; line 1 must be its header.')
    return { header: this.#header, lines: this.#lines }
  }

  #add(line: CassetteLine): void {
    if (this.#state === 'ended') this.#refuse('event must not follow "end"; one file is one session.')
    if (line.atMs < this.#nowMs) this.#refuse(`atMs must be at least that of the line before, ${this.#nowMs}.`)
    this.#nowMs = line.atMs
    if (line.event === 'end') this.#state = 'ended'
    else if (line.event === 'lost') this.#state = 'holed'
    else this.#follow(line)
    this.#lines.push(line)
  }

  /** Each connection is dialled, opens, and ends; where lines are lost, so may be these. */
  #follow(line: Exclude<CassetteLine, { readonly event: 'lost' | 'end' }>): void {
    const { event, connection } = line
    const was = this.#connections.get(connection)
    const expected = event === 'dial' ? undefined : event === 'open' || event === 'dial-failed' ? 'dialled' : 'open'
    const fits = was === expected || (event === 'close' && was === 'dialled')
    if (!fits && this.#state !== 'holed') {
      const must = event === 'dial' ? 'new' : event === 'open' ? 'one that was dialled' : 'one that is open'
      this.#refuse(`connection must be ${must}, for event "${event}".`)
    }
    if (event === 'dial') this.#connections.set(connection, 'dialled')
    else if (event === 'open') this.#connections.set(connection, 'open')
    else if (event === 'close' || event === 'ended' || event === 'dial-failed')
      this.#connections.set(connection, 'over')
  }

  #right<A>(read: either.Either<SpeechError, A>): A {
    if (either.isRight(read)) return read.right
    throw this.#at(read.left)
  }

  #refuse(sentence: string): never {
    throw this.#at(new SpeechError('invalid-field', sentence))
  }

  #longLine(): SpeechError {
    const sentence = `The line is larger than the ${this.#maxLineBytes} bytes allowed; raise maxLineBytes.`
    return new SpeechError('message-too-big', sentence)
  }

  #at({ code, message }: SpeechError): SpeechError {
    return new SpeechError(code, `Line ${this.#lineNumber} of the cassette: ${message}`)
  }
}
