import type { Timestamp } from 'rxjs'
import type { SessionEvent } from '../protocol/session-event.js'
import { ChartLanes } from './chart-lanes.js'
import type { MarbleChart } from './marble-chart.js'

/** A session as its user saw it: each event where it came, from the first one on. */
export const chartOfEvents = (events: readonly Timestamp<SessionEvent>[]): MarbleChart => {
  const startMs = events[0]?.timestamp ?? 0
  const durationMs = Math.max(0, (events.at(-1)?.timestamp ?? 0) - startMs)
  const lanes = new ChartLanes()
  const sent: { readonly atMs: number; readonly sentMs: number }[] = []
  let since: { readonly state: string; readonly atMs: number } | undefined
  const connection = lanes.lane('connection')
  const leave = (atMs: number): void => {
    if (since === undefined) return
    const isFaint = since.state !== 'streaming' && since.state !== 'finalizing'
    connection.bars.push({ fromMs: since.atMs, toMs: atMs, label: since.state, isFaint })
  }
  for (const { timestamp, value } of events) {
    const atMs = timestamp - startMs
    if (value.type === 'ledger') {
      const before = sent.at(-1)?.sentMs ?? 0
      sent.push({ atMs, sentMs: value.sentMs })
      if (value.sentMs > before) lanes.lane('audio').flow.push({ atMs, audioMs: value.sentMs - before })
    } else if (value.type === 'connection') {
      const fault = faultOf(value)
      if (fault !== undefined) connection.marbles.push({ atMs, label: fault, from: 'neither', isFault: true })
      if (!lasting.has(value.state)) continue
      leave(atMs)
      since = { state: value.state, atMs }
    } else {
      const sentAt = (audioMs: number): number => sent.find(({ sentMs }) => sentMs >= audioMs)?.atMs ?? atMs
      lanes.add(atMs, value, sentAt)
    }
  }
  leave(durationMs)
  return { title: 'Events of a session', durationMs, lanes: lanes.all(durationMs) }
}

/** Between these the connection is in one state or another; the rest happens within. */
const lasting: ReadonlySet<string> = new Set([
  'connecting',
  'starting',
  'streaming',
  'finalizing',
  'reconnecting',
  'done',
  'stopped',
  'failed',
])

const faultOf = (event: Extract<SessionEvent, { readonly type: 'connection' }>): string | undefined => {
  switch (event.state) {
    case 'gap':
      return `gap ${event.fromMs}–${event.toMs} ms, ${event.cause}`
    case 'reconnecting':
      return `lost: ${event.cause}, attempt ${event.attempt}`
    case 'silent':
      return `silent for ${event.forMs} ms`
    case 'failed':
      return 'failed'
    default:
      return undefined
  }
}
