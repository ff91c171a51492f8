import { asyncScheduler, type Observable, type SchedulerLike } from 'rxjs'
import { bytesForMs, validateFormat, type AudioFormat } from '../audio/format.js'
import { SpeechError } from '../errors/speech-error.js'
import { isObservableInput } from '../operators/interop/pull.js'
import { isFixedToken, type RejectedTokens, type TokenSource } from './token.js'
import type { AudioBounds } from './audio/replay-buffer.js'
import {
  optionalBoolean,
  optionalMethods,
  optionalObservable,
  optionalWhole,
  positiveMs,
  optionalFunction,
} from './option-checks.js'
import type { Resumption, SessionSettings } from './settings.js'

export type { TokenSource } from './token.js'

/** What both kinds of sessions take. */
export interface SessionOptions {
  /** What the bytes of the source are. */
  readonly format: AudioFormat
  /**
   * The token, or where it comes from, such as `requestToken`. A source is asked when the session begins; its token is
   * used over all connections until it is near its end (60 s, or a twentieth of its life if that is less) or refused.
   * A source that fails while the token in hand is still good costs nothing. When the service refuses a token as
   * `unauthenticated`, the source is asked once more, and a token that differs is tried; then the error comes out.
   */
  readonly token: TokenSource
  /**
   * Told of the token that was refused: the same `Subject` as `rejected$` of `keepFresh` makes that request another
   * one. A source that requests one for each subscription, such as `requestToken`, does not need it.
   */
  readonly rejected$?: RejectedTokens
  /** Ends the audio before the source does: what came until then is flushed and the final awaited. */
  readonly finalize$?: Observable<unknown>
  /** Ends the session without its pending results: they are dropped, and the service is told so. */
  readonly stop$?: Observable<unknown>
  /**
   * Milliseconds of audio held while the service cannot take it: before the start-response and when the network is
   * slower than the source. What does not fit is told as a `gap`. Only a pushed source (an Observable, a promise) can
   * overrun it; an iterable or a stream waits. Default 60,000.
   */
  readonly maxBufferMs?: number
  /** The longest message of audio, in bytes; longer chunks are split between samples. Default 65,536. */
  readonly maxAudioMessageBytes?: number
  /** How long the token may take, in milliseconds; then `token-timeout`. Default 20,000. */
  readonly tokenTimeoutMs?: number
  /** How long the connection may take, in milliseconds; then `connect-timeout`. Default 10,000. */
  readonly connectTimeoutMs?: number
  /** How long the start-response may take, in milliseconds; then `start-timeout`. Default 10,000. */
  readonly startTimeoutMs?: number
  /**
   * How long the service can take for the last results, in milliseconds, before the session fails with `finalize-timeout`.
   * It restarts with each result that makes more audio definitive and, while buffered audio is still being sent, whenever
   * the network accepts more of it. @default 30,000
   */
  readonly finalizeTimeoutMs?: number
  /** How long the answer to a stop may take, in milliseconds; then `stop-timeout`. Default 5,000. */
  readonly stopTimeoutMs?: number
  /**
   * Whether and how the session goes on over another connection when it loses one that it had: what has no definitive
   * result is sent again there, and results go on as one stream. `false`: it fails at once. Default: it does, for 60 s.
   */
  readonly resumption?: boolean | ResumptionOptions
  /**
   * Whether the session lasts as long as its source. A service ends a recognition by itself after a silence, without audio
   * or at a limit; the session tells its `final` and begins the next recognition when there is something to be heard, on
   * one timeline. `false`: one recognition; its final completes the session, what was captured behind it is a `gap`.
   * @default true
   */
  readonly continuous?: boolean
  /**
   * How long the service may say nothing at all while audio flows before that is told as `silent`, in milliseconds.
   * Default 20,000.
   */
  readonly silenceTimeoutMs?: number
  /** Whose clock the deadlines follow; `asyncScheduler` unless given. */
  readonly scheduler?: SchedulerLike
}

/** Throws `invalid-format` or `invalid-options` with the name of the option that is not right. */
export const resolveSessionOptions = (options: SessionOptions): SessionSettings => {
  const { token, rejected$, finalize$, stop$, scheduler } = options
  const bounds = boundsOf(options)
  checkToken(token)
  optionalMethods('rejected$', rejected$, 'next')
  optionalObservable('finalize$', finalize$)
  optionalObservable('stop$', stop$)
  optionalBoolean('continuous', options.continuous)
  optionalMethods('scheduler', scheduler, 'now', 'schedule')
  return {
    token,
    rejected$,
    finalize$,
    stop$,
    scheduler: scheduler ?? asyncScheduler,
    resumption: resolveResumption(options.resumption),
    continuous: options.continuous ?? true,
    silenceTimeoutMs: positiveMs('silenceTimeoutMs', options.silenceTimeoutMs, 20_000),
    bounds,
    deadlines: deadlinesOf(options),
  }
}

const deadlinesOf = (options: SessionOptions): SessionSettings['deadlines'] => {
  const finalizing = positiveMs('finalizeTimeoutMs', options.finalizeTimeoutMs, 30_000)
  return {
    authorizing: positiveMs('tokenTimeoutMs', options.tokenTimeoutMs, 20_000),
    connecting: positiveMs('connectTimeoutMs', options.connectTimeoutMs, 10_000),
    starting: positiveMs('startTimeoutMs', options.startTimeoutMs, 10_000),
    draining: finalizing,
    finalizing,
    stopping: positiveMs('stopTimeoutMs', options.stopTimeoutMs, 5_000),
    closing: 1_000,
  }
}

