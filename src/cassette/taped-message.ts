import { createHash } from 'node:crypto'
import type { DataflowMessage, SocketMessage } from '../transport/link.js'
import type { AudioKeeping, TapedMessage } from './cassette.js'

/** A message of either transport: a text or bytes on the socket, both in an envelope on the stream. */
export type WireMessage = SocketMessage | DataflowMessage

/** How a message is kept. `clean` takes the secrets out of a text. */
export const tape = (message: WireMessage, audio: AudioKeeping, clean: (text: string) => string): TapedMessage => {
  if (typeof message === 'string') return { text: clean(message) }
  if (isBytes(message)) return keptBytes(message, audio)
  const { contentType, content, binaryContent } = message
  return {
    contentType,
    ...(content === '' ? {} : { text: clean(content) }),
    ...(binaryContent.length === 0 ? {} : keptBytes(binaryContent, audio)),
  }
}

/** By its property, for `instanceof` fails between realms. */
const isBytes = (message: Uint8Array | DataflowMessage): message is Uint8Array => 'BYTES_PER_ELEMENT' in message

const keptBytes = (bytes: Uint8Array, audio: AudioKeeping): TapedMessage => ({
  bytes: bytes.length,
  ...(audio === 'sha256'
    ? { sha256: createHash('sha256').update(bytes).digest('hex') }
    : { base64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64') }),
})

const noBytes = new Uint8Array(0)

/** The bytes of a kept message; of one that is kept by hash, silence of that length. */
export const bytesOfTaped = ({ bytes = 0, base64 }: TapedMessage): Uint8Array => {
  if (base64 === undefined) return new Uint8Array(bytes)
  const { buffer, byteOffset, length } = Buffer.from(base64, 'base64')
  return new Uint8Array(buffer, byteOffset, length)
}

export const socketMessageOf = (taped: TapedMessage): SocketMessage => taped.text ?? bytesOfTaped(taped)

export const dataflowMessageOf = (taped: TapedMessage): DataflowMessage => ({
  contentType: taped.contentType ?? 0,
  content: taped.text ?? '',
  binaryContent: taped.bytes === undefined ? noBytes : bytesOfTaped(taped),
})
