import type { Observable, ObservableInput, SchedulerLike } from 'rxjs'
import { validateFormat, type AudioFormat } from '../audio/format.js'
import { SpeechError } from '../errors/speech-error.js'
import type { Token } from '../protocol/token.js'

/** A token itself, or where one comes from: the first one that it emits is taken when the session begins. */
export type TokenSource = string | Token | ObservableInput<string | Token>

/** What both kinds of sessions take. */
export interface SessionOptions {
  /** What the bytes of the source are. */
  readonly format: AudioFormat
  readonly token: TokenSource
  /** Ends the audio before the source does: what came until then is flushed and the final awaited. */
  readonly finalize$?: Observable<unknown>
  /** Ends the session without its pending results: they are dropped, and the service is told so. */
  readonly stop$?: Observable<unknown>
  /**
   * Milliseconds of audio held while the service cannot take it: before the start-response and when the network is
   * slower than the source. What does not fit is told as a `gap`. Only a pushed source (an Observable) can overrun it;
   * an iterable or a stream waits. Default 60,000.
   */
  readonly maxBufferMs?: number
  /** The longest message of audio, in bytes; longer chunks are split between samples. Default 65,536. */
  readonly maxAudioMessageBytes?: number
  /** How long a token, the connection, the start-response, the final and the stop-response may take, in milliseconds. */
  readonly tokenTimeoutMs?: number
  readonly connectTimeoutMs?: number
  readonly startTimeoutMs?: number
  readonly finalizeTimeoutMs?: number
  readonly stopTimeoutMs?: number
  /** Whose clock the deadlines follow; `asyncScheduler` unless given. */
  readonly scheduler?: SchedulerLike
}

export interface Deadlines {
  readonly authorizing: number
  readonly connecting: number
  readonly starting: number
  readonly finalizing: number
  readonly stopping: number
}

/** The deadlines of the options, or their defaults; each must be a positive number of milliseconds. */
export const deadlinesOf = (options: SessionOptions): Deadlines => ({
  authorizing: positiveMs('tokenTimeoutMs', options.tokenTimeoutMs, 20_000),
  connecting: positiveMs('connectTimeoutMs', options.connectTimeoutMs, 10_000),
  starting: positiveMs('startTimeoutMs', options.startTimeoutMs, 10_000),
  finalizing: positiveMs('finalizeTimeoutMs', options.finalizeTimeoutMs, 30_000),
  stopping: positiveMs('stopTimeoutMs', options.stopTimeoutMs, 5_000),
})

const longestTimerMs = 2 ** 31 - 1

const positiveMs = (name: string, value: number | undefined, fallback: number): number => {
  if (value === undefined) return fallback
  if (value > 0 && value <= longestTimerMs) return value
  throw new SpeechError(
    'invalid-options',
    `${name} must be from 1 to ${longestTimerMs} milliseconds, not ${String(value)}.`,
  )
}

const defaultMaxBufferMs = 60_000
const defaultMaxMessageBytes = 65_536

/** The bounds of the audio on its way out, checked. */
export const audioBoundsOf = (
  options: SessionOptions,
): { readonly format: AudioFormat; readonly maxBufferMs: number; readonly maxAudioMessageBytes: number } => {
  const format = validateFormat(options.format)
  const { maxAudioMessageBytes = defaultMaxMessageBytes } = options
  if (!(maxAudioMessageBytes >= 4)) {
    throw new SpeechError(
      'invalid-options',
      `maxAudioMessageBytes must be at least 4, not ${String(maxAudioMessageBytes)}.`,
    )
  }
  return {
    format,
    maxBufferMs: positiveMs('maxBufferMs', options.maxBufferMs, defaultMaxBufferMs),
    maxAudioMessageBytes,
  }
}

/** A required text of the options. */
export const requiredText = (name: string, value: unknown): string => {
  if (typeof value === 'string' && value !== '') return value
  throw new SpeechError('invalid-options', `${name} must be a string that is not empty.`)
}
