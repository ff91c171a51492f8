import {
  asyncScheduler,
  catchError,
  concat,
  defer,
  finalize,
  from,
  mergeMap,
  Observable,
  throwError,
  type ObservableInput,
  type SchedulerLike,
} from 'rxjs'
import type { DataflowOptions } from '../../client/dataflow/dataflow.js'
import type { RecognizeOptions } from '../../client/recognizer/recognize-on.js'
import type { Recognition } from '../../client/session.js'
import { SpeechError, toSpeechError } from '../../errors/speech-error.js'
import type { SessionEvent } from '../../protocol/session-event.js'
import { listOf } from '../../protocol/collections.js'
import {
  checkOptions,
  durationMs,
  functionValue,
  oneOf,
  optionsOf,
  text,
  wholeNumber,
} from '../../protocol/validation.js'
import type { GrpcDialOptions } from '../../transport/grpc/client.js'
import type { DataflowMessage, Dial, SocketMessage } from '../../transport/link.js'
import type { WebSocketDialOptions } from '../../transport/websocket/dial.js'
import { redacted, type AudioStorage } from '../format/cassette.js'
import type { WireMessage } from '../format/recorded-message.js'
import { LineQueue, type CassetteLoss } from './line-queue.js'
import { recordedDial, Recorder, type Address } from './recorder.js'
import { Secrets } from './secrets.js'
import { notify } from '../../kernel/notify.js'
import { openerOf, type CassetteSink } from './sink.js'

/** What a cassette contains, and how long the session waits for its sink. */
export interface RecordOptions {
  /** Whether the file contains the audio as base64, or only the SHA-256 of each message. @default 'embedded' */
  readonly audio?: AudioStorage | undefined
  /**
   * Further texts that are removed from the file. The tokens of the session are always removed. Texts of fewer than
   * 6 characters are not searched for. @default []
   */
  readonly secrets?: readonly string[] | undefined
  /**
   * How many bytes of lines may wait for a slow sink. Lines beyond that are lost and reported. The default holds
   * 3 minutes of PCM at 16 kHz. @default 8388608 (8 MiB)
   */
  readonly maxQueueBytes?: number | undefined
  /** How long the end of a session waits for the sink, in milliseconds. @default 10000 */
  readonly flushTimeoutMs?: number | undefined
  /** Called when lines are missing. The session continues in any case. @default emits a process warning */
  readonly onLoss?: ((loss: CassetteLoss) => void) | undefined
}

const recordOptions = optionsOf<RecordOptions>()(
  {},
  {
    audio: oneOf('embedded', 'sha256'),
    secrets: listOf(text),
    maxQueueBytes: wholeNumber({ min: 1 }),
    flushTimeoutMs: durationMs(1),
    onLoss: functionValue,
  },
)

/** The options of a session that can be recorded. */
export type Recordable = RecognizeOptions | DataflowOptions

/** `recognize` or `dataflow` with their options, recorded. */
export type RecordedSession = <Options extends Recordable>(
  session: (options: Options) => Recognition,
  options: Options,
) => Recognition

/**
 * Records sessions. Each subscription is one session and one cassette, with all of its connections. The events, errors
 * and times of the session do not change, except that completion and error wait until the sink has taken the last line,
 * for at most `flushTimeoutMs`; a synchronous sink delays nothing. Unsubscribing also writes the end. A cassette never
 * contains a token, however it was presented.
 *
 * @throws SpeechError `invalid-options`, when called, also for the options of the session.
 * @example
 * audio$.pipe(record(toFile('call.jsonl'))(recognize, options))
 */
export const record = (sink: CassetteSink, options: RecordOptions = {}): RecordedSession => {
  checkOptions(recordOptions, options)
  const { maxQueueBytes = 8 * 1024 * 1024, flushTimeoutMs = 10_000 } = options
  const { audio = 'embedded', secrets: named = [], onLoss = warn } = options
  const open = openerOf(sink)
  return (session, sessionOptions) => {
    // Throws at once for wrong options, as the session does without a recorder.
    session(sessionOptions)
    const { testing, format, token } = sessionOptions
    const scheduler = testing?.scheduler ?? asyncScheduler
    return (source) =>
      defer(() => {
        const secrets = new Secrets(named)
        const queue = new LineQueue(open(), { maxQueueBytes, onLoss: (loss) => notify(() => onLoss(loss)) })
        const recorder = new Recorder(
          queue,
          { scheduler, secrets, audio },
          { transport: isDataflow(sessionOptions) ? 'grpc' : 'websocket', format },
        )
        const recorded = {
          ...sessionOptions,
          token: secrets.watch(token),
          testing: { ...testing, ...withRecordedDial(sessionOptions, recorder) },
        }
        return recordEnd(session(recorded), source, recorder, queue, flush(queue, scheduler, flushTimeoutMs))
      })
  }
}

