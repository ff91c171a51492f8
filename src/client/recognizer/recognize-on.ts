import { type Observable, type ObservableInput } from 'rxjs'
import type { AudioFormat } from '../../audio/format.js'
import { SpeechError } from '../../errors/speech-error.js'
import type { AudioSplitter, RecognizeRequest } from '../../protocol/recognizer-messages.js'
import type { SessionEvent } from '../../protocol/session-event.js'
import type { Dial, SocketMessage } from '../../transport/link.js'
import { resolveWebSocketLimits } from '../../transport/websocket/socket.js'
import type { WebSocketDialOptions } from '../../transport/websocket/dial.js'
import { defaultHeartbeatMs } from '../options.js'
import {
  optionalBoolean,
  optionalChoice,
  optionalFunction,
  optionalText,
  optionalWhole,
  requiredText,
} from '../option-checks.js'
import { checkPresentToken, presentToken, type PresentToken } from './address.js'
import type { SessionParts } from '../session-parts.js'
import type { Opening } from '../connection.js'
import type { Ending } from '../protocol.js'
import type { RecognizerProtocol } from './protocol.js'
import { recognizerUrl } from './address.js'
import { openSession } from '../session.js'
import { resolveSessionOptions, withPreRoll, type SessionOptions } from '../options.js'
import type { SessionSettings } from '../settings.js'
import type { RecognizeChannel } from './recognize-stereo.js'

/** How the service finds speech, in the description's own units (PROTOCOL 4.2); what is left out is its default. */
export interface VoiceActivityOptions {
  readonly sensitivity?: number
  readonly preSpeechBufferMs?: number
  readonly postSpeechBufferMs?: number
  readonly maxSpeechDurationMs?: number
  readonly silenceTriggerMs?: number
  readonly gracefulSilenceThresholdMs?: number
}

export interface RecognizeOptions
  extends
    SessionOptions,
    Omit<WebSocketDialOptions, 'url' | 'headers' | 'protocols' | 'connectTimeoutMs' | 'scheduler'> {
  /** The service, such as `wss://speech.example.com`; a path of its own replaces `/recognizer`. */
  readonly url: string
  readonly modelName: string
  readonly modelTenant?: string
  readonly modelVersion?: string
  readonly audioSplitter?: AudioSplitter
  readonly voiceActivity?: VoiceActivityOptions
  /** Default: `header` in Node, `subprotocol` in a browser. */
  readonly presentToken?: PresentToken
  /** Whether `?ModelName=` is added to the address. Default true. */
  readonly appendModelName?: boolean
  /** Lets `ws:` carry the token to another machine in clear text. Default false. */
  readonly allowInsecure?: boolean
  /**
   * Every so many milliseconds the service is asked whether it is there; one that is not is noticed before the second
   * time is over. 0: never. Browsers cannot ask. Default 4,500.
   */
  readonly heartbeatMs?: number
  /** How to connect; a test gives a link in memory here. Default: a WebSocket. */
  readonly dial?: (options: WebSocketDialOptions) => Dial<SocketMessage, SocketMessage>
}

/** Makes the session of a source. */
export type Recognition = (source: ObservableInput<Uint8Array>) => Observable<SessionEvent>

/** What Node and browsers do in ways of their own. */
export interface RecognizePlatform {
  /** What is needed with a connection and not before, which may have to be loaded first. */
  readonly loadParts: () => RecognizeParts | PromiseLike<RecognizeParts>
  /** Two channels as one session each; where it is missing, stereo is refused. */
  readonly recognizeStereo?: (format: AudioFormat, recognizeChannel: RecognizeChannel) => Recognition
}

/** What is needed with a connection and not before. */
export interface RecognizeParts {
  readonly sessionParts: SessionParts
  readonly dialSocket: (options: WebSocketDialOptions) => Dial<SocketMessage, SocketMessage>
  readonly RecognizerProtocol: typeof RecognizerProtocol
}

const ending: Ending = { endsWith: 'session-ended', finalizeBy: 'request' }

