/** A line of a cassette as `rxspeech/cassette` reads and writes it, with the fields that the studio uses. */
export type CassetteLine = {
  readonly atMs: number
  readonly connection?: number
  readonly event: string
  readonly channel?: number | undefined
  readonly contentType?: number | undefined
  readonly text?: string | undefined
  readonly bytes?: number | undefined
  readonly base64?: string | undefined
  readonly [other: string]: unknown
}

export interface CassetteHeader {
  readonly version: 1
  readonly transport: 'grpc' | 'websocket'
  readonly format: { readonly encoding: string; readonly sampleRateHz: number; readonly channels: number }
  readonly startedAt: string
  readonly audio: 'embedded' | 'sha256'
}

export interface Cassette {
  readonly header: CassetteHeader
  readonly lines: readonly CassetteLine[]
}

/** Reads a cassette. Throws an Error whose message says what to do. */
export const parseCassette = (text: string): Cassette => {
  const [header, ...lines] = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line, index) => parseLine(line, index + 1))
  if (!isHeader(header)) {
    throw new Error(
      'This file is not a cassette: its first line must be the header. Open one that "rxspeech transcribe --record" or this page wrote.',
    )
  }
  for (const [index, line] of lines.entries()) {
    if (!isLine(line)) throw new Error(`Line ${index + 2} of the cassette has no event or no time.`)
  }
  return { header, lines: lines as readonly CassetteLine[] }
}

const parseLine = (line: string, number: number): unknown => {
  try {
    return JSON.parse(line)
  } catch {
    throw new Error(`Line ${number} of this file is not JSON, so it is not a cassette.`)
  }
}

const isHeader = (value: unknown): value is CassetteHeader =>
  typeof value === 'object' &&
  value !== null &&
  'version' in value &&
  value.version === 1 &&
  'transport' in value &&
  'format' in value

const isLine = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  'event' in value &&
  typeof value.event === 'string' &&
  'atMs' in value &&
  typeof value.atMs === 'number'

export const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))

export const fromBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
