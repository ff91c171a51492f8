/**
 * Sessions with a speech service as Observables, in Node and in browsers: the names and types are the same, and what a
 * browser cannot do says so when it is called. gRPC, captions, primitives of audio, microphones, cassettes and tests
 * have entry points of their own, and so has the service, `rxspeech-service`.
 *
 * @module rxspeech
 */

// Audio in

export type { AudioFormat, Encoding } from './audio/format.js'
export type { ByteBlob, ByteChunks, ByteStream } from './audio/byte-reader.js'
export { readWav, type WavStream } from './audio/read-wav.js'
export { checkSound, type CheckSoundOptions } from './operators/audio/check-sound.js'
export type { SoundFault, SoundWarning } from './audio/sound-check/sound-warning.js'
export { chunk, type ChunkOptions } from './operators/audio/chunk.js'
export { deinterleave, type DeinterleaveOptions } from './operators/audio/deinterleave.js'
export { interleave, type InterleaveOptions, type SkewReport } from './operators/audio/interleave.js'
export { pace, type PaceOptions } from './operators/audio/pace.js'
export { transcode, type TranscodeOptions } from './operators/audio/transcode.js'

// Session

export { recognize } from './client/recognizer/recognize.js'
export { failover, type FailoverOptions } from './client/failover/failover.js'
export { requestToken } from './auth/request-token.js'
export type { RequestTokenOptions, TokenFetch, TokenFetchResponse, TokenRequestInit } from './auth/token-fetch.js'
export { keepFresh, type KeepFreshOptions } from './auth/keep-fresh.js'
export type { Token } from './protocol/token.js'
export type { RejectedTokens, TokenSource } from './client/token.js'
export type { PlannedRecognition, Recognition, RecognitionPlan } from './client/session.js'
export type { RecognizeOptions } from './client/recognizer/recognize-on.js'
export type { PresentToken, SocketAddress } from './client/recognizer/address.js'
export type { BufferOptions, ResumptionOptions, SessionOptions, TimeoutOptions } from './client/options.js'
export type { RecognitionOptions, VoiceActivityOptions } from './client/recognition-options.js'
export type { AudioSplitter, RejectLevel } from './protocol/recognition-parameters.js'
export type { Certificates, ConnectionOptions, LinkLimits } from './transport/limits.js'
export type { ProxyOption } from './protocol/proxy-option.js'
export type { SocketClass } from './transport/websocket/dial.js'
export type { Socket, SocketEvents } from './transport/websocket/socket.js'
export type { OpenTelemetry, OpenTelemetrySpan, SpanAttributes } from './tracing/open-telemetry.js'
export type { SpanIds } from './tracing/traceparent.js'

// Events of a session

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
export type { AnnouncedState, SessionState } from './protocol/states.js'

// Text out

export { transcript, type Transcript, type TranscriptChannel } from './operators/results/transcript.js'

export { spot, type SpottedPhrase } from './operators/phrases/spot.js'

// State and measurements of a session

export {
  sessionState,
  type ReconnectingStage,
  type SessionStage,
  type SessionStateOptions,
  type SessionStatus,
} from './operators/session-state.js'
export { ledger, type LedgerAccount, type LedgerReport, type LedgerState } from './operators/metrics/ledger.js'
export type { DropSum, LedgerDrop } from './operators/metrics/drop-counter.js'
export {
  metrics,
  type SessionMetrics,
  type MetricsOptions,
  type MetricsSummary,
  type MetricsUpdate,
  type DistributionName,
} from './operators/metrics/metrics.js'
export type { Distribution } from './operators/metrics/histogram.js'
export type { SampleClock } from './operators/metrics/sample-clock.js'

// Sessions without RxJS

export {
  startSession,
  type SessionEnd,
  type SessionHandle,
  type StartSessionOptions,
} from './operators/interop/start-session.js'
export { toAsyncIterable } from './operators/interop/to-async-iterable.js'
export { toReadableStream } from './operators/interop/to-readable-stream.js'
export type { EventQueueOptions } from './operators/interop/event-queue.js'
export { fromAbortSignal } from './operators/interop/from-abort-signal.js'

// Errors

export { errorTable, type ErrorCode, type ErrorRow, type ErrorTrait } from './errors/error-table.js'
export { isSpeechError, SpeechError, type SpeechErrorOptions } from './errors/speech-error.js'