const boundsOf = (options: SessionOptions): AudioBounds => {
  const { format, maxBufferMs, maxAudioMessageBytes } = options
  // The longest frame, of two samples of PCM, takes 4 bytes.
  optionalWhole('maxAudioMessageBytes', maxAudioMessageBytes, 4)
  return {
    format: validateFormat(format),
    maxBufferMs: positiveMs('maxBufferMs', maxBufferMs, 60_000),
    maxAudioMessageBytes: maxAudioMessageBytes ?? 65_536,
    maxReplayBytes: maxReplayBytesOf(options, replayMs),
    maxPulledReplayBytes: maxReplayBytesOf(options, pulledReplayMs),
    preRollMs: defaultPreRollMs,
  }
}

const replayMs = 60_000
/** A source that waits is sent as fast as the network takes it, far ahead of what the service has read. */
const pulledReplayMs = 600_000

/** For a source that waits to be asked. */
export const pulledBounds = (bounds: AudioBounds): AudioBounds => ({
  ...bounds,
  maxBufferMs: Infinity,
  maxReplayBytes: bounds.maxPulledReplayBytes,
})

/**
 * More than services keep of the audio before speech (docs/PROTOCOL.md, 7), and time for them to learn the noise of the
 * line; less than they take at once.
 */
const defaultPreRollMs = 3_000

/** What a service is asked to do with silence, where the client knows it; in milliseconds. */
export interface SilenceRules {
  readonly preSpeechMs: number
  /** 0: silence does not end a recognition. */
  readonly gracefulMs: number
}

/** With the pre-roll that the service needs: what it keeps before speech; and less than a silence that would end it again. */
export const withPreRoll = (settings: SessionSettings, { preSpeechMs, gracefulMs }: SilenceRules): SessionSettings => {
  const endsMs = gracefulMs === 0 ? Infinity : gracefulMs
  const neededMs = Math.max(preSpeechMs + 200, Math.min(defaultPreRollMs, endsMs / 2))
  const preRollMs = Math.min(neededMs, endsMs * 0.75)
  return { ...settings, bounds: { ...settings.bounds, preRollMs } }
}

const maxReplayBytesOf = (options: SessionOptions, defaultMs: number): number => {
  const { format, resumption, continuous = true } = options
  // Neither another connection nor another recognition follows.
  if (resumption === false && !continuous) return 0
  const given = typeof resumption === 'object' ? resumption.maxReplayBytes : undefined
  return given ?? bytesForMs(validateFormat(format), defaultMs)
}

/** What was given is not printed: it may be a token in the wrong place. */
const checkToken = (token: unknown): void => {
  if (typeof token === 'string' ? token !== '' : isObservableInput(token)) return
  if (typeof token === 'object' && token !== null && isFixedToken(token as TokenSource)) {
    const { accessToken } = token as { readonly accessToken: unknown }
    if (typeof accessToken === 'string' && accessToken !== '') return
  }
  throw new SpeechError('invalid-options', 'token must be a token that is not empty, or an Observable of tokens.')
}

/** How a session goes on after its connection was lost. */
export interface ResumptionOptions {
  /**
   * How long it is tried before the session fails, in milliseconds, from the loss on; it begins anew once the service has
   * made progress. Default 60,000.
   */
  readonly budgetMs?: number
  /** The longest wait before the first attempt, in milliseconds; it doubles with each. Default 500. */
  readonly firstDelayMs?: number
  /** The longest wait before any attempt, in milliseconds. Default 10,000. */
  readonly maxDelayMs?: number
  /**
   * How much audio is kept that was sent and has no definitive result yet, in bytes of the source. What the service has
   * not settled beyond that is told as a `gap` if the connection is lost. Default: 60 seconds of the format; 600 of a source
   * that is pulled, for that is sent as fast as the network takes it.
   */
  readonly maxReplayBytes?: number
  /**
   * How long a connection is used before another one takes over, in milliseconds: less than the service lets a session
   * last. Default 14,100,000, which is 5 minutes less than 4 hours.
   */
  readonly maxConnectionMs?: number
  /** From 0 up to 1, as `Math.random`: the share of the longest wait that is waited (full jitter). */
  readonly random?: () => number
}

/** Throws `invalid-options` with the name of the option that is not right. */
export const resolveResumption = (given: unknown): Resumption | undefined => {
  if (given === false) return undefined
  if (given !== undefined && given !== true && (typeof given !== 'object' || given === null)) {
    throw new SpeechError('invalid-options', 'resumption must be true, false or an object of options.')
  }
  const options: ResumptionOptions = typeof given === 'object' ? given : {}
  optionalFunction('resumption.random', options.random)
  optionalWhole('resumption.maxReplayBytes', options.maxReplayBytes, 0)
  const firstDelayMs = positiveMs('resumption.firstDelayMs', options.firstDelayMs, 500)
  return {
    budgetMs: positiveMs('resumption.budgetMs', options.budgetMs, 60_000),
    firstDelayMs,
    maxDelayMs: Math.max(firstDelayMs, positiveMs('resumption.maxDelayMs', options.maxDelayMs, 10_000)),
    maxConnectionMs: positiveMs('resumption.maxConnectionMs', options.maxConnectionMs, 14_100_000),
    random: options.random ?? Math.random,
  }
}

/**
 * How often a session asks whether its peer is there unless `heartbeatMs` or `keepaliveMs` say otherwise, in
 * milliseconds; one that is not is noticed before the second time is over, that is within 10 s.
 */
export const defaultHeartbeatMs = 4_500
