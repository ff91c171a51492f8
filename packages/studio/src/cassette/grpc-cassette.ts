import { bytesOf, decodeALaw, decodeMuLaw } from 'rxspeech/audio'
import { fromBase64, toBase64, type Cassette, type CassetteLine } from './cassette-lines.js'

/**
 * A cassette of gRPC as one of the WebSocket with the same audio, results and connections, because a page has sessions
 * of the WebSocket only: a connection for each channel, and 16-bit PCM. Events that are no results of recognition are
 * left out.
 */
export const asWebSocketCassette = (cassette: Cassette): Cassette => {
  const { header, lines } = cassette
  if (header.transport === 'websocket') return cassette
  const channels = Array.from({ length: header.format.channels }, (_, channel) => channel)
  const model = modelOf(lines)
  const converted = lines.flatMap((line): readonly CassetteLine[] =>
    line.connection === undefined
      ? [line]
      : channels.flatMap((channel) => {
          const { connection = 0, atMs, event } = line
          const base = { atMs, connection: (connection - 1) * channels.length + channel + 1, event }
          const sent = { ...base, event: 'sent' }
          switch (event) {
            case 'dial':
              return [channels.length > 1 ? { ...base, channel } : base]
            case 'finish':
              return [{ ...sent, text: request('finalize-recognition') }]
            case 'sent': {
              if (line.bytes !== undefined) return [{ ...sent, ...audioOf(line, header.format, channel) }]
              const text = requestOf(line, model)
              return text === undefined ? [] : [{ ...sent, text }]
            }
            case 'received': {
              const text = answerOf(line, channel)
              return text === undefined ? [] : [{ ...base, text }]
            }
            default:
              return [{ ...line, ...base }]
          }
        }),
  )
  return { header: { ...header, transport: 'websocket' }, lines: converted }
}

const request = (name: string, fields: object = {}): string => JSON.stringify({ 'message-name': name, ...fields })

/** Requests and responses have their names in both forms of PROTOCOL 3.1. */
const nameOf = (message: Json): string =>
  textOf(message['MessageName'] ?? message['message-name'])
    .toLowerCase()
    .replaceAll('-', '')

const modelOf = (lines: readonly CassetteLine[]): string => {
  for (const { event, contentType, text } of lines) {
    if (event !== 'sent' || contentType !== 2 || text === undefined) continue
    const settings = parse(text)['Settings']
    if (isObject(settings) && typeof settings['ModelName'] === 'string') return settings['ModelName']
  }
  return 'recorded'
}

const requestOf = ({ text = '{}' }: CassetteLine, model: string): string | undefined => {
  switch (nameOf(parse(text))) {
    case 'start':
      return request('recognize', { 'model-name': model })
    case 'finalize':
      return request('finalize-recognition')
    case 'stop':
      return request('stop-recognition')
    default:
      return undefined
  }
}

/** The messages of results, by the names of the events (PROTOCOL 3.3 and 4.2). */
const results: Readonly<Record<string, string>> = {
  'SR Partial': 'partial-result',
  'SR Milestone': 'milestone-result',
  'SR Final': 'final-result',
}

const answerOf = ({ contentType, text = '{}' }: CassetteLine, channel: number): string | undefined => {
  const message = parse(text)
  if (contentType === 3) {
    const outcome = textOf(message['OperationResult'] ?? message['operation-result'])
    const isStart = nameOf(message) === 'startresponse'
    return isStart
      ? request('recognize-response', { 'operation-result': outcome, 'recognition-id': 'recorded' })
      : undefined
  }
  const { Name: name, Channel: of, StartMsec: startMs, EndMsec: endMs, Data: data } = message
  const result = typeof name === 'string' ? results[name] : undefined
  if (result === undefined || !isObject(data) || (typeof of === 'number' && of >= 0 && of !== channel)) return undefined
  const { Text: said = '', StableLength: stableLength, Confidence: confidence, HeardMsec: heardMs, Words: words } = data
  return request(result, {
    'recognition-id': 'recorded',
    text: said,
    'start-msec': numberText(startMs),
    'end-msec': numberText(endMs),
    'stable-length': numberText(stableLength),
    confidence: numberText(confidence),
    'heard-msec': numberText(heardMs),
    words: Array.isArray(words) ? JSON.stringify(words.filter(isObject).map(wordOf)) : undefined,
    'operation-result': result === 'final-result' ? 'Success' : undefined,
  })
}

/** All fields are texts in the messages of a socket (PROTOCOL 4.2); -1 stands for none. */
const numberText = (value: unknown): string | undefined =>
  typeof value === 'number' && value >= 0 ? String(value) : undefined

const wordOf = ({ Text: text, StartMsec: startMs, EndMsec: endMs, Confidence: confidence }: Json): object => ({
  text,
  'start-msec': numberText(startMs),
  'end-msec': numberText(endMs),
  confidence: numberText(confidence),
})

/** The audio of one channel as 16-bit PCM. Of a cassette without audio, silence of its length. */
const audioOf = (
  { bytes = 0, base64 }: CassetteLine,
  { encoding, channels }: Cassette['header']['format'],
  channel: number,
): Pick<CassetteLine, 'bytes' | 'base64'> => {
  const sampleBytes = encoding === 'pcm' ? 2 : 1
  if (base64 === undefined) return { bytes: (bytes / sampleBytes / channels) * 2 }
  const all = fromBase64(base64)
  const own = new Uint8Array(all.length / channels)
  for (let at = 0; at < own.length; at += 1) {
    const frame = Math.floor(at / sampleBytes)
    own[at] = all[(frame * channels + channel) * sampleBytes + (at % sampleBytes)] ?? 0
  }
  const pcm = encoding === 'ulaw' ? bytesOf(decodeMuLaw(own)) : encoding === 'alaw' ? bytesOf(decodeALaw(own)) : own
  return { bytes: pcm.length, base64: toBase64(pcm) }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null

const parse = (text: string): Json => {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}