/** The `dial` of a session, recorded. */
const withRecordedDial = (options: Recordable, recorder: Recorder) => {
  const wrap =
    <DialOptions, Message extends WireMessage>(
      dial: (dialOptions: DialOptions) => Dial<Message, Message>,
      addressOf: (dialOptions: DialOptions) => Address,
    ) =>
    (dialOptions: DialOptions): Dial<Message, Message> =>
      recordedDial(dial(dialOptions), recorder, addressOf(dialOptions))
  return isDataflow(options)
    ? { dial: wrap(options.testing?.dial ?? lazyDialGrpc, ({ url }) => ({ address: url })) }
    : { dial: wrap(options.testing?.dial ?? lazyDialWebSocket, socketAddress) }
}

const isDataflow = (options: Recordable): options is DataflowOptions => 'project' in options

/** Transports are loaded on the first use. */
const lazyDialWebSocket = (options: WebSocketDialOptions): Dial<SocketMessage, SocketMessage> =>
  defer(() => from(import('../../transport/websocket/client.js'))).pipe(
    mergeMap(({ dialWebSocket }) => dialWebSocket(options)),
  )

const lazyDialGrpc = (options: GrpcDialOptions): Dial<DataflowMessage, DataflowMessage> =>
  defer(() => from(import('../../transport/grpc/client.js'))).pipe(mergeMap(({ dialGrpc }) => dialGrpc(options)))

/** Headers and query parameters but `ModelName` (PROTOCOL 4) may be tokens: only their names are recorded. */
const socketAddress = ({ channel, url, headers, protocols }: WebSocketDialOptions): Address => ({
  channel,
  address: URL.canParse(String(url)) ? redactUrl(new URL(url)) : undefined,
  headers: headers && Object.keys(headers),
  protocols: protocols?.map(redactProtocol),
})

const redactUrl = (original: URL): string => {
  const url = new URL(original)
  url.username = ''
  url.password = ''
  const parameters = [...url.searchParams].map(([name, value]) =>
    name === 'ModelName' ? `${name}=${encodeURIComponent(value)}` : `${encodeURIComponent(name)}=${redacted}`,
  )
  url.search = ''
  return parameters.length === 0 ? url.href : `${url.href}?${parameters.join('&')}`
}

const redactProtocol = (protocol: string): string => {
  if (protocol === 'rxspeech') return protocol
  return protocol.startsWith('bearer.') ? `bearer.${redacted}` : redacted
}

/** The events of the session. Its end is recorded, and emitted after the flush. */
const recordEnd = (
  session: Recognition,
  source: ObservableInput<Uint8Array>,
  recorder: Recorder,
  queue: LineQueue,
  flushed$: Observable<never>,
): Observable<SessionEvent> => {
  let isEnded = false
  const end = (outcome: 'complete' | 'error' | 'unsubscribed', error?: SpeechError): void => {
    if (isEnded) return
    isEnded = true
    recorder.end(outcome, error)
    // After an unsubscription nothing waits for the flush.
    if (outcome === 'unsubscribed') queue.finish(() => undefined)
  }
  const session$ = defer(() => session(source)).pipe(
    catchError((error: unknown) => {
      end('error', toSpeechError(error, 'internal', 'The session failed.'))
      return concat(
        flushed$,
        throwError(() => error),
      )
    }),
  )
  const completed$ = defer(() => {
    end('complete')
    return flushed$
  })
  return concat(session$, completed$).pipe(finalize(() => end('unsubscribed')))
}

/** Completes when the sink has taken all lines, or after the timeout. */
const flush = (queue: LineQueue, scheduler: SchedulerLike, flushTimeoutMs: number): Observable<never> =>
  new Observable((subscriber) => {
    queue.finish(() => subscriber.complete())
    if (subscriber.closed) return
    subscriber.add(scheduler.schedule(() => queue.abandon(flushTimedOut()), flushTimeoutMs))
  })

const flushTimedOut = (): SpeechError =>
  new SpeechError('internal', 'The sink of the cassette did not take its lines in time; raise flushTimeoutMs.')

const warn = ({ lines, bytes, cause, error }: CassetteLoss): void => {
  const reason = error instanceof Error ? ` (${error.message})` : ''
  process.emitWarning(`A cassette lost ${lines} lines, ${bytes} bytes: ${cause}${reason}.`, 'CassetteWarning')
}
