import { basename } from 'node:path'
import type { MethodDefinition } from '@grpc/grpc-js'
import type * as ProtoLoader from '@grpc/proto-loader'
import type { MethodDefinition as LoadedMethod, PackageDefinition } from '@grpc/proto-loader'
import { SpeechError } from '../../errors/speech-error.js'
import { checkOptions, optionsOf, text } from '../../protocol/validation.js'
import type { DataflowMessage } from '../link.js'
import { dataflowDescriptor } from './dataflow-descriptor.js'

/** Where the proto is read from. */
export interface LoadDataflowOptions {
  /**
   * A `.proto` that replaces the package's own. Only names matter: a service `dataflow` in any package, its method
   * `Stream`, and in both directions `message` with `content`, `binary_content` and `content_type`.
   * @default the package's own
   */
  readonly protoPath?: string | undefined
}

const loadDataflowOptions = optionsOf<LoadDataflowOptions>()({}, { protoPath: text })

/** As `Client.makeBidiStreamRequest` and `Server.addService` take it, between bytes and `DataflowMessage`. */
export type DataflowMethod = MethodDefinition<DataflowMessage, DataflowMessage>

/** The service as `Server.addService` takes it. */
export interface DataflowService {
  /** The only method: messages in both directions. */
  readonly Stream: DataflowMethod
}

/** The `contentType` of bytes that cannot be decoded; `binaryContent` holds them. So a broken peer becomes a value. */
export const undecodableContentType = -1

/** The message with the field names of the proto (PROTOCOL 3, Stream message). */
interface WireMessage {
  readonly message: {
    readonly content: string
    readonly binary_content: Uint8Array
    readonly content_type: number
  } | null
}

const noBytes = new Uint8Array(0)

/** Loaded with the first session, because it generates code, in a bundle already while it loads. */
const withProtoLoader = <T>(use: (loader: typeof ProtoLoader) => T): T => {
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- synchronous, and found by bundlers
    return use(require('@grpc/proto-loader') as typeof ProtoLoader)
  } catch (error) {
    if (!(error instanceof EvalError)) throw error
    throw new SpeechError(
      'missing-dependency',
      'The package @grpc/proto-loader generates code, which this process forbids; allow it, or use recognize over a WebSocket.',
      { cause: error },
    )
  }
}

const findStream = (definition: PackageDefinition, file: string): LoadedMethod<object, object> => {
  const name = Object.keys(definition).find((full) => full === 'dataflow' || full.endsWith('.dataflow'))
  const service = name === undefined ? undefined : definition[name]
  if (service === undefined || 'format' in service) {
    throw new SpeechError('invalid-options', `${file} has no service named dataflow.`)
  }
  const stream = service['Stream']
  if (stream === undefined)
    throw new SpeechError('invalid-options', `${file} has no method Stream in its service dataflow.`)
  if (!stream.requestStream || !stream.responseStream) {
    throw new SpeechError('invalid-options', `${file} does not stream in both directions in its method Stream.`)
  }
  return stream
}

const toWire = ({ content, binaryContent, contentType }: DataflowMessage): WireMessage => ({
  message: { content, binary_content: binaryContent, content_type: contentType },
})

/** Not a Buffer, because the `slice` of a Buffer shares its bytes where a reader expects a copy. */
const plainBytes = ({ buffer, byteOffset, byteLength }: Uint8Array): Uint8Array =>
  byteLength === 0 ? noBytes : new Uint8Array(buffer, byteOffset, byteLength)

const fromWire = ({ message }: WireMessage): DataflowMessage => {
  if (message === null) return { contentType: 0, content: '', binaryContent: noBytes }
  return {
    contentType: message.content_type,
    content: message.content,
    binaryContent: plainBytes(message.binary_content),
  }
}

type Serialize = (message: DataflowMessage) => Buffer
type Deserialize = (bytes: Buffer) => DataflowMessage

const serializer = (serialize: (message: object) => Buffer): Serialize => {
  const serializeAudio = audioSerializer((bytes) => serialize(toWire(audioMessage(bytes))))
  return (message) => {
    const { contentType, content, binaryContent } = message
    const isAudio = contentType === 0 && content === '' && binaryContent.byteLength > 0
    return isAudio ? serializeAudio(binaryContent) : serialize(toWire(message))
  }
}

const audioMessage = (binaryContent: Uint8Array): DataflowMessage => ({ contentType: 0, content: '', binaryContent })

