import { asyncScheduler, type Observable, type SchedulerLike } from 'rxjs'
import { bytesForMs, validateFormat, type AudioFormat } from '../audio/format.js'
import { isObservableInput } from '../operators/interop/pull.js'
import { maxTimerMs } from '../kernel/timers.js'
import type { ProxyOption } from '../protocol/proxy-option.js'
import {
  anything,
  codec,
  eitherOf,
  flag,
  functionValue,
  milliseconds,
  objectWith,
  observableValue,
  optionsOf,
  schedulerValue,
  wholeNumber,
} from '../protocol/validation.js'
import { linkLimitCodecs, lowWaterMarkOf, type Certificates, type LinkLimits } from '../transport/limits.js'
import type { Dial } from '../transport/link.js'
import { isFixedToken, type RejectedTokens, type TokenSource } from './token.js'
import type { AudioBounds } from './audio/replay-buffer.js'
import type { Resumption, SessionSettings } from './settings.js'

export type { TokenSource } from './token.js'

/** The options that `recognize` and `dataflow` share. */
export interface SessionOptions extends LinkLimits {
  /** The address of the service; see the options of `recognize` and of `dataflow`. */
  readonly url: string
  /** The format of the bytes of the source. */
  readonly format: AudioFormat
  /**
   * The token, or where it comes from, such as `requestToken`. A source is asked when the session begins; its token is
   * used over all connections until it is near its end (60 s, or a twentieth of its life if that is less) or refused.
   * A source that fails while the token in hand is still good costs nothing. When the service refuses a token as
   * `unauthenticated`, the source is asked once more, and a token that differs is tried; then the error comes out.
   */
  readonly token: TokenSource
  /**
   * Gets each token that the service refused: the same `Subject` as `rejected$` of `keepFresh` makes that request another
   * one. A source that requests one for each subscription, such as `requestToken`, does not need it.
   * @default none
   */
  readonly rejected$?: RejectedTokens | undefined
  /**
   * CA certificates in PEM, in place of the system's. Not in browsers, which have their own: `invalid-options`.
   * @default the certificates of the system
   */
  readonly ca?: Certificates | undefined
  /** Allows a connection without TLS to another machine; the token travels there in clear text. @default false */
  readonly insecure?: boolean | undefined
  /**
   * The HTTP proxy to go through, such as `http://user:password@proxy.example.com:3128`; `false` for none. Not in
   * browsers, which have their own: `invalid-options`.
   * @default what `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` of the environment say
   */
  readonly proxy?: ProxyOption | undefined
  /**
   * How often the service is asked whether it is there (a ping of the WebSocket or of HTTP/2), in milliseconds. A service
   * that does not answer is noticed before the second period is over. 0: never. A gRPC service that wants fewer pings gets
   * none; browsers cannot ping.
   * @default 4500
   */
  readonly heartbeatMs?: number | undefined
  /** Ends the audio before the source does: what came until then is flushed and the final awaited. @default NEVER */
  readonly finalize$?: Observable<unknown> | undefined
  /** Ends the session without its pending results: they are dropped, and the service is told so. @default NEVER */
  readonly stop$?: Observable<unknown> | undefined
  /**
   * Whether the session lasts as long as its source. A service ends a recognition by itself after a silence, without audio
   * or at a limit; the session emits its `final` and begins the next recognition when there is something to be heard, on
   * one timeline. `false`: one recognition; its final completes the session, what was captured behind it is a `gap`.
   * @default true
   */
  readonly continuous?: boolean | undefined
  /** How long the session waits for what. @default {} */
  readonly timeouts?: TimeoutOptions | undefined
  /** How much audio is held, and in what pieces it is sent. @default {} */
  readonly buffer?: BufferOptions | undefined
  /**
   * Whether and how the session continues on another connection when it loses one: what has no definitive result is sent
   * again there, and results go on as one stream. `false`: it fails at once. `true`: with the defaults of `ResumptionOptions`.
   * @default true
   */
  readonly resumption?: boolean | ResumptionOptions | undefined
  /** For tests only: a virtual clock, no jitter, a link in memory. @default {} */
  readonly testing?: SessionTestingOptions | undefined
}

