import { VirtualTimeScheduler } from 'rxjs'
import type { Cassette } from '../../src/cassette/cassette.js'
import { parseCassette } from '../../src/cassette/read-cassette.js'
import type { LineWriter } from '../../src/cassette/line-queue.js'

/** A sink that keeps what it is given, and takes it at once. */
export const keptLines = (): { readonly lines: string[]; readonly write: LineWriter['write'] } => {
  const lines: string[] = []
  return { lines, write: (line) => void lines.push(line) }
}

/** `20 1 sent Start`: what stands in each line after the header. */
export const outlineOf = (lines: readonly string[]): readonly string[] =>
  parseCassette(lines).lines.map((line) => {
    const words: unknown[] = [line.atMs]
    if ('connection' in line) words.push(line.connection)
    words.push(line.event)
    if (line.event === 'sent' || line.event === 'received')
      words.push(line.text === undefined ? line.bytes : nameOf(line.text))
    if (line.event === 'end') words.push(line.outcome)
    if (line.event === 'lost') words.push(line.lines)
    if ('code' in line && line.code !== undefined) words.push(line.code)
    return words.join(' ')
  })

const nameOf = (text: string): string => {
  const json = JSON.parse(text) as Readonly<Record<string, string>>
  return json['message-name'] ?? json['MessageName'] ?? json['Name'] ?? Object.keys(json).join(',')
}

export const header = (transport: 'grpc' | 'websocket', more: object = {}): string =>
  JSON.stringify({
    version: 1,
    transport,
    format: { encoding: 'pcm', sampleRateHz: 8000, channels: 1 },
    startedAt: '2026-01-31T12:00:00.000Z',
    audio: 'embedded',
    ...more,
  })

export const line = (atMs: number, event: string, fields: object = {}): string =>
  JSON.stringify({ atMs, connection: 1, event, ...fields })

export const cassetteOf = (...lines: readonly string[]): Cassette => parseCassette(lines)

export const virtualClock = (): VirtualTimeScheduler => new VirtualTimeScheduler()
