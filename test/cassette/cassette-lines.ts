import { parseCassette } from '../../src/cassette/format/read-cassette.js'
import type { LineWriter } from '../../src/cassette/record/line-queue.js'

/** A synchronous sink that keeps its lines. */
export const keptLines = (): { readonly lines: string[]; readonly write: LineWriter['write'] } => {
  const lines: string[] = []
  return { lines, write: (line) => void lines.push(line) }
}

/** A summary of each line after the header, such as `20 1 sent Start`. */
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
