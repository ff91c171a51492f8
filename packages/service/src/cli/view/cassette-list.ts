import { bytesPerSecond } from 'rxspeech/internal/audio/format'
import {
  type Cassette,
  type CassetteHeader,
  connectionsOf,
  type LocatedLine,
  type Reason,
} from 'rxspeech/internal/cassette/format/cassette'
import {
  audioBytesOf,
  createEventReader,
  describeMessage,
  type EventReader,
  vendorTypeOf,
} from 'rxspeech/internal/cassette/format/recorded-message'
import type { SessionEvent } from 'rxspeech/internal/protocol/session-event'
import { tableText } from './plain-text.js'

/**
 * The messages of a cassette in a table: when each was sent or received, how much audio of its connection was sent
 * until then, and what it means. Messages of audio have no row.
 */
export const cassetteList = (cassette: Cassette): string => {
  const { header, lines } = cassette
  const rows = connectionsOf(cassette).flatMap((connection, index) => rowsOf(connection, index + 1, header))
  for (const line of lines) {
    if (line.event === 'lost') rows.push({ atMs: line.atMs, cells: ['', '', '!', `${line.lines} lines are missing`] })
    if (line.event === 'end') rows.push({ atMs: line.atMs, cells: ['', '', '·', reasonOf(line.outcome, line)] })
  }
  const inOrder = rows.sort((a, b) => a.atMs - b.atMs)
  return tableText(
    ['time', 'connection', 'audio', '', ''],
    inOrder.map(({ atMs, cells }) => [seconds(atMs), ...cells]),
  )
}

/** The transport, the format and the beginning of the session. */
export const cassetteTitle = ({ transport, format, startedAt }: CassetteHeader): string => {
  const channels = format.channels === 1 ? 'mono' : 'stereo'
  const time = startedAt.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC')
  return `${transport === 'grpc' ? 'gRPC' : 'WebSocket'} · ${format.encoding} ${format.sampleRateHz} Hz ${channels} · ${time}`
}

interface Row {
  readonly atMs: number
  readonly cells: readonly string[]
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`

const reasonOf = (what: string, { code, message }: Reason): string =>
  code === undefined ? what : `${what}: ${code}${message === undefined ? '' : `, ${message}`}`

const rowsOf = (
  { dial, open, lines }: ReturnType<typeof connectionsOf>[number],
  number: number,
  header: CassetteHeader,
): Row[] => {
  const reader = createEventReader(header)
  const bytesPerMs = wireBytesPerMs(header)
  let sentMs = 0
  const row = (atMs: number, sign: string, text: string): Row => ({
    atMs,
    cells: [`${number}`, seconds(sentMs), sign, text],
  })
  const rows = [row(dial.atMs, '·', `dials ${dial.address ?? 'the service'}`)]
  if (open !== undefined) rows.push(row(open.atMs, '·', 'open'))
  for (const { line } of lines) {
    const audioBytes = line.event === 'sent' ? audioBytesOf(line) : 0
    sentMs += audioBytes / bytesPerMs
    if (audioBytes === 0) rows.push(row(line.atMs, signs[line.event], meaningOf(line, reader, dial.channel)))
  }
  return rows
}

/** The WebSocket carries one channel of 16-bit PCM for any format of the source (PROTOCOL 4). */
const wireBytesPerMs = ({ transport, format }: CassetteHeader): number =>
  bytesPerSecond(transport === 'grpc' ? format : { ...format, encoding: 'pcm', channels: 1 }) / 1000

const signs = { sent: '→', finish: '→', close: '→', received: '←', ended: '!', 'dial-failed': '!' } as const

const meaningOf = (line: LocatedLine['line'], reader: EventReader, channel = 0): string => {
  switch (line.event) {
    case 'sent':
      reader.addRequest(line)
      return describeMessage(line)
    case 'received': {
      const event = reader.readEvent(line)
      return (event.type === 'unknown' ? vendorTypeOf(line.text) : undefined) ?? eventText(event, channel)
    }
    case 'finish':
      return 'end of audio'
    case 'close':
      return reasonOf('closed', line)
    case 'ended':
      return reasonOf('ended', line)
    case 'dial-failed':
      return reasonOf('failed', line)
  }
}

/** @param channel of an event that names none, because its connection has one channel */
const eventText = (event: SessionEvent, channel: number): string => {
  switch (event.type) {
    case 'partial':
    case 'milestone':
      return `${event.type} ${event.channel ?? channel}: ${event.text}`
    case 'final':
      return `final ${event.channel ?? channel}: ${event.text}${event.error === undefined ? '' : ` (${event.error})`}`
    case 'response':
      return `${event.request}: ${event.operationResult}`
    case 'event':
      return event.name
    case 'audio':
      return `${event.bytes.length} bytes of audio`
    case 'unknown':
      return event.reason
    default:
      // The session emits these; no message contains them.
      return event.type
  }
}
