import type { SpeechError } from '../errors/speech-error.js'
import type { SessionEvent } from '../protocol/session-event.js'

/** What a message of the service means for the life of the session. */
export type Meaning =
  /** The answer to one of our requests; with an error when it was refused. */
  | { readonly type: 'start-answer' | 'finalize-answer' | 'stop-answer'; readonly error?: SpeechError }
  /** The last word of a service that ends a session with one (the WebSocket's final-result). */
  | { readonly type: 'last-word'; readonly error?: SpeechError }
  | { readonly type: 'none' }

/** A message of the service, read: what the user gets of it, and what it means. */
export interface Heard {
  readonly event: SessionEvent
  readonly meaning: Meaning
}

/**
 * What is said over a link and how it is understood: all that differs between the two interfaces once they are
 * connected. A dialogue belongs to one session. Nothing in it throws.
 */
export interface Dialogue<In, Out> {
  readonly start: (token: string) => Out
  readonly audio: (bytes: Uint8Array) => Out
  /** The request to finalize; undefined where half-closing the link says it. */
  readonly finalize: () => Out | undefined
  readonly stop: () => Out
  readonly read: (message: In) => Heard
  /** Whether the end of the stream, in good order, ends the session (gRPC), or only a last word does (WebSocket). */
  readonly endsWith: 'end-of-stream' | 'last-word'
}
