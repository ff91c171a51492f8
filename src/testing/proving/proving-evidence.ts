import { createHash, type Hash } from 'node:crypto'
import type { ProvingRecognition } from './proving-recognition.js'
import { countSamples, union, without, type SampleRange } from './sample-ranges.js'

/** What one connection brought. */
export interface ConnectionEvidence {
  /** From 1, in the order in which they were made. */
  readonly number: number
  readonly over: 'websocket' | 'grpc'
  /** Whether its token was accepted and its start understood. */
  readonly started: boolean
  readonly audioBytes: number
  /** SHA-256 of all bytes of audio, in the order in which they came, in hexadecimal. */
  readonly sha256: string
  /** Which samples of the source came, in order. */
  readonly arrived: readonly SampleRange[]
  /** Samples that are of no position audio. */
  readonly foreignSamples: number
  /** Which of them a milestone was said of. */
  readonly finalized: readonly SampleRange[]
  readonly finalizeAsked: boolean
  readonly isOpen: boolean
}

/** What all connections together prove of a source. */
export interface Proof {
  readonly connections: number
  /** Samples that came on no connection. */
  readonly missing: readonly SampleRange[]
  readonly missingMs: number
  /** Samples that came, and that no milestone of any connection covers. */
  readonly unfinalized: readonly SampleRange[]
  readonly unfinalizedMs: number
  /** How much came more than once. */
  readonly repeatedMs: number
}

/** Keeps the account of one connection. */
export class ConnectionRecord {
  readonly #hash: Hash = createHash('sha256')
  #audioBytes = 0
  #recognitions: readonly ProvingRecognition[] = []
  finalizeAsked = false
  isOpen = true

  constructor(
    private readonly number: number,
    private readonly over: 'websocket' | 'grpc',
  ) {}

  get audioBytes(): number {
    return this.#audioBytes
  }

  begin(recognition: ProvingRecognition): void {
    this.#recognitions = [...this.#recognitions, recognition]
  }

  take(bytes: Uint8Array): void {
    this.#audioBytes += bytes.length
    this.#hash.update(bytes)
  }

  evidence(): ConnectionEvidence {
    return {
      number: this.number,
      over: this.over,
      started: this.#recognitions.length > 0,
      audioBytes: this.#audioBytes,
      sha256: this.#hash.copy().digest('hex'),
      arrived: this.#recognitions.flatMap(({ reader }) => reader.runs.map(({ source }) => source)),
      foreignSamples: this.#recognitions.reduce((sum, { reader }) => sum + reader.foreignSamples, 0),
      finalized: this.#recognitions.flatMap(({ finalized }) => union(finalized)),
      finalizeAsked: this.finalizeAsked,
      isOpen: this.isOpen,
    }
  }
}

/** Holds what came against a source of so many samples. */
export const prove = (connections: readonly ConnectionEvidence[], sampleCount: number, sampleRateHz: number): Proof => {
  const all = connections.flatMap(({ arrived }) => arrived)
  const source = [{ from: 0, to: sampleCount }]
  const missing = without(source, all)
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
    repeatedMs: ms(countSamples(all) - countSamples(union(all))),
  }
}
