// The door to cassettes, for Node: sessions written down, played again, and drawn.
export type {
  AudioKeeping,
  Cassette,
  CassetteHeader,
  CassetteLine,
  CassetteTransport,
  ConnectionLine,
  DialLine,
  EndingLine,
  EndLine,
  FinishLine,
  LostLine,
  MessageLine,
  OpenLine,
} from './cassette.js'
export { toFile, toStream, type CassetteSink } from './cassette-sink.js'
export type { CassetteLoss, LineWriter } from './line-queue.js'
export type { CassetteMismatch } from './mismatch.js'
export type { PlayClientOptions } from './played-client.js'
export { parseCassette, readCassette, type ReadCassetteOptions } from './read-cassette.js'
export { record, type RecordedSession, type RecordOptions } from './record.js'
export { replay, type Replay, type ReplayOptions } from './replay.js'
export { toMarbles, type ToMarblesOptions } from './to-marbles.js'
