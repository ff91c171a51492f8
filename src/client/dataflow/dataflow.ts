import { map, type Observable, type ObservableInput, catchError, of } from 'rxjs'
import { SpeechError, toSpeechError } from '../../errors/speech-error.js'
import {
  writeDataflowRequest,
  type Dialect,
  type StartRequest,
  type UpdateRequest,
  settings as settingsCodec,
  type Settings,
  settings,
} from '../../protocol/dataflow-messages.js'
import { isJsonObject, type JsonObject } from '../../protocol/json-object.js'
import type { SessionEvent } from '../../protocol/session-event.js'
import { checkProxy } from '../../proxy/proxy.js'
import { resolveGrpcLimits } from '../../transport/grpc/link.js'
import { dialGrpc, type GrpcDialOptions } from '../../transport/grpc/client.js'
import { checkOption, durationMs } from '../../protocol/validation.js'
import type { DataflowMessage, Dial } from '../../transport/link.js'
import { DataflowProtocol } from './protocol.js'
import {
  defaultHeartbeatMs,
  resolveSessionOptions,
  withPreRoll,
  type SessionOptions,
  type SilenceRules,
} from '../options.js'
import {
  optionalBoolean,
  optionalChoice,
  optionalFunction,
  optionalObservable,
  optionalText,
  requiredText,
} from '../option-checks.js'
import { sessionParts } from '../session-parts.js'
import { openSession } from '../session.js'
import type { ClientInput } from '../states.js'

export interface DataflowOptions extends SessionOptions, Omit<GrpcDialOptions, 'connectTimeoutMs' | 'scheduler'> {
  /** `Tenant` and `ProjectName` of the Start (PROTOCOL 3.1). */
  readonly tenant: string
  readonly projectName: string
  readonly language?: string
  /** Free primitives for the project, such as `ModelName` of the `transcribe` project. */
  readonly settings?: Settings
  readonly callProperties?: Settings
  /** `Audio.Output`, handed on to the project as it is. */
  readonly audioOutput?: JsonObject
  /** `Update` requests while the session streams. */
  readonly update$?: Observable<UpdateRequest>
  /** The names of the fields of a request: the description's (default), or the older kebab form. */
  readonly dialect?: Dialect
  /** How the end of the audio is said. Default `half-close`, which every gRPC service understands. */
  readonly finalizeBy?: 'half-close' | 'request'
  /**
   * Every so many milliseconds the service is asked whether it is there (an HTTP/2 ping); one that is not is noticed
   * before the second time is over. 0: never. A service that wants fewer pings gets none. Default 4,500.
   */
  readonly keepaliveMs?: number
  /** How to connect; a test gives a link in memory here. Default: gRPC. */
  readonly dial?: (options: GrpcDialOptions) => Dial<DataflowMessage, DataflowMessage>
}

/**
 * Runs a project over the audio of its source: a bidirectional gRPC stream (PROTOCOL 3).
 *
 * The source is subscribed once a session, at once; an iterable or a stream is pulled as the service takes it.
 * Lasts as long as its source: where the service ends a recognition by itself, its `final` is emitted and the next recognition
 * begins with the next sound (`continuous`). So there may be several finals a channel, and completion is the end.
 * Complete: the audio is flushed, the remaining events awaited, then completion; `finalize-timeout` when they do not
 * come. `stop$`: pending work is dropped. Unsubscribe: the stream is cancelled at once. Error: one `SpeechError`,
 * after everything that had arrived before it. A second subscription is a second session: `share()` is yours to add.
 *
 * @throws SpeechError `invalid-options` or `invalid-format`, when called, for options that cannot be right.
 */
