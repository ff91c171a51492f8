import { asyncScheduler, type Observable, type SchedulerLike } from 'rxjs'
import { bytesForMs, validateFormat, type AudioFormat } from '../audio/format.js'
import { isObservableInput } from '../operators/interop/pull.js'
import { backoffMs } from '../kernel/backoff.js'
import {
  anything,
  codec,
  durationMs,
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
import {
  linkLimitCodecs,
  lowWaterMarkOf,
  type Certificates,
  type ConnectionOptions,
  type LinkLimits,
} from '../transport/limits.js'
import type { Dial } from '../transport/link.js'
import type { OpenTelemetry } from '../tracing/open-telemetry.js'
import { token, type RejectedTokens, type TokenSource } from './token.js'
import type { AudioBounds } from './audio/replay-buffer.js'
import type { Resumption, SessionSettings } from './settings.js'

export type { TokenSource } from './token.js'

/** The options that `recognize` and `dataflow` share. */
export interface SessionOptions {
  /** The address of the service; see the options of `recognize` and of `dataflow`. */
  readonly url: string
  /** The format of the bytes of the source. */
  readonly format: AudioFormat
  /**
   * The token, or a source of tokens such as `requestToken`. The session requests a token from the source when it
   * begins, and uses it for all connections until it is about to expire (60 s before, or a twentieth of its lifetime if
   * that is shorter) or is refused. If the source fails while the current token is still valid, the session continues
   * with that token. If the service refuses a token as `unauthenticated`, the session requests another one, once, and
   * tries it if it differs; otherwise the session fails with the error.
   */
  readonly token: TokenSource
  /**
   * Receives each token that the service refused. Pass the same `Subject` as `rejected$` of `keepFresh`, which then
   * requests another token. A source that makes a request for each subscription, such as `requestToken`, does not need
   * it. @default none
   */
  readonly rejected$?: RejectedTokens | undefined
  /** How the connections are made and checked: certificates, proxy, pings. @default {} */
  readonly connection?: ConnectionOptions | undefined
  /** The limits of the messages, and of the bytes that wait for the network. @default {} */
  readonly link?: LinkLimits | undefined
  /**
   * The first value ends the audio before the source does: the session sends the audio that it has received, and waits
   * for the final. @default NEVER
   */
  readonly finalize$?: Observable<unknown> | undefined
  /**
   * The first value stops the session: it drops pending audio and results, and asks the service to stop. @default NEVER
   */
  readonly stop$?: Observable<unknown> | undefined
  /**
   * Whether the session lasts as long as its source. A service ends a recognition by itself after a silence, without
   * audio or at a limit. The session then emits the `final` and starts the next recognition with the next sound; times
   * continue on one timeline. `false`: the session has one recognition. Its final completes the session, and audio
   * captured after that recognition is reported as a `gap`. @default true
   */
  readonly continuous?: boolean | undefined
  /** The deadlines of the session. @default {} */
  readonly timeouts?: TimeoutOptions | undefined
  /** How much audio the session buffers, and the size of its messages. @default {} */
  readonly buffer?: BufferOptions | undefined
  /**
   * Whether and how the session continues on another connection after it loses one. The session sends the audio without
   * a definitive result again, and results continue as one stream. `true`: with the defaults of `ResumptionOptions`.
   * `false`: the session fails when it loses its connection. @default true
   */
  readonly resumption?: boolean | ResumptionOptions | undefined
  /**
   * Records each session as a span of OpenTelemetry, within the active span of the caller, and sends its `traceparent`
   * with each connection, so that a service that is traced continues the trace. The value is the package itself:
   * `import * as openTelemetry from '@opentelemetry/api'`. A page cannot send the header; there this option is refused
   * with `invalid-options`. @default sessions are not traced
   */
  readonly openTelemetry?: OpenTelemetry | undefined
  /** For tests only: a virtual clock, no jitter, a link in memory. @default {} */
  readonly testing?: SessionTestingOptions | undefined
}

/** How long a session waits, in milliseconds; fractions are allowed, 0 is not. */
export interface TimeoutOptions {
  /** For a token; otherwise `token-timeout`. @default 20_000 */
  readonly tokenMs?: number | undefined
  /** For the connection: name, TCP, TLS and handshake together; otherwise `connect-timeout`. @default 10_000 */
  readonly connectMs?: number | undefined
  /** For the answer to the start; otherwise `start-timeout`. @default 10_000 */
  readonly startMs?: number | undefined
  /**
   * For the last results; otherwise `finalize-timeout`. The time restarts with each result that makes more audio
   * definitive and, while buffered audio is still being sent, whenever the network accepts more of it. @default 30_000
   */
  readonly finalizeMs?: number | undefined
  /** For the answer to a stop; otherwise `stop-timeout`. @default 5_000 */
  readonly stopMs?: number | undefined
  /**
   * For any message of the service while audio is sent; otherwise the session emits a `silent` event and continues.
   * @default 20_000
   */
  readonly silenceMs?: number | undefined
}

/** The audio that a session buffers. */
export interface BufferOptions {
  /**
   * The maximum of audio that waits to be sent, in milliseconds: before the answer to the start, and when the network
   * is slower than the source. Audio beyond it is dropped and reported as a `gap`. Only a pushed source (an Observable,
   * a promise) can exceed it; the session pulls an iterable or a stream only when it has room. @default 60_000
   */
  readonly maxMs?: number | undefined
  /** The longest message of audio, in bytes; longer chunks are split between samples. At least 4. @default 65_536 */
  readonly maxChunkBytes?: number | undefined
}

/** Options for tests that both kinds of sessions have. */
export interface SessionTestingOptions {
  /**
   * The jitter of the delay before an attempt: a number from 0 up to 1, by which the longest delay is multiplied (full
   * jitter). @default Math.random
   */
  readonly random?: (() => number) | undefined
  /** The clock of all deadlines and delays, such as a `TestScheduler`. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

/** Options for tests: the clock of a session, its random numbers, and its links. */
export interface TestingOptions<DialOptions, Message> extends SessionTestingOptions {
  /**
   * Connects instead of the network. `inMemoryService`, `verifyingService`, `scriptedDial` and `replay` of
   * `rxspeech/testing` and `rxspeech/cassette` return such functions. @default the transport of the session
   */
  readonly dial?: ((options: DialOptions) => Dial<Message, Message>) | undefined
}

/** Errors never contain the value, because it may be a token in the wrong option. */
const tokenSource = codec(
  `${token.name}, or an Observable of tokens`,
  // A string is an iterable as well.
  (value): value is TokenSource => token.is(value) || (typeof value !== 'string' && isObservableInput(value)),
)

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
   * How long the session tries to reconnect before it fails, in milliseconds since the loss. Progress of the service
   * restarts the budget. @default 60_000
   */
  readonly budgetMs?: number | undefined
  /** The longest delay before the first attempt, in milliseconds; it doubles with each attempt. @default 500 */
  readonly firstDelayMs?: number | undefined
  /** The longest delay before any attempt, in milliseconds. @default 10_000 */
  readonly maxDelayMs?: number | undefined
  /**
   * The maximum of sent audio without a definitive result that is kept to be sent again, in bytes of the source. If the
   * connection is lost, audio beyond it is reported as a `gap`. @default 60 seconds of the format; 600 seconds for a
   * pulled source, which is sent as fast as the network accepts it
   */
  readonly maxReplayBytes?: number | undefined
  /**
   * How long a connection is used before another one takes over, in milliseconds. It must be less than the maximum
   * duration of a session on the service. @default 14_100_000, which is 5 minutes less than 4 hours
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

const isPem = (value: unknown): boolean =>
  (value instanceof Uint8Array ? new TextDecoder().decode(value) : String(value)).includes('-----BEGIN ')

const certificates = codec('certificates in PEM', (value): value is Certificates =>
  Array.isArray(value) ? value.every(isPem) : isPem(value),
)

const connectionOptions = optionsOf<ConnectionOptions>()(
  {},
  { ca: certificates, insecure: flag, proxy: anything, heartbeatMs: durationMs(0) },
)

const linkOptions = optionsOf<LinkLimits>()({}, linkLimitCodecs)

/** The codecs of the options of all sessions. `validateFormat` and `checkProxy` have errors of their own. */
export const sessionCodecs = {
  required: { format: anything, token: tokenSource },
  optional: {
    rejected$: objectWith('next'),
    connection: connectionOptions,
    link: linkOptions,
    finalize$: observableValue,
    stop$: observableValue,
    continuous: flag,
    timeouts: timeoutOptions,
    buffer: bufferOptions,
    resumption: resumptionOptions,
    testing: testingOptions,
  },
}

/** The options of a connection that both kinds of sessions have. */
export const dialOptionsOf = ({ connection, link }: SessionOptions, { deadlines, scheduler }: SessionSettings) => ({
  ...link,
  ca: connection?.ca,
  proxy: connection?.proxy,
  heartbeatMs: connection?.heartbeatMs ?? defaultHeartbeatMs,
  connectTimeoutMs: Math.ceil(deadlines.connecting),
  scheduler,
})

/** Fills in the defaults of options whose codecs were checked. Throws `invalid-format` and `invalid-options`. */
export const resolveSessionOptions = (options: SessionOptions): SessionSettings => {
  const { token: source, rejected$, finalize$, stop$, resumption, timeouts = {}, testing = {} } = options
  const { finalizeMs = 30_000 } = timeouts
  lowWaterMarkOf(options.link ?? {}, 'link.lowWaterMarkBytes')
  return {
    token: source,
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
/** A pulled source is sent as fast as the network accepts it, far ahead of what the service has read. */
const pulledReplayMs = 600_000

/** The bounds for a pulled source. */
export const pulledBounds = (bounds: AudioBounds): AudioBounds => ({
  ...bounds,
  maxWaitingMs: Infinity,
  maxReplayBytes: bounds.maxPulledReplayBytes,
})

/**
 * Longer than the audio before speech that services keep (PROTOCOL 7), so that they can adapt to the noise of the line;
 * shorter than the burst that they accept.
 */
const defaultPreRollMs = 3_000

/** How the service handles silence, as far as the client knows, in milliseconds. */
export interface SilenceRules {
  readonly preSpeechMs: number
  /** 0: silence does not end a recognition. */
  readonly gracefulMs: number
}

/** With the pre-roll that the service needs: more than its buffer before speech, less than its graceful silence. */
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
  const { budgetMs = 60_000, firstDelayMs = 500, maxConnectionMs = 14_100_000 } = options
  const maxDelayMs = Math.max(firstDelayMs, options.maxDelayMs ?? 10_000)
  return {
    budgetMs,
    maxDelayMs,
    maxConnectionMs,
    delayMs: (attempt, { retryAfterMs = 0 }) =>
      Math.max(backoffMs({ firstDelayMs, maxDelayMs }, attempt, random), retryAfterMs),
  }
}

/** The default of `heartbeatMs`: a peer that does not respond is detected within two intervals, that is within 10 s. */
export const defaultHeartbeatMs = 4_500

/** The options of a preset, overridden by the given options; `testing` is merged in the same way. */
export const completePreset = <Preset extends object, Options extends Pick<SessionOptions, 'testing'>>(
  preset: Preset & { readonly testing: object },
  options = {} as Options,
): Preset & Options => {
  const given = Object.entries(options.testing ?? {}).filter(([, value]) => value !== undefined)
  return { ...preset, ...options, testing: { ...preset.testing, ...Object.fromEntries(given) } }
}