/** `recognize` on a platform. */
export const recognizeOn = (
  { loadParts, recognizeStereo }: RecognizePlatform,
  options: RecognizeOptions,
): Recognition => {
  const settings = resolveSessionOptions(options)
  checkOptions(options)
  const { format } = settings.bounds
  const { dial, appendModelName = true, allowInsecure = false } = options
  const modelName = requiredText('modelName', options.modelName)
  const url = recognizerUrl(options.url, { modelName, appendModelName, allowInsecure })
  const request = recognizeRequestOf(options)
  const openingOf = (
    token: string,
    channel: 0 | 1 | undefined,
    { dialSocket, RecognizerProtocol, sessionParts }: RecognizeParts,
  ): Opening<SocketMessage, SocketMessage> => ({
    dial: () =>
      (dial ?? dialSocket)({
        ...options,
        channel,
        heartbeatMs: options.heartbeatMs ?? defaultHeartbeatMs,
        connectTimeoutMs: settings.deadlines.connecting,
        ...presentToken(url, token, options.presentToken),
      }),
    protocol: new RecognizerProtocol({ request, encoding: format.encoding }),
    parts: sessionParts,
  })
  const { preSpeechBufferMs = 300, gracefulSilenceThresholdMs = 10_000 } = options.voiceActivity ?? {}
  const rules = { preSpeechMs: preSpeechBufferMs, gracefulMs: gracefulSilenceThresholdMs }
  const channelSettings = withPreRoll(settingsOfChannel(settings), rules)
  const recognizeChannel: RecognizeChannel = (source, channel, abort$) =>
    openSession(
      {
        settings: channelSettings,
        ending,
        connect: (token) => {
          const parts = loadParts()
          return 'then' in parts
            ? parts.then((loaded) => openingOf(token, channel, loaded))
            : openingOf(token, channel, parts)
        },
        abort$,
      },
      source,
    )
  if (format.channels === 1) return (source) => recognizeChannel(source)
  if (recognizeStereo !== undefined) return recognizeStereo(format, recognizeChannel)
  throw new SpeechError('invalid-format', 'channels must be 1 in a browser; deinterleave, and recognize each channel.')
}

/** One channel; and where G.711 is decoded on the way, a message grows to twice its bytes. */
const settingsOfChannel = (settings: SessionSettings): SessionSettings => {
  const { format, maxAudioMessageBytes: most, ...bounds } = settings.bounds
  if (format.encoding === 'pcm' && format.channels === 1) return settings
  const maxAudioMessageBytes = format.encoding === 'pcm' ? most : Math.floor(most / 2)
  return { ...settings, bounds: { ...bounds, format: { ...format, channels: 1 }, maxAudioMessageBytes } }
}

const checkOptions = (options: RecognizeOptions): void => {
  optionalText('modelTenant', options.modelTenant)
  optionalText('modelVersion', options.modelVersion)
  optionalChoice('audioSplitter', options.audioSplitter, ['realtime-vad', 'audio-segmenter'])
  optionalBoolean('appendModelName', options.appendModelName)
  optionalBoolean('allowInsecure', options.allowInsecure)
  optionalFunction('dial', options.dial)
  checkPresentToken(options.presentToken)
  resolveWebSocketLimits(options)
  const { sensitivity, ...durations } = options.voiceActivity ?? {}
  // PROTOCOL 7; what else the durations may be is for the service to say.
  optionalWhole('voiceActivity.sensitivity', sensitivity, 1, 10)
  for (const [name, value] of Object.entries(durations)) optionalWhole(`voiceActivity.${name}`, value)
}

const recognizeRequestOf = (options: RecognizeOptions): RecognizeRequest => {
  const { voiceActivity: vad = {} } = options
  return withoutUndefined({
    audioFormat: 'pcm',
    modelName: options.modelName,
    modelTenant: options.modelTenant,
    modelVersion: options.modelVersion,
    sampleRateHz: options.format.sampleRateHz,
    audioSplitter: options.audioSplitter,
    vadSensitivity: vad.sensitivity,
    vadPreSpeechBufferMs: vad.preSpeechBufferMs,
    vadPostSpeechBufferMs: vad.postSpeechBufferMs,
    vadMaxSpeechDurationMs: vad.maxSpeechDurationMs,
    vadSilenceTriggerMs: vad.silenceTriggerMs,
    vadGracefulSilenceThresholdMs: vad.gracefulSilenceThresholdMs,
  })
}

type WithoutUndefined<A> = { [K in keyof A]: Exclude<A[K], undefined> }

const withoutUndefined = <A extends object>(value: A): WithoutUndefined<A> =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as WithoutUndefined<A>
