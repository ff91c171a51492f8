import { catchError, map, of, scan, type Observable } from 'rxjs'
import { SpeechError, toSpeechError } from '../../errors/speech-error.js'
import {
  writeDataflowRequest,
  type Dialect,
  type StartRequest,
  type UpdateRequest,
  recognitionSettings,
  settings as settingsCodec,
  type Settings,
} from '../../protocol/dataflow-messages.js'
import { isJsonObject, type JsonObject } from '../../protocol/json-object.js'
import { recognitionParameters, type ParameterRow } from '../../protocol/recognition-parameters.js'
import type { Slots } from '../../protocol/session-event.js'
import {
  checkOptions,
  jsonObject,
  nonEmptyText,
  observableValue,
  oneOf,
  optionsOf,
  text,
} from '../../protocol/validation.js'
import { checkProxy } from '../../proxy/proxy.js'
import { traceparentHeader } from '../../tracing/traceparent.js'
import { endpointOf } from '../../transport/grpc/channel.js'
import { dialGrpc, type GrpcDialOptions } from '../../transport/grpc/client.js'
import type { DataflowMessage, Link } from '../../transport/link.js'
import { DataflowProtocol, mergeUpdates } from './protocol.js'
import {
  dialOptionsOf,
  resolveSessionOptions,
  sessionCodecs,
  withPreRoll,
  type SessionOptions,
  type SilenceRules,
  type TestingOptions,
} from '../options.js'
import { parametersOf, recognitionCodecs, type RecognitionOptions } from '../recognition-options.js'
import { recognitionOf, withoutTracing } from '../recognition.js'
import { policyOf, type PlannedRecognition, type SessionPlan, type SessionRequest } from '../session.js'
import type { ClientInput } from '../states.js'

/** The options of `dataflow`: those of every session, and those of a project and its transport. */
export interface DataflowOptions extends SessionOptions, RecognitionOptions {
  /**
   * The address of the service: `host:port`, or `host` for port 443, with TLS unless `connection.insecure`;
   * `grpcs://host:port`, with TLS; `grpc://host:port`, without TLS, which is allowed for this machine only, unless
   * `connection.insecure`; or a gRPC target such as `unix:/run/speech.sock`.
   */
  readonly url: string
  /** `Tenant` of the Start (PROTOCOL 3.1): the tenant of the project. */
  readonly tenant: string
  /** `ProjectName` of the Start: the project, such as `transcribe`. */
  readonly project: string
  /** The model, for a project with the settings of PROTOCOL 3.4, such as `transcribe`. @default that of the service */
  readonly model?: string | undefined
  /** Settings of the project; the values are primitives. They override the options of the recognition. @default {} */
  readonly settings?: Settings | undefined
  /** Properties of the call, whose meaning the project defines; the values are primitives. @default {} */
  readonly callProperties?: Settings | undefined
  /** `Audio.Output`, passed to the project unchanged. @default none */
  readonly audioOutput?: JsonObject | undefined
  /** `Update` requests, which the session sends while it streams. @default NEVER */
  readonly update$?: Observable<UpdateRequest> | undefined
  /** The form of the field names in requests: `pascal`, as in PROTOCOL, or the older `kebab`. @default 'pascal' */
  readonly dialect?: Dialect | undefined
  /** How the session signals the end of the audio; every gRPC service supports the half-close. @default 'half-close' */
  readonly finalizeBy?: 'half-close' | 'request' | undefined
  /** A `.proto` file instead of that of the package; see `loadDataflow`. @default that of the package */
  readonly protoPath?: GrpcDialOptions['protoPath']
  /** Options of the gRPC package; they override those of the library. @default {} */
  readonly channelOptions?: GrpcDialOptions['channelOptions']
  /** A channel that the caller owns and closes, in place of all options of a channel. @default one of the library */
  readonly channel?: GrpcDialOptions['channel']
  /** For tests only: a link in memory, a virtual clock, no jitter. @default {} */
  readonly testing?: TestingOptions<GrpcDialOptions, DataflowMessage> | undefined
}

/**
 * Runs a project over the audio of its source: a bidirectional gRPC stream (PROTOCOL 3).
 *
 * Each subscription runs one session, which subscribes to the source once, immediately. An iterable or a stream is
 * pulled as fast as the service accepts its audio. The session lasts as long as its source: when the service ends a
 * recognition by itself, the session emits its `final` and starts the next recognition with the next sound
 * (`continuous`). So a channel can have several finals; only completion is the end.
 *
 * When the source completes, the session sends the buffered audio, waits for the remaining events and completes;
 * without them in time it fails with `finalize-timeout`. `stop$` drops pending audio and results. Unsubscribing cancels
 * the stream at once. An error is one `SpeechError`, after all events that arrived before it. To share one session
 * among several subscribers, add `share()`.
 *
 * @throws SpeechError `invalid-options` or `invalid-format`, when called with invalid options.
 * @example
 * audio$
 *   .pipe(dataflow({ url: 'speech.example.com', tenant: 'Default', project: 'transcribe', token, format }))
 *   .subscribe((event) => {
 *     if (event.type === 'milestone') console.log(event.channel, event.text)
 *   })
 */