export const dataflow = (
  options: DataflowOptions,
): ((source: ObservableInput<Uint8Array>) => Observable<SessionEvent>) => {
  const settings = withPreRoll(resolveSessionOptions(options), silenceRulesOf(options.settings ?? {}))
  const start = startOf(options)
  checkOptions(options, start)
  const { dial = dialGrpc, dialect = 'pascal', finalizeBy = 'half-close', update$ } = options
  return (source) =>
    openSession(
      {
        settings,
        ending: { endsWith: 'end-of-stream', finalizeBy },
        connect: (_token, update) => ({
          dial: () =>
            dial({
              ...options,
              keepaliveMs: options.keepaliveMs ?? defaultHeartbeatMs,
              connectTimeoutMs: settings.deadlines.connecting,
            }),
          protocol: new DataflowProtocol({ start, dialect, update }),
          parts: sessionParts,
        }),
        updates$: update$ && updateInputs(update$),
      },
      source,
    )
}

const startOf = ({ format, audioOutput, language, settings, callProperties, ...options }: DataflowOptions): Start => ({
  audio: {
    sampleRateHz: format.sampleRateHz,
    channels: format.channels,
    encoding: format.encoding,
    ...(audioOutput && { output: audioOutput }),
  },
  tenant: requiredText('tenant', options.tenant),
  projectName: requiredText('projectName', options.projectName),
  ...(language !== undefined && { language }),
  ...(settings && { settings }),
  ...(callProperties && { callProperties }),
})

/** The settings of voice activity (docs/PROTOCOL.md, 3.4). */
const silenceRulesOf = (settings: Settings): SilenceRules => {
  const ms = (name: string, kebab: string, fallback: number): number => {
    const value = Number(settings[name] ?? settings[kebab] ?? fallback)
    return value >= 0 ? value : fallback
  }
  return {
    preSpeechMs: ms('VadPreSpeechBufferMsec', 'vad-pre-speech-buffer-msec', 300),
    gracefulMs: ms('VadGracefulSilenceThresholdMsec', 'vad-graceful-silence-threshold-msec', 0),
  }
}

type Start = Omit<StartRequest, 'token'>

const checkOptions = (options: DataflowOptions, start: Start): void => {
  requiredText('address', options.address)
  optionalBoolean('insecure', options.insecure)
  optionalText('protoPath', options.protoPath)
  checkProxy(options.proxy)
  optionalText('language', options.language)
  optionalChoice('dialect', options.dialect, ['pascal', 'kebab'])
  optionalChoice('finalizeBy', options.finalizeBy, ['half-close', 'request'])
  optionalObservable('update$', options.update$)
  optionalFunction('dial', options.dial)
  resolveGrpcLimits(options)
  checkOption('keepaliveMs', durationMs(0), options.keepaliveMs ?? 0)
  for (const option of ['settings', 'callProperties'] as const) {
    if (options[option] === undefined || settingsCodec.is(options[option])) continue
    throw new SpeechError('invalid-options', `${option} must be ${settingsCodec.name}.`)
  }
  if (options.audioOutput !== undefined && !isJsonObject(options.audioOutput)) throw notJson()
  try {
    writeDataflowRequest({ request: 'Start', ...start, token: '' })
  } catch {
    throw notJson()
  }
}

/** All else of the Start has been checked by then. */
const notJson = (): SpeechError =>
  new SpeechError('invalid-options', 'audioOutput must be an object that JSON can hold.')

/** What the user changes while a session streams. JavaScript may emit anything, and what cannot be written fails the session. */
const updateInputs = (update$: Observable<UpdateRequest>): Observable<ClientInput> =>
  update$.pipe(
    map((update): ClientInput =>
      isUpdate(update) ? { type: 'update', update } : { type: 'failed', error: noUpdate() },
    ),
    catchError((cause: unknown) => {
      const error = toSpeechError(cause, 'source-failed', 'The source of further requests failed; see the cause.')
      return of<ClientInput>({ type: 'failed', error })
    }),
  )

const isUpdate = (update: unknown): update is UpdateRequest =>
  isJsonObject(update) &&
  [update['settings'], update['callProperties']].every((value) => value === undefined || settings.is(value))

const noUpdate = (): SpeechError =>
  new SpeechError('invalid-options', `update$ must emit settings or callProperties, each ${settings.name}.`)