type SerializeAudio = (bytes: Uint8Array) => Buffer

/**
 * Writes a message of audio as `serialize` does, in half the time: the bytes around the audio are always the same,
 * except for two lengths, and are taken from messages that `serialize` has written. For a proto whose messages look
 * different it is `serialize` itself.
 */
const audioSerializer = (serialize: SerializeAudio): SerializeAudio => {
  const [one, other] = [serialize(Uint8Array.of(1)), serialize(Uint8Array.of(2))]
  const at = one.findIndex((byte, index) => byte !== other[index])
  // <tag> <length of the rest> <fields before the audio> <length of the audio> <audio> <fields after it>
  const [tag, before, after] = [one.subarray(0, 1), one.subarray(2, at - 1), one.subarray(at + 1)]
  const write: SerializeAudio = (bytes) => {
    const { byteLength } = bytes
    const restLength = before.length + varintLength(byteLength) + byteLength + after.length
    const message = Buffer.allocUnsafe(tag.length + varintLength(restLength) + restLength)
    const restAt = writeVarint(message, restLength, writeFew(message, tag, 0))
    const audioAt = writeVarint(message, byteLength, writeFew(message, before, restAt))
    message.set(bytes, audioAt)
    writeFew(message, after, audioAt + byteLength)
    return message
  }
  const isSame = [1, 120, 127, 128, 640, 16_384].every((length) => {
    const bytes = new Uint8Array(length).fill(7)
    return write(bytes).equals(serialize(bytes))
  })
  return isSame ? write : serialize
}

/** The length of a number as a varint of protobuf: 7 bits in a byte. */
const varintLength = (value: number): number => {
  let length = 1
  for (let rest = value; rest > 127; rest = Math.floor(rest / 128)) length += 1
  return length
}

/** Returns the position after the bytes. For a few bytes a loop is faster than `set`. */
const writeFew = (message: Buffer, bytes: Uint8Array, at: number): number => {
  for (let index = 0; index < bytes.length; index += 1) message[at + index] = bytes[index] ?? 0
  return at + bytes.length
}

/** Returns the position after the varint. */
const writeVarint = (message: Buffer, value: number, at: number): number => {
  let position = at
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    const isLast = rest <= 127
    message[position] = isLast ? rest : (rest % 128) + 128
    position += 1
    if (isLast) return position
  }
}

const deserializer = (serialize: (message: object) => Buffer, deserialize: (bytes: Buffer) => object): Deserialize => {
  const readAudio = audioReader(serialize, deserialize)
  return (bytes) => {
    const audio = readAudio(bytes)
    if (audio !== undefined) return audio
    try {
      return fromWire(deserialize(bytes) as WireMessage)
    } catch {
      return { contentType: undecodableContentType, content: '', binaryContent: plainBytes(bytes) }
    }
  }
}

type ReadAudio = (bytes: Buffer) => DataflowMessage | undefined

/**
 * Reads a message that is nothing but audio, in a fraction of the time of the general decoder; undefined for any other
 * message, and for a proto whose tags are not single bytes, or whose fields have other defaults than an empty text and
 * AUDIO.
 */
const audioReader = (serialize: (message: object) => Buffer, deserialize: (bytes: Buffer) => object): ReadAudio => {
  // <tag of the message> <length of the rest> <tag of the field> <length or value> …
  const content = serialize({ message: { content: 'x' } })
  const audio = serialize({ message: { binary_content: Uint8Array.of(1) } })
  const type = serialize({ message: { content_type: 1 } })
  const hasShortTags = content.length === 5 && audio.length === 5 && type.length === 4
  const { content: defaultText, contentType: defaultType } = fromWire(deserialize(audio) as WireMessage)
  if (!hasShortTags || defaultText !== '' || defaultType !== 0) return () => undefined
  const [messageTag, , audioTag] = audio
  const contentTag = content[2]
  const typeTag = type[2]
  return (bytes) => {
    if (bytes[0] !== messageTag) return undefined
    const { length } = bytes
    let at = lengthEnd(bytes, 1)
    if (at + readLength(bytes, 1) !== length) return undefined
    let audioAt = 0
    let audioEnd = 0
    while (at < length) {
      const tag = bytes[at]
      if (tag === audioTag && audioEnd === 0) {
        audioAt = lengthEnd(bytes, at + 1)
        audioEnd = audioAt + readLength(bytes, at + 1)
        at = audioEnd
        // An empty text, or the content type AUDIO.
      } else if ((tag === contentTag || tag === typeTag) && bytes[at + 1] === 0) at += 2
      else return undefined
    }
    if (at !== length || audioAt === audioEnd) return undefined
    return audioMessage(new Uint8Array(bytes.buffer, bytes.byteOffset + audioAt, audioEnd - audioAt))
  }
}

