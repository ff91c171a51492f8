import { either } from 'fp-ts'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { completeEventEnvelope, writeEventEnvelope } from 'rxspeech/internal/protocol/dataflow-events'
import {
  contentType,
  type DataflowRequestName,
  readDataflowRequest,
  type Settings,
  type StartRequest,
  type UpdateRequest,
  writeDataflowResponse,
} from 'rxspeech/internal/protocol/dataflow-messages'
import { isJsonObject } from 'rxspeech/internal/protocol/json-object'
import type { DataflowMessage } from 'rxspeech/internal/transport/link'
import type { NodeItem } from '../nodes/core/node.js'
import type { End } from '../sessions/conversation.js'

/** A message of the client that is not audio, decoded. */
export type ClientRequest =
  | { readonly type: 'Start'; readonly request: StartRequest }
  | { readonly type: 'Update'; readonly request: UpdateRequest }
  | { readonly type: 'Finalize' | 'Stop' }
  /** A request that cannot be read; it has a name if that could be read. */
  | {
      readonly type: 'invalid-request'
      readonly request?: DataflowRequestName | undefined
      readonly error: SpeechError
    }
  /** The half-close of the client. */
  | { readonly type: 'finished' }

/** Decodes a message that is not audio. It is unreadable if it is not part of the protocol. Never throws. */
export const decodeMessage = (message: DataflowMessage): ClientRequest | End<'unreadable'> => {
  switch (message.contentType) {
    case contentType.audio:
      return unreadable(textAsAudio())
    case contentType.request:
      return decodeRequest(message.content)
    default: {
      const text = `content_type ${message.contentType} is not for clients; send REQUEST (2) with JSON or AUDIO (0) with bytes.`
      return unreadable(new SpeechError('unknown-content-type', text))
    }
  }
}

const unreadable = (error: SpeechError): End<'unreadable'> => ({ type: 'end', cause: 'unreadable', error })

const decodeRequest = (content: string): ClientRequest => {
  const read = readDataflowRequest(content)
  if (either.isLeft(read)) return { type: 'invalid-request', ...read.left }
  const request = read.right
  switch (request.request) {
    case 'Start':
      return { type: 'Start', request }
    case 'Update':
      return { type: 'Update', request }
    case 'Finalize':
    case 'Stop':
      return { type: request.request }
  }
}

/** The bytes of an audio message; undefined for other messages, and for text that is sent as audio. */
export const audioOf = ({ contentType: type, content, binaryContent }: DataflowMessage): Uint8Array | undefined =>
  type !== contentType.audio || (binaryContent.length === 0 && content !== '') ? undefined : binaryContent

const textAsAudio = (): SpeechError =>
  new SpeechError(
    'empty-audio',
    'An AUDIO message carries text and no bytes; a request needs content_type REQUEST (2).',
  )

const noBytes = new Uint8Array(0)

/** The response to a request, without a name if the request has none, and with the id of the session if it is given. */
export const responseMessage = (
  operationResult: string,
  request?: DataflowRequestName,
  sessionId?: string,
): DataflowMessage => ({
  contentType: contentType.response,
  content: writeDataflowResponse(operationResult, request, sessionId),
  binaryContent: noBytes,
})

/** An item of a project as a message. Throws if the data of an event cannot be written as JSON. */
export const itemMessage = (item: NodeItem): DataflowMessage =>
  item.type === 'audio'
    ? { contentType: contentType.audio, content: '', binaryContent: item.bytes }
    : {
        contentType: contentType.event,
        content: writeEventEnvelope(completeEventEnvelope(item.event)),
        binaryContent: noBytes,
      }

/** The limits of `Settings` and `CallProperties` of one session together (PROTOCOL 8). */
const maxSettingKeys = 1_000
const maxSettingBytes = 262_144

const maxLanguageLength = 256
const maxOutputBytes = 16_384
const maxOutputDepth = 8

/** Why a session cannot keep these settings; undefined if they are within the limits. */
export const settingsRefusal = (settings: Settings, callProperties: Settings): SpeechError | undefined => {
  const keyCount = Object.keys(settings).length + Object.keys(callProperties).length
  if (keyCount > maxSettingKeys) {
    return tooMuch('Settings and CallProperties together', `have ${keyCount} keys; keep at most ${maxSettingKeys}`)
  }
  const byteCount = sizeOf(settings) + sizeOf(callProperties)
  return byteCount > maxSettingBytes
    ? tooMuch('Settings and CallProperties together', `are ${byteCount} bytes; keep at most ${maxSettingBytes}`)
    : undefined
}

/** Why a session cannot keep the fields of its Start; undefined if they are within the limits. */
export const startRefusal = ({
  audio,
  language = '',
  settings = {},
  callProperties = {},
}: StartRequest): SpeechError | undefined => {
  if (language.length > maxLanguageLength) return tooMuch('Language', `is longer than ${maxLanguageLength} characters`)
  const { output } = audio
  if (output !== undefined) {
    if (depthOf(output, maxOutputDepth) > maxOutputDepth) {
      return tooMuch('Audio.Output', `is nested deeper than ${maxOutputDepth} levels`)
    }
    if (sizeOf(output) > maxOutputBytes) return tooMuch('Audio.Output', `is larger than ${maxOutputBytes} bytes`)
  }
  return settingsRefusal(settings, callProperties)
}

/** How deep objects and lists are nested; examines at most one level beyond the limit. */
const depthOf = (value: unknown, bound: number): number => {
  if (!isJsonObject(value) && !Array.isArray(value)) return 0
  if (bound <= 0) return 1
  const parts: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
  return 1 + parts.reduce<number>((deepest, part) => Math.max(deepest, depthOf(part, bound - 1)), 0)
}

/** The size of the JSON in bytes. */
const sizeOf = (values: object): number => Buffer.byteLength(JSON.stringify(values))

const tooMuch = (field: string, text: string): SpeechError => new SpeechError('invalid-field', `${field} ${text}.`)
