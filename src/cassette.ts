/**
 * The entry point of cassettes, for Node: sessions are recorded and replayed.
 *
 * @module rxspeech/cassette
 */
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
} from './cassette/format/cassette.js'
export { parseCassette, readCassette, type ReadCassetteOptions } from './cassette/format/read-cassette.js'
export type { CassetteLoss, LineWriter } from './cassette/record/line-queue.js'
export { record, type Recordable, type RecordedSession, type RecordOptions } from './cassette/record/record.js'
export { toFile, toStream, type CassetteSink, type OpenableSink } from './cassette/record/sink.js'
export type { PlayClientOptions } from './cassette/replay/client-player.js'
export { replay, type Replay, type ReplayOptions } from './cassette/replay/replay.js'
export type { CassetteMismatch } from './cassette/replay/service-player.js'
