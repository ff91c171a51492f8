import { share, type Observable, type ObservableInput } from 'rxjs'
import type { AudioFormat } from 'rxspeech/internal/audio/format'
import type { RecordedSession } from 'rxspeech/internal/cassette/record/record'
import type { SessionOptions, TokenSource } from 'rxspeech/internal/client/options'
import type { Settings } from 'rxspeech/internal/protocol/dataflow-messages'
import type { SessionEvent } from 'rxspeech/internal/protocol/session-event'
import { usageError } from '../process/failure.js'
import { tokenOf, type Access, type ModelChoice } from './access.js'

export interface SessionRequest {
  readonly access: Access
  readonly over: 'grpc' | 'websocket'
  readonly format: AudioFormat
  /** The limit of each wait of the session. @default the limits of the library */
  readonly timeoutMs?: number | undefined
  /** The language of the speech. @default that of the model */
  readonly language?: string | undefined
  /** Sentences in addition to those of the model. @default none */
  readonly phrases?: readonly string[] | undefined
  /** Ends the audio before its source does. */
  readonly finalize$: Observable<void>
  readonly record?: RecordedSession | undefined
}

/** The options of both transports. */
type CommonOptions = Omit<SessionOptions, 'url'> & Pick<SessionRequest, 'language' | 'phrases'>

type OpenSession = (audio: ObservableInput<Uint8Array>) => Observable<SessionEvent>

/** Opens sessions with the service, over either transport. Loads only the code of that transport. */
export const openSession = async (request: SessionRequest): Promise<OpenSession> => {
  const { access, over, format, language, phrases, timeoutMs, finalize$, record = unrecorded } = request
  const options: CommonOptions = {
    format,
    language,
    phrases,
    finalize$,
    token: tokenSource(access, timeoutMs),
    timeouts: {
      tokenMs: timeoutMs,
      connectMs: timeoutMs,
      startMs: timeoutMs,
      finalizeMs: timeoutMs,
      stopMs: timeoutMs,
    },
  }
  return over === 'grpc' ? overGrpc(access, options, record) : overWebSocket(access, options, record)
}

const unrecorded: RecordedSession = (session, options) => session(options)

/** Two sessions of one stereo recording share the request for a token. */
const tokenSource = ({ credentials, ca, proxy }: Access, timeoutMs: number | undefined): TokenSource =>
  credentials.type === 'token' ? credentials.token : tokenOf(credentials, { ca, timeoutMs, proxy }).pipe(share())

const overGrpc = async (access: Access, options: CommonOptions, record: RecordedSession): Promise<OpenSession> => {
  const { dataflow } = await import('rxspeech/internal/client/dataflow/dataflow')
  const { grpc, ca, proxy, isPlaintext, tenant, project, model } = access
  if (grpc === undefined) throw usageError('A session over gRPC needs an address; set --grpc HOST:PORT.')
  return record(dataflow, {
    ...options,
    url: grpc,
    connection: { proxy, insecure: isPlaintext, ca: isPlaintext ? undefined : ca },
    tenant,
    project,
    settings: model && settingsOf(model),
  })
}

/** The project `transcribe` takes the model from the settings (PROTOCOL 3.4). */
const settingsOf = ({ name, tenant }: ModelChoice): Settings => ({
  ModelName: name,
  ...(tenant !== undefined && { ModelTenant: tenant }),
})

const overWebSocket = async (access: Access, options: CommonOptions, record: RecordedSession): Promise<OpenSession> => {
  const { recognize } = await import('rxspeech/internal/client/recognizer/recognize')
  const { url, ca, proxy, model } = access
  if (url === undefined) throw usageError('A session over WebSocket needs an address; set --url wss://HOST.')
  if (model === undefined) throw usageError('A session over WebSocket needs a model; set --model NAME.')
  return record(recognize, {
    ...options,
    url,
    connection: { proxy, ca },
    model: model.name,
    tenant: model.tenant,
  })
}
