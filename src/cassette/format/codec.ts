import { either, function as f } from 'fp-ts'
import { encodings, maxSampleRateHz, minSampleRateHz, type AudioFormat } from '../../audio/format.js'
import { SpeechError } from '../../errors/speech-error.js'
import { listOf } from '../../protocol/collections.js'
import { codec, oneOf, text, type Codec } from '../../protocol/validation.js'
import {
  decodeWith,
  integer,
  messageCodec,
  oneOfNumbers,
  optional,
  required,
  type Fields,
  type MessageCodec,
} from '../../protocol/message-codec.js'
import { ownValue, parseJsonObject } from '../../protocol/parse-json.js'
import type {
  CassetteHeader,
  CassetteLine,
  DialLine,
  EndingLine,
  EndLine,
  FinishLine,
  LostLine,
  MessageLine,
  OpenLine,
} from './cassette.js'

const matching = (expected: string, fits: (value: string) => boolean): Codec<string> =>
  codec(expected, (value): value is string => typeof value === 'string' && fits(value))

const isMs = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0
const milliseconds: Codec<number> = codec('a number of milliseconds from 0', isMs)
const count = integer({ min: 0 })
const instant = matching('a time as in 2026-01-31T12:00:00.000Z', (value) =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value),
)
const base64 = matching('base64', (value) => value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value))
const digest = matching('64 hexadecimal digits', (value) => /^[0-9a-f]{64}$/.test(value))

const format: MessageCodec<AudioFormat> = messageCodec<AudioFormat>({
  encoding: required(oneOf(...encodings), 'encoding'),
  sampleRateHz: required(integer({ min: minSampleRateHz, max: maxSampleRateHz, unit: 'Hz' }), 'sampleRateHz'),
  channels: required(oneOfNumbers(1, 2), 'channels'),
})

export const headerFields: Fields<CassetteHeader> = {
  version: required(oneOfNumbers(1), 'version'),
  transport: required(oneOf('grpc', 'websocket'), 'transport'),
  format: required(format, 'format'),
  startedAt: required(instant, 'startedAt'),
  audio: required(oneOf('embedded', 'sha256'), 'audio'),
}

const timed = { atMs: required(milliseconds, 'atMs') } as const
const ofConnection = { ...timed, connection: required(integer({ min: 1 }), 'connection') } as const
const reason = { code: optional(text, 'code'), message: optional(text, 'message') } as const

const message: Fields<MessageLine> = {
  ...ofConnection,
  event: required(oneOf('sent', 'received'), 'event'),
  contentType: optional(integer(), 'contentType'),
  text: optional(text, 'text'),
  bytes: optional(count, 'bytes'),
  base64: optional(base64, 'base64'),
  sha256: optional(digest, 'sha256'),
}
const ending: Fields<EndingLine> = {
  ...ofConnection,
  event: required(oneOf('close', 'ended', 'dial-failed'), 'event'),
  ...reason,
}
const dial: Fields<DialLine> = {
  ...ofConnection,
  event: required(oneOf('dial'), 'event'),
  channel: optional(oneOfNumbers(0, 1), 'channel'),
  address: optional(text, 'address'),
  headers: optional(listOf(text), 'headers'),
  protocols: optional(listOf(text), 'protocols'),
}
const open: Fields<OpenLine> = { ...ofConnection, event: required(oneOf('open'), 'event') }
const finish: Fields<FinishLine> = { ...ofConnection, event: required(oneOf('finish'), 'event') }
const lost: Fields<LostLine> = {
  ...timed,
  event: required(oneOf('lost'), 'event'),
  lines: required(count, 'lines'),
  bytes: required(count, 'bytes'),
}
const end: Fields<EndLine> = {
  ...timed,
  event: required(oneOf('end'), 'event'),
  outcome: required(oneOf('complete', 'error', 'unsubscribed'), 'outcome'),
  ...reason,
}

/** The fields of each kind of line, by its `event`. */
export const lineFields = {
  dial,
  open,
  sent: message,
  received: message,
  finish,
  close: ending,
  ended: ending,
  'dial-failed': ending,
  lost,
  end,
} as const

const header = messageCodec<CassetteHeader>(headerFields)

/** A decoder for each event. */
const lineCodecs: ReadonlyMap<string, MessageCodec<CassetteLine>> = new Map(
  Object.entries(lineFields).map(([event, fields]) => [event, messageCodec(fields as Fields<CassetteLine>)]),
)

/** Decodes the first line. */
export const readHeader = (json: string): either.Either<SpeechError, CassetteHeader> =>
  f.pipe(
    parseJsonObject(json),
    either.chain((object) => decodeWith(header, object)),
  )

/** Decodes any other line. */
export const readLine = (json: string): either.Either<SpeechError, CassetteLine> =>
  f.pipe(
    parseJsonObject(json),
    either.chain((object) => {
      const event = ownValue(object, 'event')
      const decoder = typeof event === 'string' ? lineCodecs.get(event) : undefined
      return decoder === undefined ? either.left(unknownEvent()) : decodeWith(decoder, object)
    }),
    either.chain(completeMessage),
  )

const unknownEvent = (): SpeechError =>
  new SpeechError('invalid-field', `event must be ${[...lineCodecs.keys()].map((name) => `"${name}"`).join(', ')}.`)

/** Checks across fields: a message has text or bytes, and for bytes either their base64 or their hash. */
const completeMessage = (line: CassetteLine): either.Either<SpeechError, CassetteLine> => {
  if (line.event !== 'sent' && line.event !== 'received') return either.right(line)
  const { contentType, text: content, bytes, base64: embedded, sha256 } = line
  if (contentType === undefined && content === undefined && bytes === undefined)
    return refuse('text or bytes must be given.')
  if (bytes === undefined) {
    return embedded === undefined && sha256 === undefined ? either.right(line) : refuse('bytes must be given.')
  }
  if ((embedded === undefined) === (sha256 === undefined)) return refuse('one of base64 and sha256 must be given.')
  if (embedded !== undefined && Buffer.byteLength(embedded, 'base64') !== bytes)
    return refuse('bytes must be the number of bytes in base64.')
  return either.right(line)
}

const refuse = (sentence: string): either.Either<SpeechError, never> =>
  either.left(new SpeechError('invalid-field', sentence))

/** Encodes any line, without a line break. */
export const writeLine = (line: CassetteHeader | CassetteLine): string => JSON.stringify(line)
