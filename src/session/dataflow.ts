import { map, type Observable, type ObservableInput } from 'rxjs'
import type { UpdateRequest, Dialect } from '../protocol/dataflow-requests.js'
import type { JsonObject } from '../protocol/json-object.js'
import type { SessionEvent } from '../protocol/session-event.js'
import type { Settings } from '../protocol/settings.js'
import { dialGrpc, type GrpcDialOptions } from '../transport/grpc.js'
import type { DataflowMessage, Dial } from '../transport/link.js'
import { dataflowDialogue, dataflowRequestMessage } from './dataflow-dialogue.js'
import { openSession } from './session.js'
import { audioBoundsOf, deadlinesOf, requiredText, type SessionOptions } from './session-options.js'

export interface DataflowOptions extends SessionOptions, Omit<GrpcDialOptions, 'connectTimeoutMs' | 'scheduler'> {
  /** service.md 2.5: `Tenant` and `ProjectName`. */
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
  /** How to connect; a test gives a link in memory here. Default: gRPC. */
  readonly dial?: (options: GrpcDialOptions) => Dial<DataflowMessage, DataflowMessage>
}

/**
 * Runs a project over the audio of its source: a bidirectional gRPC stream (service.md 4.1).
 *
 * The source is subscribed once a session, at once; an iterable or a stream is pulled as the service takes it.
 * Complete: the audio is flushed, the remaining events awaited, then completion; `finalize-timeout` when they do not
 * come. `stop$`: pending work is dropped. Unsubscribe: the stream is cancelled at once. Error: one `SpeechError`,
 * after everything that had arrived before it. A second subscription is a second session: `share()` is yours to add.
 *
 * @throws SpeechError `invalid-options` or `invalid-format`, when called, for options that cannot be right.
 */
export const dataflow = (
  options: DataflowOptions,
): ((source: ObservableInput<Uint8Array>) => Observable<SessionEvent>) => {
  const { format } = audioBoundsOf(options)
  const deadlines = deadlinesOf(options)
  const { dial = dialGrpc, dialect = 'pascal', finalizeBy = 'half-close', update$ } = options
  const start = {
    audio: {
      sampleRateHz: format.sampleRateHz,
      channels: format.channels,
      encoding: format.encoding,
      ...(options.audioOutput === undefined ? {} : { output: options.audioOutput }),
    },
    tenant: requiredText('tenant', options.tenant),
    projectName: requiredText('projectName', options.projectName),
    ...(options.language === undefined ? {} : { language: options.language }),
    ...(options.settings === undefined ? {} : { settings: options.settings }),
    ...(options.callProperties === undefined ? {} : { callProperties: options.callProperties }),
  }
  const requests$ = update$?.pipe(map((update) => dataflowRequestMessage({ request: 'Update', ...update }, dialect)))
  return (source) =>
    openSession(
      {
        options,
        dial: () => dial({ ...options, connectTimeoutMs: deadlines.connecting }),
        dialogue: dataflowDialogue({ start, dialect, finalizeBy }),
        ...(requests$ === undefined ? {} : { requests$ }),
      },
      source,
    )
}
