import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { MethodDefinition } from '@grpc/grpc-js'
import { loadSync, type MethodDefinition as LoadedMethod, type PackageDefinition } from '@grpc/proto-loader'
import { SpeechError } from '../../errors/speech-error.js'
import { checkOptions, optionsOf, text } from '../../protocol/validation.js'
import type { DataflowMessage } from '../link.js'

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

/** The method as `Client.makeBidiStreamRequest` and `Server.addService` take it, already between bytes and `DataflowMessage`. */
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

const ownProtoPath = (): string => {
  for (let folder = __dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const path = join(folder, 'proto', 'dataflow.proto')
    if (existsSync(path)) return path
  }
  throw new SpeechError(
    'invalid-options',
    'The file proto/dataflow.proto is missing in the package; install it again or set protoPath.',
  )
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

const serializer =
  (serialize: (message: object) => Buffer): Serialize =>
  (message) =>
    serialize(toWire(message))

const deserializer =
  (deserialize: (bytes: Buffer) => object): Deserialize =>
  (bytes) => {
    try {
      return fromWire(deserialize(bytes) as WireMessage)
    } catch {
      return { contentType: undecodableContentType, content: '', binaryContent: plainBytes(bytes) }
    }
  }

const probe: WireMessage = { message: { content: 'text', binary_content: Uint8Array.of(1), content_type: 2 } }

/** Throws with the name of a field that is missing in one direction, by encoding and decoding a message with every field. */
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

const load = (protoPath: string): DataflowService => {
  const file = basename(protoPath)
  let definition: PackageDefinition
  try {
    definition = loadSync(protoPath, { keepCase: true, defaults: true })
  } catch (error) {
    throw new SpeechError('invalid-options', `${file} cannot be read as a proto; check protoPath.`, { cause: error })
  }
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
      requestDeserialize: deserializer(requestDeserialize),
      responseSerialize: serializer(responseSerialize),
      responseDeserialize: deserializer(responseDeserialize),
    },
  }
}

let ownDataflow: DataflowService | undefined

/**
 * The dataflow service, read from the package's own proto (once) or from another. A content type without a name in the
 * proto comes through as its number; bytes that cannot be decoded come as `undecodableContentType`. Throws
 * `invalid-options`, which names the file and the missing part.
 *
 * @example
 * const { path } = loadDataflow({ protoPath: 'speech.proto' }).Stream // such as /speech.dataflow/Stream
 */
export const loadDataflow = (options: LoadDataflowOptions = {}): DataflowService => {
  const { protoPath } = checkOptions(loadDataflowOptions, options)
  return protoPath === undefined ? (ownDataflow ??= load(ownProtoPath())) : load(protoPath)
}
