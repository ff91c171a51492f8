import type { Observable, SchedulerLike } from 'rxjs'
import type { SpeechError } from '../errors/speech-error.js'
import type { AudioBounds } from './audio/replay-buffer.js'
import type { RejectedTokens, TokenSource } from './token.js'

/** The phases that wait for the service or the token source and have a deadline. */
export type Wait = 'authorizing' | 'connecting' | 'starting' | 'draining' | 'finalizing' | 'stopping' | 'closing'

/** The validated options of a session, with their defaults. */
export interface SessionSettings {
  readonly token: TokenSource
  readonly rejected$: RejectedTokens | undefined
  readonly finalize$: Observable<unknown> | undefined
  readonly stop$: Observable<unknown> | undefined
  readonly bounds: AudioBounds
  /** The maximum duration of each phase that waits, in milliseconds. */
  readonly deadlines: Readonly<Record<Wait, number>>
  readonly resumption: Resumption | undefined
  readonly continuous: boolean
  readonly silenceMs: number
  readonly scheduler: SchedulerLike
}

/** The validated resumption options, with their defaults. */
export interface Resumption {
  readonly budgetMs: number
  readonly maxDelayMs: number
  readonly maxConnectionMs: number
  /** The delay before an attempt, from 1, after an error at a time, in milliseconds. */
  readonly delayMs: (attempt: number, error: SpeechError, atMs: number) => number
}
