import type { Timestamp } from 'rxjs'
import { bytesPerSecond, type AudioFormat } from '../../audio/format.js'
import type { SessionEvent } from '../../protocol/session-event.js'
import { connectionsOf, type Cassette, type CassetteHeader, type RecordedConnection } from '../format/cassette.js'
import { createEventReader, describeMessage } from '../format/recorded-message.js'
import { ChartBuilder, type Chart, type SentAt } from './chart.js'

/** How far the audio was sent at a time of the session. */
interface SentAudio {
  readonly atMs: number
  readonly sentMs: number
}

/** Shows a cassette: each message at the time when it was sent or received. */
export const chartOfCassette = (cassette: Cassette): Chart => {
  const { header, lines } = cassette
  const durationMs = lines.at(-1)?.atMs ?? 0
  const chart = new ChartBuilder()
  const connections = connectionsOf(cassette)
  const rowIndexes = rowIndexesOf(connections, durationMs)
  const hasConnectionPerChannel = header.transport === 'websocket' && header.format.channels === 2
  for (const [index, connection] of connections.entries()) {
    const rowIndex = rowIndexes[index] ?? 0
    addConnection(chart, connection, rowIndex, durationMs)
    addMessages(chart, connection, header, hasConnectionPerChannel ? rowIndex : undefined)
  }
  for (const line of lines) {
    if (line.event !== 'lost') continue
    const label = `${line.lines} lines are missing here`
    chart.row('connection', '1').marbles.push({ atMs: line.atMs, label, from: 'neither', isFault: true })
  }
  return { title: titleOf(header), durationMs, rows: chart.finish(durationMs) }
}

const titleOf = ({ transport, format, startedAt }: CassetteHeader): string =>
  [
    transport === 'grpc' ? 'gRPC' : 'WebSocket',
    `${format.encoding} ${format.sampleRateHz} Hz ${format.channels === 1 ? 'mono' : 'stereo'}`,
    startedAt.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC'),
  ].join(' · ')

const endOf = ({ lines }: RecordedConnection, durationMs: number): number => lines.at(-1)?.line.atMs ?? durationMs

/** Connections that overlap get different rows; a later one gets the first row that is free. */
const rowIndexesOf = (connections: readonly RecordedConnection[], durationMs: number): readonly number[] => {
  const freeFromMs: number[] = []
  return connections.map((connection) => {
    const free = freeFromMs.findIndex((fromMs) => fromMs <= connection.dial.atMs)
    const index = free === -1 ? freeFromMs.length : free
    freeFromMs[index] = endOf(connection, durationMs)
    return index
  })
}

const addConnection = (
  chart: ChartBuilder,
  connection: RecordedConnection,
  rowIndex: number,
  durationMs: number,
): void => {
  const { dial, open, lines } = connection
  const row = chart.row('connection', String(rowIndex + 1))
  const endMs = endOf(connection, durationMs)
  row.bars.push({ fromMs: dial.atMs, toMs: open?.atMs ?? endMs, label: 'connecting', isFaint: true })
  if (open !== undefined) row.bars.push({ fromMs: open.atMs, toMs: endMs, label: dial.address ?? 'connected' })
  for (const { line } of lines) {
    if (line.event !== 'close' && line.event !== 'ended' && line.event !== 'dial-failed') continue
    const from = line.event === 'close' ? 'client' : 'service'
    const label = line.code ?? (from === 'client' ? 'closed by the client' : 'ended by the service')
    row.marbles.push({ atMs: line.atMs, label, from, isFault: line.code !== undefined })
  }
}

