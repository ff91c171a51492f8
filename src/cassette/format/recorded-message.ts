import { createHash } from 'node:crypto'
import { either } from 'fp-ts'
import { DataflowProtocol } from '../../client/dataflow/protocol.js'
import { RecognizerProtocol } from '../../client/recognizer/protocol.js'
import { ownValue, parseJsonObject } from '../../protocol/parse-json.js'
import type { SessionEvent } from '../../protocol/session-event.js'
import type { DataflowMessage, SocketMessage } from '../../transport/link.js'
import type { AudioStorage, CassetteHeader, RecordedMessage } from './cassette.js'

/** A message of either transport: a text or bytes on the socket, an envelope that can hold both on the stream. */
export type WireMessage = SocketMessage | DataflowMessage

/** Converts a message for the file. `redact` removes the secrets from a text. */
export const recordMessage = (
  message: WireMessage,
  audio: AudioStorage,
  redact: (text: string) => string,
): RecordedMessage => {
  if (typeof message === 'string') return { text: redact(message) }
  if (isBytes(message)) return recordBytes(message, audio)
  const { contentType, content, binaryContent } = message
  return {
    contentType,
    text: content === '' ? undefined : redact(content),
    ...(binaryContent.length === 0 ? undefined : recordBytes(binaryContent, audio)),
  }
}

/** Checks a property because `instanceof` fails for objects of another realm. */
export const isBytes = (message: Uint8Array | DataflowMessage): message is Uint8Array => 'BYTES_PER_ELEMENT' in message

const recordBytes = (bytes: Uint8Array, audio: AudioStorage): RecordedMessage => ({
  bytes: bytes.length,
  ...(audio === 'sha256'
    ? { sha256: createHash('sha256').update(bytes).digest('hex') }
    : { base64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64') }),
})

const noBytes = new Uint8Array(0)

/** The bytes of a recorded message; if only the hash was recorded, as many zeros. */
export const recordedBytes = ({ bytes = 0, base64 }: RecordedMessage): Uint8Array => {
  if (base64 === undefined) return new Uint8Array(bytes)
  const { buffer, byteOffset, length } = Buffer.from(base64, 'base64')
  return new Uint8Array(buffer, byteOffset, length)
}

export const socketMessageOf = (recorded: RecordedMessage): SocketMessage => recorded.text ?? recordedBytes(recorded)

export const dataflowMessageOf = (recorded: RecordedMessage): DataflowMessage => ({
  contentType: recorded.contentType ?? 0,
  content: recorded.text ?? '',
  binaryContent: recorded.bytes === undefined ? noBytes : recordedBytes(recorded),
})

/** A short description of a message: its name, or the size of its audio. */
export const describeMessage = ({ text, bytes = 0 }: RecordedMessage): string =>
  text === undefined ? `${bytes} bytes of audio` : (nameOf(text) ?? 'a text without a name')

/** The kind of a message: messages of the same kind are the same step of a session, regardless of their fields. */
export const kindOf = ({ text }: RecordedMessage): string =>
  text === undefined ? 'audio' : (nameOf(text)?.toLowerCase() ?? 'text')

const nameOf = (text: string): string | undefined =>
  fieldOf(text, 'MessageName', 'message-name')?.slice(0, 64) ?? vendorTypeOf(text)

/** The name of a message of the OpenAI or the Deepgram interface, which a stand-in records. */
export const vendorTypeOf = (text = ''): string | undefined => fieldOf(text, 'type')?.slice(0, 64)

/** How much audio a message has: as bytes, or as base64 in a text of the OpenAI interface. */
export const audioBytesOf = ({ text, bytes = 0 }: RecordedMessage): number =>
  text === undefined ? bytes : Buffer.byteLength(fieldOf(text, 'audio') ?? '', 'base64')

const fieldOf = (text: string, ...names: readonly string[]): string | undefined => {
  const json = parseJsonObject(text)
  if (either.isLeft(json)) return undefined
  return names.map((name) => ownValue(json.right, name)).find((value) => typeof value === 'string')
}

/** Decodes the messages of one connection as its session would. */
export interface EventReader {
  /** Takes a message of the client: a plain service does not name its responses, so the request gives their meaning. */
  readonly addRequest: (message: RecordedMessage) => void
  readonly readEvent: (message: RecordedMessage) => SessionEvent
}

export const createEventReader = ({ transport, format }: CassetteHeader): EventReader => {
  if (transport === 'websocket') {
    const request = { audioFormat: 'pcm', modelName: '', sampleRateHz: format.sampleRateHz } as const
    const protocol = new RecognizerProtocol(request, 'pcm')
    return {
      addRequest: () => undefined,
      readEvent: (message) => protocol.read(socketMessageOf(message)).event,
    }
  }
  const protocol = new DataflowProtocol({
    start: { audio: format, tenant: '', projectName: '' },
    dialect: 'pascal',
  })
  const requests: Readonly<Record<string, () => unknown>> = {
    start: () => protocol.start(''),
    finalize: () => protocol.finalize(),
    stop: () => protocol.stop(),
  }
  return {
    addRequest: (message) => requests[kindOf(message)]?.(),
    readEvent: (message) => protocol.read(dataflowMessageOf(message)).event,
  }
}
