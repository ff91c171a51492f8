// The entry point of the client for browsers: one microphone in, results out. A page cannot keep a client secret, so
// tokens come from the page's own server, and `requestToken` is not exported here. Neither is what only Node programs
// need (WAV files, stereo calls, pacing a file, G.711 conversion, the whole error table). `index.ts` exports all of it.
export type { AudioFormat, Encoding } from './audio/format.js'
export type { ErrorCode } from './errors/error-code.js'
export { isSpeechError, SpeechError, type SpeechErrorOptions } from './errors/speech-error.js'
export {
  accumulateMilestones,
  type Transcript,
  type TranscriptChannel,
} from './operators/results/accumulate-milestones.js'
export { chunk, type ChunkOptions } from './operators/audio/chunk.js'
export { deinterleave, type DeinterleaveOptions } from './operators/audio/deinterleave.js'
export { keepFresh, type KeepFreshOptions } from './auth/keep-fresh.js'
export { transcode, type TranscodeOptions } from './operators/audio/transcode.js'
export type {
  AudioEvent,
  ConnectionEvent,
  FinalEvent,
  GapCause,
  MilestoneEvent,
  NodeEvent,
  PartialEvent,
  ResponseEvent,
  SessionEvent,
  UnknownEvent,
  Word,
} from './protocol/session-event.js'
export type { AudioSplitter } from './protocol/recognizer-messages.js'
export type { SessionState } from './protocol/states.js'
export type { Token } from './protocol/token.js'
export type { Recognition, RecognizeOptions, VoiceActivityOptions } from './client/recognizer/recognize-on.js'
export { recognizeInBrowser as recognize } from './client/recognizer/recognize-in-browser.js'
export type { PresentToken, SocketAddress } from './client/recognizer/address.js'
export type { RejectedTokens, TokenSource } from './client/token.js'
export type { SessionOptions } from './client/options.js'
export type { LinkLimits } from './transport/limits.js'
export type { Dial, Link, SocketMessage } from './transport/link.js'
export type { WebSocketDialOptions } from './transport/websocket/dial.js'
