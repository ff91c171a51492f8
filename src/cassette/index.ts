// The entry point of cassettes, for Node: sessions are recorded, replayed and drawn.
export type {
  AudioStorage,
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
} from './format/cassette.js'
export { toMarbles, type ToMarblesOptions } from './chart/to-marbles.js'
export { parseCassette, readCassette, type ReadCassetteOptions } from './format/read-cassette.js'
export type { CassetteLoss, LineWriter } from './record/line-queue.js'
export { record, type RecordedSession, type RecordOptions } from './record/record.js'
export { toFile, toStream, type CassetteSink } from './record/sink.js'
export type { PlayClientOptions } from './replay/client-player.js'
export { replay, type Replay, type ReplayOptions } from './replay/replay.js'
export type { CassetteMismatch } from './replay/service-player.js'
