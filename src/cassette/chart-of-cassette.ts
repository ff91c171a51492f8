import { bytesPerSecond, type AudioFormat } from '../audio/format.js'
import type { Cassette, CassetteHeader } from './cassette.js'
import { connectionsOf, type TapedConnection } from './cassette-connections.js'
import { ChartLanes, type SentAt } from './chart-lanes.js'
import { eventReader } from './event-reader.js'
import type { MarbleChart } from './marble-chart.js'
import { wordsFor } from './mismatch.js'

/** The session of a cassette as its wire saw it: each thing stands where it was said, or where it was heard. */
export const chartOfCassette = (cassette: Cassette): MarbleChart => {
  const { header, lines } = cassette
  const durationMs = lines.at(-1)?.atMs ?? 0
  const lanes = new ChartLanes()
  const connections = connectionsOf(cassette)
  const rows = rowsOf(connections, durationMs)
  const isOfChannels = header.transport === 'websocket' && header.format.channels === 2
  for (const [index, connection] of connections.entries()) {
    const row = rows[index] ?? 0
    addConnection(lanes, connection, row, durationMs)
    addMessages(lanes, connection, header, isOfChannels ? row : undefined)
  }
  for (const line of lines) {
    if (line.event === 'lost') {
      const label = `${line.lines} lines are missing here`
      lanes.lane('connection', '1').marbles.push({ atMs: line.atMs, label, from: 'neither', isFault: true })
    }
  }
  return { title: titleOf(header), durationMs, lanes: lanes.all(durationMs) }
}

const titleOf = ({ transport, format, startedAt }: CassetteHeader): string =>
  [
    transport === 'grpc' ? 'gRPC' : 'WebSocket',
    `${format.encoding} ${format.sampleRateHz} Hz ${format.channels === 1 ? 'mono' : 'stereo'}`,
    startedAt
      .replace('T', ' ')
      .replace(/\.\d+Z$/, ' UTC')
      .replace(/Z$/, ' UTC'),
  ].join(' · ')

const endOf = ({ lines }: TapedConnection, durationMs: number): number => lines.at(-1)?.line.atMs ?? durationMs

/** Connections that were there at the same time stand in rows of their own; a later one takes the first row that is free. */
const rowsOf = (connections: readonly TapedConnection[], durationMs: number): readonly number[] => {
  const freeFromMs: number[] = []
  return connections.map((connection) => {
    const free = freeFromMs.findIndex((fromMs) => fromMs <= connection.dial.atMs)
    const row = free === -1 ? freeFromMs.length : free
    freeFromMs[row] = endOf(connection, durationMs)
    return row
  })
}

const addConnection = (lanes: ChartLanes, connection: TapedConnection, row: number, durationMs: number): void => {
  const { dial, open, lines } = connection
  const lane = lanes.lane('connection', String(row + 1))
  const endMs = endOf(connection, durationMs)
  lane.bars.push({ fromMs: dial.atMs, toMs: open?.atMs ?? endMs, label: 'connecting', isFaint: true })
  if (open !== undefined) lane.bars.push({ fromMs: open.atMs, toMs: endMs, label: dial.address ?? 'connected' })
  for (const { line } of lines) {
    if (line.event !== 'close' && line.event !== 'ended' && line.event !== 'dial-failed') continue
    const from = line.event === 'close' ? 'client' : 'service'
    const label = line.code ?? (from === 'client' ? 'closed by the client' : 'ended by the service')
    lane.marbles.push({ atMs: line.atMs, label, from, ...(line.code === undefined ? {} : { isFault: true }) })
  }
}

const addMessages = (
  lanes: ChartLanes,
  { lines }: TapedConnection,
  header: CassetteHeader,
  channel: number | undefined,
): void => {
  const reader = eventReader(header)
  const bytesPerMs = wireBytesPerMs(header)
  const sent: Sent[] = []
  let sentMs = 0
  for (const { line } of lines) {
    const { atMs } = line
    if (line.event === 'finish') lanes.lane('control').marbles.push({ atMs, label: 'end of audio', from: 'client' })
    else if (line.event === 'received') lanes.add(atMs, reader.eventOf(line), sentAtOf(sent), channel)
    else if (line.event !== 'sent') continue
    else if (line.text === undefined) {
      const audioMs = (line.bytes ?? 0) / bytesPerMs
      sentMs += audioMs
      sent.push({ atMs, sentMs })
      lanes.lane('audio', channel === undefined ? '' : String(channel)).flow.push({ atMs, audioMs })
    } else {
      reader.asked(line)
      lanes.lane('control').marbles.push({ atMs, label: wordsFor(line), from: 'client' })
    }
  }
}

interface Sent {
  readonly atMs: number
  /** How far the audio of the connection was sent then. */
  readonly sentMs: number
}

/** service.md 4.2: the socket carries one channel of 16-bit samples, whatever the source is. */
const wireBytesPerMs = ({ transport, format }: CassetteHeader): number => {
  const onWire: AudioFormat = transport === 'grpc' ? format : { ...format, encoding: 'pcm', channels: 1 }
  return bytesPerSecond(onWire) / 1000
}

/** When the audio of a moment had been sent; what is beyond it, now. Halving, for a call has ten thousand messages. */
const sentAtOf =
  (sent: readonly Sent[]): SentAt =>
  (audioMs) => {
    let [low, high] = [0, sent.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((sent[middle]?.sentMs ?? 0) < audioMs) low = middle + 1
      else high = middle
    }
    return sent[low]?.atMs ?? 0
  }