const addMessages = (
  chart: ChartBuilder,
  { lines }: RecordedConnection,
  header: CassetteHeader,
  channel: number | undefined,
): void => {
  const reader = createEventReader(header)
  const bytesPerMs = wireBytesPerMs(header)
  const sent: SentAudio[] = []
  let sentMs = 0
  for (const { line } of lines) {
    const { atMs } = line
    if (line.event === 'finish') chart.row('control').marbles.push({ atMs, label: 'end of audio', from: 'client' })
    else if (line.event === 'received') chart.addEvent(atMs, reader.readEvent(line), sentAtOf(sent), channel)
    else if (line.event !== 'sent') continue
    else if (line.text === undefined) {
      const audioMs = (line.bytes ?? 0) / bytesPerMs
      sentMs += audioMs
      sent.push({ atMs, sentMs })
      chart.row('audio', channel === undefined ? '' : String(channel)).audio.push({ atMs, audioMs })
    } else {
      reader.addRequest(line)
      chart.row('control').marbles.push({ atMs, label: describeMessage(line), from: 'client' })
    }
  }
}

/** The WebSocket carries one channel of 16-bit PCM for any format of the source (PROTOCOL 4). */
const wireBytesPerMs = ({ transport, format }: CassetteHeader): number => {
  const onWire: AudioFormat = transport === 'grpc' ? format : { ...format, encoding: 'pcm', channels: 1 }
  return bytesPerSecond(onWire) / 1000
}

/**
 * Uses binary search because a call has ten thousand messages.
 *
 * @param unsentAtMs for a time that was not sent yet; by default when the last audio was sent
 */
const sentAtOf =
  (sent: readonly SentAudio[], unsentAtMs = sent.at(-1)?.atMs ?? 0): SentAt =>
  (audioMs) => {
    let [low, high] = [0, sent.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((sent[middle]?.sentMs ?? 0) < audioMs) low = middle + 1
      else high = middle
    }
    return sent[low]?.atMs ?? unsentAtMs
  }

/** Shows the events of a session at the times when they were emitted, from the first one on. */
export const chartOfEvents = (events: readonly Timestamp<SessionEvent>[]): Chart => {
  const startMs = events[0]?.timestamp ?? 0
  const durationMs = Math.max(0, (events.at(-1)?.timestamp ?? 0) - startMs)
  const chart = new ChartBuilder()
  const sent: SentAudio[] = []
  let current: { readonly state: string; readonly atMs: number } | undefined
  const connection = chart.row('connection')
  const endState = (atMs: number): void => {
    if (current === undefined) return
    const isFaint = current.state !== 'streaming' && current.state !== 'finalizing'
    connection.bars.push({ fromMs: current.atMs, toMs: atMs, label: current.state, isFaint })
  }
  for (const { timestamp, value } of events) {
    const atMs = timestamp - startMs
    if (value.type === 'ledger') {
      const before = sent.at(-1)?.sentMs ?? 0
      if (sent.length === 0 || value.sentMs > before) sent.push({ atMs, sentMs: value.sentMs })
      if (value.sentMs > before) chart.row('audio').audio.push({ atMs, audioMs: value.sentMs - before })
      continue
    }
    const fault = faultOf(value)
    if (fault !== undefined) connection.marbles.push({ atMs, label: fault, from: 'neither', isFault: true })
    if (value.type === 'connection') {
      if (!states.has(value.state)) continue
      endState(atMs)
      current = { state: value.state, atMs }
    } else {
      chart.addEvent(atMs, value, sentAtOf(sent, atMs))
    }
  }
  endState(durationMs)
  return { title: 'Events of a session', durationMs, rows: chart.finish(durationMs) }
}

/** The states that are drawn. */
const states: ReadonlySet<string> = new Set([
  'connecting',
  'starting',
  'streaming',
  'finalizing',
  'reconnecting',
  'done',
  'stopped',
  'failed',
])

const faultOf = (event: SessionEvent): string | undefined => {
  switch (event.type) {
    case 'gap':
      return `gap ${event.fromMs}–${event.toMs} ms, ${event.cause}`
    case 'silent':
      return `silent for ${event.forMs} ms`
    case 'connection':
      if (event.state === 'reconnecting') return `lost: ${event.cause}, attempt ${event.attempt}`
      return event.state === 'failed' ? 'failed' : undefined
    default:
      return undefined
  }
}
