// The client's door for browsers: what makes sound ready, runs sessions and reads results. What only programs of Node
// need (WAV files, pacing a file, G.711 by hand, the whole error table) is in `index.ts`.
export type { AudioFormat, Encoding } from './audio/format.js'
export { requestToken } from './auth/request-token.js'
export type { RequestTokenOptions } from './auth/token-options.js'
export type { ErrorCode } from './errors/error-code.js'
export { isSpeechError, SpeechError } from './errors/speech-error.js'
export { accumulateMilestones, type Transcript, type TranscriptLane } from './operators/accumulate-milestones.js'
export { chunk, type ChunkOptions } from './operators/chunk.js'
export { deinterleave, type DeinterleaveOptions } from './operators/deinterleave.js'
export { interleave, type InterleaveOptions } from './operators/interleave.js'
export { keepFresh, type KeepFreshOptions } from './operators/keep-fresh.js'
export { transcode, type TranscodeOptions } from './operators/transcode.js'
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
export type { SessionState } from './protocol/states.js'
export type { Token } from './protocol/token.js'
export type { RecognizeOptions, VoiceActivityOptions } from './session/recognize.js'
export { recognizeInBrowser as recognize } from './session/recognize-in-browser.js'
export type { PresentToken, SocketAddress } from './session/present-token.js'
export type { SessionOptions, TokenSource } from './session/session-options.js'
export type { Dial, Link, SocketMessage } from './transport/link.js'
