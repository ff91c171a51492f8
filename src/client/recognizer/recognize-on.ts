import type { AudioSplitter, RecognizeRequest, RejectLevel } from '../../protocol/recognizer-messages.js'
import type { Dial, SocketMessage } from '../../transport/link.js'
import { listOf } from '../../protocol/collections.js'
import { languageTag } from '../../protocol/language.js'
import { checkOptions, flag, functionValue, nonEmptyText, oneOf, optionsOf, text } from '../../protocol/validation.js'
import type { SocketClass, WebSocketDialOptions } from '../../transport/websocket/dial.js'
import { recognizerUrl, tokenPresentation, type PresentToken } from './address.js'
import { presentToken } from './present-token.js'
import type { Ending } from '../protocol.js'
import { RecognizerProtocol } from './protocol.js'
import { recognizeStereo } from './recognize-stereo.js'
import { openSession, policyOf, type PlannedRecognition, type Recognition, type RecognizeChannel } from '../session.js'
import {
  dialOptionsOf,
  resolveSessionOptions,
  sessionCodecs,
  withPreRoll,
  type SessionOptions,
  type VoiceActivityOptions,
  voiceActivityOptions,
  type TestingOptions,
} from '../options.js'
import type { SessionSettings } from '../settings.js'

/** The options of `recognize`: those of every session, and those of the recognizer and its transport. */
export interface RecognizeOptions extends SessionOptions {
  /**
   * The address of the service: `wss://host` or `ws://host`. A path in the address replaces `/recognizer`. `ws:` is allowed for
   * this machine only, unless `insecure`.
   */
  readonly url: string
  /** The model that recognizes the audio. */
  readonly model: string
  /** The tenant of the model. @default the tenant that the service chooses */
  readonly tenant?: string | undefined
  /** The version of the model. @default the version that the service chooses */
  readonly modelVersion?: string | undefined
  /** How the service divides the audio. @default 'realtime-vad' */
  readonly audioSplitter?: AudioSplitter | undefined
  /** How the service detects speech; an absent option has the default of the service. @default {} */
  readonly voiceActivity?: VoiceActivityOptions | undefined
  /**
   * How readily a model of a grammar rejects speech that its grammar does not contain. Rejected speech has the
   * event `SR No Match` with its times instead of a milestone. @default that of the model, which is "medium"
   */
  readonly reject?: RejectLevel | undefined
  /**
   * Sentences that this session recognizes in addition to those of a model with a grammar, each as a whole: 1 to 100 of 1 to
   * 10 words, such as the names that a caller may say now. Letter case and punctuation are ignored. The service refuses words
   * that the dictionary of the model lacks, and models that take no phrases, with `invalid-field`. @default none
   */
  readonly phrases?: readonly string[] | undefined
  /**
   * The language of the speech, for a model of several: a tag of BCP 47 such as `en` or `en-US`, of which the first part counts, or
   * `auto` for a model that can detect it. The service refuses a language that the model lacks with `invalid-field`.
   * @default that of the model, or the one that it detects
   */
  readonly language?: string | undefined
  /** How the token is presented. @default 'header' in Node, 'subprotocol' in a browser */
  readonly presentToken?: PresentToken | undefined
  /** Whether `?ModelName=` is added to the address. @default true */
  readonly appendModelName?: boolean | undefined
  /** A WebSocket class instead of that of the platform. @default the package `ws` in Node, the global class in a browser */
  readonly WebSocket?: SocketClass | undefined
  /** For tests only: a link in memory, a virtual clock, no jitter. @default {} */
  readonly testing?: TestingOptions<WebSocketDialOptions, SocketMessage> | undefined
}

type Planned = PlannedRecognition<SocketMessage, SocketMessage>
type PlanOf = Planned['planOf']

const ending: Ending = { endsWith: 'session-ended', finalizeBy: 'request' }

/**
 * `recognize` with the WebSocket of a platform. The recognition socket carries one channel, so two channels run as one session
 * each.
 */
export const recognizeOn = (
  dialSocket: (options: WebSocketDialOptions) => Dial<SocketMessage, SocketMessage>,
  options: RecognizeOptions,
): Planned => {
  checkOptions(recognizeOptions, options)
  const settings = resolveSessionOptions(options)
  const { format } = settings.bounds
  const url = recognizerUrl(options)
  const dial = options.testing?.dial ?? dialSocket
  const dialOptions = { ...dialOptionsOf(options, settings), WebSocket: options.WebSocket }
  const request = requestOf(options)
  const { preSpeechBufferMs = 300, gracefulSilenceThresholdMs = 10_000 } = options.voiceActivity ?? {}
  const rules = { preSpeechMs: preSpeechBufferMs, gracefulMs: gracefulSilenceThresholdMs }
  const channelSettings = withPreRoll(settingsOfChannel(settings), rules)
  const policy = policyOf(channelSettings, ending)
  const planOf: PlanOf = (channel, abort$) => ({
    settings: channelSettings,
    policy,
    connect: (token) => ({
      dial: () => dial({ ...dialOptions, channel, ...presentToken(url, token, options.presentToken) }),
      protocol: new RecognizerProtocol(request, format.encoding),
    }),
    abort$,
  })
  if (format.channels === 1) {
    // All sessions share it.
    const plan = planOf()
    const recognition: Recognition = (source) => openSession(plan, source)
    return Object.assign(recognition, { planOf })
  }
  const stereoOf = (channelOf: RecognizeChannel): Recognition => recognizeStereo(format, channelOf, settings.scheduler)
  const recognition = stereoOf((source, channel, abort$) => openSession(planOf(channel, abort$), source))
  return Object.assign(recognition, { planOf, stereoOf })
}

/** The request of a recognition with these options (PROTOCOL 4.2). */
const requestOf = (options: RecognizeOptions): RecognizeRequest => {
  const { voiceActivity: vad = {} } = options
  return {
    audioFormat: 'pcm',
    modelName: options.model,
    modelTenant: options.tenant,
    modelVersion: options.modelVersion,
    sampleRateHz: options.format.sampleRateHz,
    audioSplitter: options.audioSplitter,
    vadSensitivity: vad.sensitivity,
    vadPreSpeechBufferMs: vad.preSpeechBufferMs,
    vadPostSpeechBufferMs: vad.postSpeechBufferMs,
    vadMaxSpeechDurationMs: vad.maxSpeechDurationMs,
    vadSilenceTriggerMs: vad.silenceTriggerMs,
    vadCompleteSilenceMs: vad.completeSilenceMs,
    vadGracefulSilenceThresholdMs: vad.gracefulSilenceThresholdMs,
    reject: options.reject,
    phrases: options.phrases,
    language: options.language,
  }
}

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
    modelVersion: text,
    audioSplitter: oneOf('realtime-vad', 'audio-segmenter'),
    voiceActivity: voiceActivityOptions,
    reject: oneOf('off', 'low', 'medium', 'high'),
    phrases: listOf(text),
    language: languageTag,
    presentToken: tokenPresentation,
    appendModelName: flag,
    WebSocket: functionValue,
  },
)
