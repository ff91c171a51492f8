// The messages of Wyoming: a line of JSON, then `data_length` bytes of JSON, then `payload_length` bytes.
import { isJsonObject, type JsonObject } from 'rxspeech/internal/protocol/json-object'
import { ownValue, parseJson } from 'rxspeech/internal/protocol/parse-json'

export interface WyomingMessage {
  readonly type: string
  readonly data: JsonObject
  /** The length of the bytes behind it, which no message to a client needs. */
  readonly payloadBytes: number
}

const lineFeed = 10
/** That of the servers in Python. */
const maxHeaderBytes = 64 * 1024
/** The description of a server with hundreds of models. */
const maxBodyBytes = 4 * 1_048_576

export const writeMessage = (type: string, data?: JsonObject, payload: Uint8Array = new Uint8Array(0)): Uint8Array => {
  const body = data === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(data))
  const header = {
    type,
    ...(body.length > 0 && { data_length: body.length }),
    ...(payload.length > 0 && { payload_length: payload.length }),
  }
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), body, payload])
}

const lengthIn = (header: JsonObject, name: string): number | undefined => {
  const value = ownValue(header, name) ?? 0
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= maxBodyBytes ? value : undefined
}

const objectOf = (value: unknown): JsonObject => (isJsonObject(value) ? value : {})

/** Collects the bytes of a connection to messages. */
export class MessageReader {
  #held = Buffer.alloc(0)

  /** The messages that are complete with these bytes; undefined if the bytes are no messages, or too long ones. */
  read(bytes: Uint8Array): readonly WyomingMessage[] | undefined {
    this.#held = Buffer.concat([this.#held, bytes])
    const messages: WyomingMessage[] = []
    for (;;) {
      const end = this.#held.indexOf(lineFeed)
      if (end === -1) return this.#held.length > maxHeaderBytes ? undefined : messages
      const header = parseJson(this.#held.toString('utf8', 0, end))
      const type = isJsonObject(header) ? ownValue(header, 'type') : undefined
      if (!isJsonObject(header) || typeof type !== 'string') return undefined
      const [dataLength, payloadLength] = [lengthIn(header, 'data_length'), lengthIn(header, 'payload_length')]
      if (dataLength === undefined || payloadLength === undefined) return undefined
      const dataStart = end + 1
      const next = dataStart + dataLength + payloadLength
      if (this.#held.length < next) return messages
      const separate = parseJson(this.#held.toString('utf8', dataStart, dataStart + dataLength))
      const data = { ...objectOf(ownValue(header, 'data')), ...objectOf(separate) }
      messages.push({ type, data, payloadBytes: payloadLength })
      this.#held = this.#held.subarray(next)
    }
  }
}