export const dataflow = <S extends Slots = Slots>(given: DataflowOptions): PlannedRecognition<S> => {
  const { options, openTelemetry } = withoutTracing(given)
  checkOptions(dataflowOptions, options)
  checkProxy(options.connection?.proxy, 'connection.proxy')
  endpointOf({ ...options.connection, url: options.url })
  const planAt = ({ channel, abort$, traceparent }: SessionRequest): Plan => {
    const metadata = traceparent === undefined ? undefined : { [traceparentHeader]: traceparent }
    return { ...planOf(channel === undefined ? options : ofOneChannel(options), metadata), abort$ }
  }
  // All sessions without a trace share it.
  const plan = planAt({})
  const sessionOf = (request: SessionRequest): Plan =>
    (request.channel ?? request.traceparent ?? request.abort$) === undefined ? plan : planAt(request)
  return recognitionOf({ sessionOf, openTelemetry }) as PlannedRecognition<S>
}

type Plan = SessionPlan<DataflowMessage, DataflowMessage>

const ofOneChannel = (options: DataflowOptions): DataflowOptions => ({
  ...options,
  format: { ...options.format, channels: 1 },
})

/** The session of checked options. */
const planOf = (options: DataflowOptions, metadata: GrpcDialOptions['metadata']): Plan => {
  const resolved = resolveSessionOptions(options)
  const start = startOf(options)
  const settings = withPreRoll(resolved, silenceRulesOf(start.settings ?? {}))
  const { testing, dialect = 'pascal', finalizeBy = 'half-close', update$ } = options
  const { url, connection, protoPath, channelOptions, channel } = options
  const dial = testing?.dial ?? dialGrpc
  const dialOptions: GrpcDialOptions = {
    ...dialOptionsOf(options, settings),
    url,
    insecure: connection?.insecure,
    protoPath,
    channelOptions,
    channel,
    metadata,
  }
  return {
    settings,
    policy: policyOf(settings, { endsWith: 'end-of-stream', finalizeBy }),
    connect: (_token, update, session) => {
      const protocol = new DataflowProtocol({ start, dialect, update, session })
      const withStatus = map((link: Link<DataflowMessage, DataflowMessage>) =>
        protocol.awaitStatus(link, settings.scheduler),
      )
      return { dial: () => dial(dialOptions).pipe(withStatus), protocol }
    },
    updates$: update$ && updateInputs(update$),
  }
}

const dataflowOptions = optionsOf<Omit<DataflowOptions, 'openTelemetry'>>()(
  { ...sessionCodecs.required, url: nonEmptyText, tenant: nonEmptyText, project: nonEmptyText },
  {
    ...sessionCodecs.optional,
    model: nonEmptyText,
    ...recognitionCodecs,
    // That of the Start, which a project may read in its own way.
    language: text,
    settings: settingsCodec,
    callProperties: settingsCodec,
    audioOutput: jsonObject,
    update$: observableValue,
    dialect: oneOf('pascal', 'kebab'),
    finalizeBy: oneOf('half-close', 'request'),
    protoPath: text,
    channelOptions: jsonObject,
    channel: jsonObject,
  },
)

/** Throws `invalid-options` for a Start that cannot be written. */
const startOf = (options: DataflowOptions): Start => {
  const { format, audioOutput, tenant, project, language, callProperties } = options
  const { sampleRateHz, channels, encoding } = format
  const audio = { sampleRateHz, channels, encoding, output: audioOutput }
  const start: Start = { audio, tenant, projectName: project, language, settings: settingsOf(options), callProperties }
  try {
    writeDataflowRequest({ request: 'Start', ...start, token: '' })
    return start
  } catch {
    // All other parts of the Start have been checked.
    throw new SpeechError('invalid-options', 'audioOutput must be an object that JSON can hold.')
  }
}

/** The options of recognition as settings (PROTOCOL 3.4), and the given settings. */
const settingsOf = (options: DataflowOptions): Settings | undefined => {
  const { language: _ofStart, ...parameters } = parametersOf(options)
  const { model: modelName, modelVersion } = options
  const named = recognitionSettings.encode({ modelName, modelVersion, ...parameters }) as Settings
  return Object.keys(named).length === 0 ? options.settings : { ...named, ...options.settings }
}

/** The durations of silence in the settings (PROTOCOL 3.4). */
const silenceRulesOf = (settings: Settings): SilenceRules => {
  const ms = ({ setting, field }: ParameterRow, fallback: number): number => {
    const value = Number(settings[setting] ?? settings[field] ?? fallback)
    return value >= 0 ? value : fallback
  }
  const { preSpeechBufferMs, gracefulSilenceThresholdMs } = recognitionParameters
  return {
    preSpeechMs: ms(preSpeechBufferMs, preSpeechBufferMs.default),
    gracefulMs: ms(gracefulSilenceThresholdMs, gracefulSilenceThresholdMs.projectDefault),
  }
}

type Start = Omit<StartRequest, 'token'>

/** Updates by the user. JavaScript may emit anything; a value that cannot be written fails the session. */
const updateInputs = (update$: Observable<UpdateRequest>): Observable<ClientInput> =>
  update$.pipe(
    scan<UpdateRequest, ClientInput, undefined>((earlier, update) => {
      if (!isUpdate(update)) return { type: 'failed', error: noUpdate() }
      return { type: 'update', update, sum: mergeUpdates(earlier?.type === 'update' ? earlier.sum : undefined, update) }
    }, undefined),
    catchError((cause: unknown) => {
      const error = toSpeechError(cause, 'source-failed', 'The source of further requests failed; see the cause.')
      return of<ClientInput>({ type: 'failed', error })
    }),
  )

const isUpdate = (update: unknown): update is UpdateRequest =>
  isJsonObject(update) &&
  [update['settings'], update['callProperties']].every((value) => value === undefined || settingsCodec.is(value))

const noUpdate = (): SpeechError =>
  new SpeechError('invalid-options', `update$ must emit settings or callProperties, each ${settingsCodec.name}.`)