/** How long a session waits, in milliseconds; fractions are allowed, 0 is not. */
export interface TimeoutOptions {
  /** For the token; then `token-timeout`. @default 20_000 */
  readonly tokenMs?: number | undefined
  /** For the connection: name, TCP, TLS and handshake together; then `connect-timeout`. @default 10_000 */
  readonly connectMs?: number | undefined
  /** For the start-response; then `start-timeout`. @default 10_000 */
  readonly startMs?: number | undefined
  /**
   * For the last results; then `finalize-timeout`. It restarts with each result that makes more audio definitive and, while
   * buffered audio is still being sent, whenever the network accepts more of it. @default 30_000
   */
  readonly finalizeMs?: number | undefined
  /** For the answer to a stop; then `stop-timeout`. @default 5_000 */
  readonly stopMs?: number | undefined
  /** For any message of the service while audio flows; then a `silent` event, and the session goes on. @default 20_000 */
  readonly silenceMs?: number | undefined
}

/** The audio that a session holds. */
export interface BufferOptions {
  /**
   * Milliseconds of audio that are held while the service cannot take it: before the start-response and when the network is
   * slower than the source. What does not fit is reported as a `gap`. Only a pushed source (an Observable, a promise) can
   * overrun it; an iterable or a stream waits. @default 60_000
   */
  readonly maxMs?: number | undefined
  /** The longest message of audio, in bytes; longer chunks are split between samples. At least 4. @default 65_536 */
  readonly maxChunkBytes?: number | undefined
}

/** The test seams that both kinds of sessions have. */
export interface SessionTestingOptions {
  /** Jitter of the waits between attempts: from 0 up to 1, the share of the longest wait (full jitter). @default Math.random */
  readonly random?: (() => number) | undefined
  /** The clock of all deadlines and waits, such as a `TestScheduler`. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

/** The test seams of a session: its clock, its random numbers, and its links. */
export interface TestingOptions<DialOptions, Message> extends SessionTestingOptions {
  /**
   * How to connect, instead of over the network; `inMemoryService`, `verifyingService`, `scriptedDial` and `replay` of
   * `rxspeech/testing` and `rxspeech/cassette` give such functions. @default the transport of the session
   */
  readonly dial?: ((options: DialOptions) => Dial<Message, Message>) | undefined
}

/** What was given is not printed: it may be a token in the wrong place. */
const tokenSource = codec(
  'a token that is not empty, or an Observable of tokens',
  // A string is an iterable as well.
  (value): value is TokenSource =>
    typeof value === 'string' ? value !== '' : isToken(value) || isObservableInput(value),
)

const isToken = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null || !isFixedToken(value as TokenSource)) return false
  const { accessToken } = value as { readonly accessToken: unknown }
  return typeof accessToken === 'string' && accessToken !== ''
}

const timeoutOptions = optionsOf<TimeoutOptions>()(
  {},
  {
    tokenMs: milliseconds,
    connectMs: milliseconds,
    startMs: milliseconds,
    finalizeMs: milliseconds,
    stopMs: milliseconds,
    silenceMs: milliseconds,
  },
)

const bufferOptions = optionsOf<BufferOptions>()(
  {},
  // The longest frame, of two samples of PCM, takes 4 bytes.
  { maxMs: milliseconds, maxChunkBytes: wholeNumber({ min: 4 }) },
)

const testingOptions = optionsOf<TestingOptions<never, never>>()(
  {},
  { dial: functionValue, random: functionValue, scheduler: schedulerValue },
)

/** How a session continues after its connection was lost. */
export interface ResumptionOptions {
  /**
   * How long it is tried before the session fails, in milliseconds, from the loss on; it begins anew once the service has
   * made progress. @default 60_000
   */
  readonly budgetMs?: number | undefined
  /** The longest wait before the first attempt, in milliseconds; it doubles with each. @default 500 */
  readonly firstDelayMs?: number | undefined
  /** The longest wait before any attempt, in milliseconds. @default 10_000 */
  readonly maxDelayMs?: number | undefined
  /**
   * How much audio is kept that was sent and has no definitive result yet, in bytes of the source. What the service has
   * not settled beyond that is reported as a `gap` if the connection is lost. @default 60 seconds of the format; 600 of a
   * source that is pulled, for that is sent as fast as the network takes it
   */
  readonly maxReplayBytes?: number | undefined
  /**
   * How long a connection is used before another one takes over, in milliseconds: less than the service lets a session
   * last. @default 14_100_000, which is 5 minutes less than 4 hours
   */
  readonly maxConnectionMs?: number | undefined
}

