/**
 * The entry point of the client, in Node and in browsers: the names and types are the same, and what a browser cannot do
 * says so when it is called. gRPC has its own entry point, `rxspeech/grpc`, and so has the service, `rxspeech-service`.
 *
 * @module rxspeech
 */
export {
  type AudioFormat,
  type Encoding,
  bytesForMs,
  bytesPerFrame,
  bytesPerSample,
  bytesPerSecond,
  msForBytes,
  validateFormat,
} from './audio/format.js'
export { decodeALaw, decodeMuLaw, encodeALaw, encodeMuLaw } from './audio/g711.js'
export { bytesOf, samplesOf } from './audio/pcm.js'
export type { ByteBlob, ByteChunks, ByteStream } from './audio/byte-reader.js'
export { readWav, type WavStream } from './audio/read-wav.js'
export { wavHeader } from './audio/wav-header.js'
export { requestToken } from './auth/request-token.js'
export type { RequestTokenOptions, TokenFetch, TokenFetchResponse, TokenRequestInit } from './auth/token-fetch.js'
export { errorTable, type ErrorCode, type ErrorRow, type ErrorTrait } from './errors/error-table.js'
export { isSpeechError, SpeechError, type SpeechErrorOptions } from './errors/speech-error.js'
export {
  accumulateMilestones,
  type Transcript,
  type TranscriptChannel,
} from './operators/results/accumulate-milestones.js'
export type { CaptionCue, CaptionLine, CueTimes } from './operators/captions/caption-cue.js'
export type { CaptionOptions } from './operators/captions/caption-options.js'
export { checkSound, type CheckSoundOptions } from './operators/audio/check-sound.js'
export type { SoundFault, SoundWarning } from './audio/sound-check/sound-warning.js'
export { chunk, type ChunkOptions } from './operators/audio/chunk.js'
export {
  describeLedger,
  ledger,
  type LedgerAccount,
  type LedgerReport,
  type LedgerState,
} from './operators/metrics/ledger.js'
export type { DropSum, LedgerDrop } from './operators/metrics/drop-counter.js'
export {
  metrics,
  type SessionMetrics,
  type MetricsOptions,
  type MetricsSummary,
  type MetricsUpdate,
  type DistributionName,
} from './operators/metrics/metrics.js'
export { sampleClock, type SampleClock, type SampleClockOptions } from './operators/metrics/sample-clock.js'
export type { Distribution } from './operators/metrics/histogram.js'
export { deinterleave, type DeinterleaveOptions } from './operators/audio/deinterleave.js'
export { interleave, type InterleaveOptions, type SkewReport } from './operators/audio/interleave.js'
export { keepFresh, type KeepFreshOptions } from './auth/keep-fresh.js'
export { pace, type PaceOptions } from './operators/audio/pace.js'
export { toCaptions } from './operators/captions/to-captions.js'
export { toSrt, toWebVtt, type CaptionFileOptions } from './operators/captions/caption-files.js'
export type { EventQueueOptions } from './operators/interop/event-queue.js'
export { eventsOf, type EventsOfOptions } from './operators/interop/events-of.js'
export {
  startSession,
  type SessionEnd,
  type SessionHandle,
  type StartSessionOptions,
} from './operators/interop/start-session.js'
export { toReadableStream } from './operators/interop/to-readable-stream.js'
export { untilAborted, whenAborted } from './operators/interop/until-aborted.js'
export { transcode, type TranscodeOptions } from './operators/audio/transcode.js'
export type {
  AudioEvent,
  ConnectionEvent,
  FinalEvent,
  GapCause,
  GapEvent,
  LedgerEvent,
  MilestoneEvent,
  NodeEvent,
  PartialEvent,
  ReconnectingEvent,
  ResponseEvent,
  ResumedEvent,
  SessionEvent,
  SilentEvent,
  Slots,
  StateEvent,
  UnknownEvent,
  Word,
} from './protocol/session-event.js'
export type { AudioSplitter, RejectLevel } from './protocol/recognition-parameters.js'
export type { ProxyOption } from './protocol/proxy-option.js'
export type { AnnouncedState, SessionState } from './protocol/states.js'
export type { Token } from './protocol/token.js'
export { recognize } from './client/recognizer/recognize.js'
export { failover, type FailoverOptions, type WithUrls } from './client/failover/failover.js'
export type { PlannedRecognition, Recognition, RecognitionPlan } from './client/session.js'
export type { OpenTelemetry, OpenTelemetrySpan, SpanAttributes } from './tracing/open-telemetry.js'
export type { SpanIds } from './tracing/traceparent.js'
export type { RecognizeOptions } from './client/recognizer/recognize-on.js'
export type { PresentToken, SocketAddress } from './client/recognizer/address.js'
export type { RejectedTokens, TokenSource } from './client/token.js'
export type {
  BufferOptions,
  ResumptionOptions,
  SessionOptions,
  SessionTestingOptions,
  TestingOptions,
  TimeoutOptions,
} from './client/options.js'
export type { RecognitionOptions, VoiceActivityOptions } from './client/recognition-options.js'
export type { Certificates, LinkLimits } from './transport/limits.js'
export type { CloseReason, Dial, Link, SocketMessage } from './transport/link.js'
export type { SocketClass, WebSocketDialOptions } from './transport/websocket/dial.js'
export type { Socket, SocketEvents } from './transport/websocket/socket.js'