/** A length of at most 3 bytes as a varint; NaN if it has more. */
const readLength = (bytes: Buffer, at: number): number => {
  const first = bytes[at] ?? NaN
  if (first < 128) return first
  const second = bytes[at + 1] ?? NaN
  if (second < 128) return first - 128 + second * 128
  const third = bytes[at + 2] ?? NaN
  return third < 128 ? first - 128 + (second - 128) * 128 + third * 16_384 : NaN
}

/** The position after that length. */
const lengthEnd = (bytes: Buffer, at: number): number => {
  if ((bytes[at] ?? 0) < 128) return at + 1
  return (bytes[at + 1] ?? 0) < 128 ? at + 2 : at + 3
}

const probe: WireMessage = { message: { content: 'text', binary_content: Uint8Array.of(1), content_type: 2 } }

/** Encodes and decodes a message with every field. Throws with the name of a field that is missing. */
const checkFields = (
  file: string,
  direction: string,
  serialize: (message: object) => Buffer,
  deserialize: (bytes: Buffer) => object,
): void => {
  let decoded: { readonly message?: Readonly<Record<string, unknown>> | null }
  try {
    decoded = deserialize(serialize(probe))
  } catch (error) {
    const message = `${file} has other types for message, content, binary_content and content_type in ${direction}.`
    throw new SpeechError('invalid-options', message, { cause: error })
  }
  const message = decoded.message
  if (typeof message !== 'object' || message === null) {
    throw new SpeechError('invalid-options', `${file} has no field message in ${direction}.`)
  }
  const { content, binary_content, content_type } = message
  const missing = [
    content === 'text' || 'content',
    (ArrayBuffer.isView(binary_content) && binary_content.byteLength === 1) || 'binary_content',
    content_type === 2 || 'content_type',
  ].find((name) => name !== true)
  if (missing !== undefined) {
    throw new SpeechError('invalid-options', `${file} has no fitting field message.${missing} in ${direction}.`)
  }
}

const loaderOptions: ProtoLoader.Options = { keepCase: true, defaults: true }

const loadOwn = (): DataflowService =>
  withProtoLoader(({ fromJSON }) => serviceOf(fromJSON(dataflowDescriptor, loaderOptions), 'rxspeech'))

const load = (protoPath: string): DataflowService =>
  withProtoLoader(({ loadSync }) => {
    const file = basename(protoPath)
    let definition: PackageDefinition
    try {
      definition = loadSync(protoPath, loaderOptions)
    } catch (error) {
      if (error instanceof EvalError) throw error
      throw new SpeechError('invalid-options', `${file} cannot be read as a proto; check protoPath.`, { cause: error })
    }
    return serviceOf(definition, file)
  })

const serviceOf = (definition: PackageDefinition, file: string): DataflowService => {
  const stream = findStream(definition, file)
  const { requestSerialize, requestDeserialize, responseSerialize, responseDeserialize } = stream
  checkFields(file, 'what the client sends', requestSerialize, requestDeserialize)
  checkFields(file, 'what the service sends', responseSerialize, responseDeserialize)
  return {
    Stream: {
      path: stream.path,
      requestStream: true,
      responseStream: true,
      requestSerialize: serializer(requestSerialize),
      requestDeserialize: deserializer(requestSerialize, requestDeserialize),
      responseSerialize: serializer(responseSerialize),
      responseDeserialize: deserializer(responseSerialize, responseDeserialize),
    },
  }
}

let ownDataflow: DataflowService | undefined

/**
 * The dataflow service of the package (loaded once) or of another proto. A content type without a name in the
 * proto comes through as its number; bytes that cannot be decoded come as `undecodableContentType`. Throws
 * `invalid-options`, which names the file and the missing part.
 *
 * @example
 * const { path } = loadDataflow({ protoPath: 'speech.proto' }).Stream // such as /speech.dataflow/Stream
 */
export const loadDataflow = (options: LoadDataflowOptions = {}): DataflowService => {
  const { protoPath } = checkOptions(loadDataflowOptions, options)
  return protoPath === undefined ? (ownDataflow ??= loadOwn()) : load(protoPath)
}