const resumptionOptions = eitherOf(
  flag,
  optionsOf<ResumptionOptions>()(
    {},
    {
      budgetMs: milliseconds,
      firstDelayMs: milliseconds,
      maxDelayMs: milliseconds,
      maxReplayBytes: wholeNumber({ min: 0 }),
      maxConnectionMs: milliseconds,
    },
  ),
)

/** The codecs of the options that both kinds of sessions take. `validateFormat` and `checkProxy` have errors of their own. */
export const sessionCodecs = {
  required: { format: anything, token: tokenSource },
  optional: {
    ...linkLimitCodecs,
    rejected$: objectWith('next'),
    ca: anything,
    insecure: flag,
    proxy: anything,
    heartbeatMs: wholeNumber({ min: 0, max: maxTimerMs }),
    finalize$: observableValue,
    stop$: observableValue,
    continuous: flag,
    timeouts: timeoutOptions,
    buffer: bufferOptions,
    resumption: resumptionOptions,
    testing: testingOptions,
  },
}

/** Fills in the defaults of options whose codecs were checked. Throws `invalid-format` and `invalid-options`. */
export const resolveSessionOptions = (options: SessionOptions): SessionSettings => {
  const { token, rejected$, finalize$, stop$, resumption, timeouts = {}, testing = {} } = options
  const { finalizeMs = 30_000 } = timeouts
  lowWaterMarkOf(options)
  return {
    token,
    rejected$,
    finalize$,
    stop$,
    scheduler: testing.scheduler ?? asyncScheduler,
    resumption: resolveResumption(resumption, testing.random),
    continuous: options.continuous ?? true,
    silenceMs: timeouts.silenceMs ?? 20_000,
    bounds: boundsOf(options),
    deadlines: {
      authorizing: timeouts.tokenMs ?? 20_000,
      connecting: timeouts.connectMs ?? 10_000,
      starting: timeouts.startMs ?? 10_000,
      draining: finalizeMs,
      finalizing: finalizeMs,
      stopping: timeouts.stopMs ?? 5_000,
      closing: 1_000,
    },
  }
}

const boundsOf = (options: SessionOptions): AudioBounds => ({
  format: validateFormat(options.format),
  maxWaitingMs: options.buffer?.maxMs ?? 60_000,
  maxChunkBytes: options.buffer?.maxChunkBytes ?? 65_536,
  maxReplayBytes: maxReplayBytesOf(options, replayMs),
  maxPulledReplayBytes: maxReplayBytesOf(options, pulledReplayMs),
  preRollMs: defaultPreRollMs,
})

const replayMs = 60_000
/** A source that waits is sent as fast as the network takes it, far ahead of what the service has read. */
const pulledReplayMs = 600_000

/** For a source that waits to be asked. */
export const pulledBounds = (bounds: AudioBounds): AudioBounds => ({
  ...bounds,
  maxWaitingMs: Infinity,
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

const maxReplayBytesOf = ({ format, resumption, continuous = true }: SessionOptions, defaultMs: number): number => {
  // Neither another connection nor another recognition follows.
  if (resumption === false && !continuous) return 0
  const given = typeof resumption === 'object' ? resumption.maxReplayBytes : undefined
  return given ?? bytesForMs(format, defaultMs)
}

export const resolveResumption = (
  resumption: SessionOptions['resumption'] = true,
  random: () => number = Math.random,
): Resumption | undefined => {
  if (resumption === false) return undefined
  const options = resumption === true ? {} : resumption
  const { budgetMs = 60_000, firstDelayMs = 500, maxDelayMs = 10_000, maxConnectionMs = 14_100_000 } = options
  return { budgetMs, firstDelayMs, maxDelayMs: Math.max(firstDelayMs, maxDelayMs), maxConnectionMs, random }
}

/** The default of `heartbeatMs`: a peer that is gone is noticed within two periods, that is within 10 s. */
export const defaultHeartbeatMs = 4_500

/** The options of a preset with those that are given: each replaces that of the preset; of the test seams each one. */
export const completePreset = <Preset extends object, Options extends Pick<SessionOptions, 'testing'>>(
  preset: Preset & { readonly testing: object },
  options: Options,
): Preset & Options => {
  const given = Object.entries(options.testing ?? {}).filter(([, value]) => value !== undefined)
  return { ...preset, ...options, testing: { ...preset.testing, ...Object.fromEntries(given) } }
}
