import { createHash, type Hash } from 'node:crypto'
import type { SampleRange } from './position-audio.js'
import type { VerifyingRecognition } from './recognition.js'

/** The audio that arrived on one connection. */
export interface ConnectionReport {
  /** From 1, in the order of the connections. */
  readonly number: number
  /** The transport of the connection. */
  readonly over: 'websocket' | 'grpc'
  /** Whether the token was accepted and the start was valid. */
  readonly started: boolean
  /** How many bytes of audio arrived. */
  readonly audioBytes: number
  /** SHA-256 of all bytes of audio in the order in which they arrived, in hexadecimal digits. */
  readonly sha256: string
  /** The samples of the source that arrived, in order. */
  readonly arrived: readonly SampleRange[]
  /** The number of samples that are not position audio. */
  readonly foreignSamples: number
  /** The samples of the source that a milestone covers. */
  readonly finalized: readonly SampleRange[]
  /** Whether the client finalized, or half-closed. */
  readonly finalizeRequested: boolean
  /** Whether the connection is still open. */
  readonly isOpen: boolean
}

/** The part of a source that arrived on all connections together. */
export interface VerificationReport {
  /** The number of connections. */
  readonly connections: number
  /** Samples that arrived on no connection. */
  readonly missing: readonly SampleRange[]
  /** The duration of the missing samples. */
  readonly missingMs: number
  /** Samples that arrived but that no milestone covers. */
  readonly unfinalized: readonly SampleRange[]
  /** The duration of the unfinalized samples. */
  readonly unfinalizedMs: number
  /** How much audio arrived more than once. */
  readonly repeatedMs: number
}

/** Collects the report of one connection. */
export class ConnectionTracker {
  readonly #number: number
  readonly #over: 'websocket' | 'grpc'
  readonly #hash: Hash = createHash('sha256')
  readonly #recognitions: VerifyingRecognition[] = []
  #audioBytes = 0
  finalizeRequested = false
  isOpen = true

  constructor(number: number, over: 'websocket' | 'grpc') {
    this.#number = number
    this.#over = over
  }

  get audioBytes(): number {
    return this.#audioBytes
  }

  addRecognition(recognition: VerifyingRecognition): void {
    this.#recognitions.push(recognition)
  }

  addAudio(bytes: Uint8Array): void {
    this.#audioBytes += bytes.length
    this.#hash.update(bytes)
  }

  report(): ConnectionReport {
    return {
      number: this.#number,
      over: this.#over,
      started: this.#recognitions.length > 0,
      audioBytes: this.#audioBytes,
      sha256: this.#hash.copy().digest('hex'),
      arrived: this.#recognitions.flatMap(({ reader }) => reader.runs.map(({ source }) => source)),
      foreignSamples: this.#recognitions.reduce((sum, { reader }) => sum + reader.foreignSamples, 0),
      finalized: this.#recognitions.flatMap(({ finalized }) => union(finalized)),
      finalizeRequested: this.finalizeRequested,
      isOpen: this.isOpen,
    }
  }
}

/** Compares what arrived with a source of `sampleCount` samples. */
export const verifySource = (
  connections: readonly ConnectionReport[],
  sampleCount: number,
  sampleRateHz: number,
): VerificationReport => {
  const arrived = connections.flatMap((connection) => connection.arrived)
  const source = [{ from: 0, to: sampleCount }]
  const missing = without(source, arrived)
  const unfinalized = without(
    without(source, missing),
    connections.flatMap(({ finalized }) => finalized),
  )
  const ms = (samples: number): number => (samples * 1_000) / sampleRateHz
  return {
    connections: connections.length,
    missing,
    missingMs: ms(countSamples(missing)),
    unfinalized,
    unfinalizedMs: ms(countSamples(unfinalized)),
    repeatedMs: ms(countSamples(arrived) - countSamples(union(arrived))),
  }
}

/** The same samples in order, each once. */
export const union = (ranges: readonly SampleRange[]): readonly SampleRange[] => {
  const joined: SampleRange[] = []
  for (const range of ranges.filter(({ from, to }) => to > from).toSorted((a, b) => a.from - b.from)) {
    const last = joined.at(-1)
    if (last === undefined || range.from > last.to) joined.push(range)
    else joined[joined.length - 1] = { from: last.from, to: Math.max(last.to, range.to) }
  }
  return joined
}

/** The samples of `ranges` that are not in `removed`. */
export const without = (ranges: readonly SampleRange[], removed: readonly SampleRange[]): readonly SampleRange[] => {
  let remaining = union(ranges)
  for (const { from, to } of union(removed)) {
    remaining = remaining.flatMap((range) =>
      [
        { from: range.from, to: Math.min(range.to, from) },
        { from: Math.max(range.from, to), to: range.to },
      ].filter((part) => part.to > part.from),
    )
  }
  return remaining
}

export const countSamples = (ranges: readonly SampleRange[]): number =>
  ranges.reduce((sum, { from, to }) => sum + to - from, 0)
