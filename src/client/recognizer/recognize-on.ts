import type { RecognizeRequest } from '../../protocol/recognizer-messages.js'
import type { Dial, SocketMessage } from '../../transport/link.js'
import { recognitionParameters } from '../../protocol/recognition-parameters.js'
import { checkOptions, flag, functionValue, nonEmptyText, optionsOf, text } from '../../protocol/validation.js'
import type { SocketClass, WebSocketDialOptions } from '../../transport/websocket/dial.js'
import { recognizerUrl, tokenPresentation, type PresentToken } from './address.js'
import { presentToken } from './present-token.js'
import type { Ending } from '../protocol.js'
import { RecognizerProtocol } from './protocol.js'
import { recognizeStereo } from './recognize-stereo.js'
import {
  policyOf,
  type PlannedRecognition,
  type RecognizeChannel,
  type SessionPlan,
  type SessionRequest,
} from '../session.js'
import type { OpenTelemetry } from '../../tracing/open-telemetry.js'
import { recognitionOf } from '../recognition.js'
import {
  dialOptionsOf,
  resolveSessionOptions,
  sessionCodecs,
  withPreRoll,
  type SessionOptions,
  type TestingOptions,
} from '../options.js'
import { parametersOf, recognitionCodecs, type RecognitionOptions } from '../recognition-options.js'
import type { SessionSettings } from '../settings.js'

/** The options of `recognize`: those of every session, and those of the recognizer and its transport. */
export interface RecognizeOptions extends SessionOptions, RecognitionOptions {
  /**
   * The address of the service: `wss://host` or `ws://host`. A path in the address replaces `/recognizer`. `ws:` is
   * allowed for this machine only, unless `connection.insecure`.
   */
  readonly url: string
  /** The model that recognizes the audio. */
  readonly model: string
  /** The tenant of the model. @default the tenant that the service chooses */
  readonly tenant?: string | undefined
  /** How the token is presented. @default 'header' in Node, 'subprotocol' in a browser */
  readonly presentToken?: PresentToken | undefined
  /** Whether `?ModelName=` is added to the address. @default true */
  readonly appendModelName?: boolean | undefined
  /** A WebSocket class. @default that of the package `ws` in Node, the global class in a browser */
  readonly WebSocket?: SocketClass | undefined
  /** For tests only: a link in memory, a virtual clock, no jitter. @default {} */
  readonly testing?: TestingOptions<WebSocketDialOptions, SocketMessage> | undefined
}

const ending: Ending = { endsWith: 'session-ended', finalizeBy: 'request' }

/**
 * `recognize` with the WebSocket of a platform. The recognition socket carries one channel, so two channels run as one
 * session each.
 */
export const recognizeOn = (
  dialSocket: (options: WebSocketDialOptions, traceparent: string | undefined) => Dial<SocketMessage, SocketMessage>,
  options: RecognizeOptions,
  openTelemetry?: OpenTelemetry,
): PlannedRecognition => {
  checkOptions(recognizeOptions, options)
  const settings = resolveSessionOptions(options)
  const { format } = settings.bounds
  const url = recognizerUrl({ ...options, insecure: options.connection?.insecure })
  const dial = options.testing?.dial ?? dialSocket
  const dialOptions = { ...dialOptionsOf(options, settings), WebSocket: options.WebSocket }
  const request = requestOf(options)
  const { preSpeechBufferMs, gracefulSilenceThresholdMs } = recognitionParameters
  const rules = {
    preSpeechMs: request.preSpeechBufferMs ?? preSpeechBufferMs.default,
    gracefulMs: request.gracefulSilenceThresholdMs ?? gracefulSilenceThresholdMs.default,
  }
  const channelSettings = withPreRoll(settingsOfChannel(settings), rules)
  const policy = policyOf(channelSettings, ending)
  const planOf = ({ channel, abort$, traceparent }: SessionRequest): SessionPlan<SocketMessage, SocketMessage> => ({
    settings: channelSettings,
    policy,
    connect: (token, _update, session) => ({
      dial: () => dial({ ...dialOptions, channel, ...presentToken(url, token, options.presentToken) }, traceparent),
      protocol: new RecognizerProtocol(request, format.encoding, session),
    }),
    abort$,
  })
  if (format.channels === 2) {
    const stereoOf = (channelOf: RecognizeChannel) => recognizeStereo(format, channelOf, settings.scheduler)
    return recognitionOf({ sessionOf: planOf, stereoOf, openTelemetry })
  }
  // All sessions without a trace share it.
  const plan = planOf({})
  const sessionOf = (request: SessionRequest) =>
    (request.channel ?? request.traceparent ?? request.abort$) === undefined ? plan : planOf(request)
  return recognitionOf({ sessionOf, openTelemetry })
}

/** The request of a recognition with these options (PROTOCOL 4.2). */
const requestOf = (options: RecognizeOptions): RecognizeRequest => ({
  audioFormat: 'pcm',
  modelName: options.model,
  modelTenant: options.tenant,
  modelVersion: options.modelVersion,
  sampleRateHz: options.format.sampleRateHz,
  ...parametersOf(options),
})

/** The options for one channel. Decoding G.711 doubles the size of a message. */
const settingsOfChannel = (settings: SessionSettings): SessionSettings => {
  const { format, maxChunkBytes: maxSourceBytes, ...bounds } = settings.bounds
  const maxChunkBytes = format.encoding === 'pcm' ? maxSourceBytes : Math.floor(maxSourceBytes / 2)
  return { ...settings, bounds: { ...bounds, format: { ...format, channels: 1 }, maxChunkBytes } }
}

// Node takes `openTelemetry` before.
const recognizeOptions = optionsOf<Omit<RecognizeOptions, 'openTelemetry'>>()(
  { ...sessionCodecs.required, url: nonEmptyText, model: nonEmptyText },
  {
    ...sessionCodecs.optional,
    tenant: text,
    ...recognitionCodecs,
    presentToken: tokenPresentation,
    appendModelName: flag,
    WebSocket: functionValue,
  },
)
