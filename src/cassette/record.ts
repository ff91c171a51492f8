import { asyncScheduler, catchError, concat, defer, finalize, from, mergeMap, Observable, throwError } from 'rxjs'
import type { ObservableInput } from 'rxjs'
import { SpeechError, toSpeechError } from '../errors/speech-error.js'
import type { SessionEvent } from '../protocol/session-event.js'
import type { DataflowOptions } from '../client/dataflow/dataflow.js'
import type { Recognition, RecognizeOptions } from '../client/recognizer/recognize-on.js'
import type { GrpcDialOptions } from '../transport/grpc/client.js'
import { checkOption, durationMs, wholeNumber } from '../protocol/validation.js'
import type { Dial } from '../transport/link.js'
import type { WebSocketDialOptions } from '../transport/websocket/dial.js'
import { dataflowAddress, socketAddress, type Address } from './address-line.js'
import type { AudioKeeping } from './cassette.js'
import { openSink, type CassetteSink } from './cassette-sink.js'
import { LineQueue, type CassetteLoss } from './line-queue.js'
import { recordedDial } from './recorded-link.js'
import { Recorder } from './recorder.js'
import { Secrets } from './secrets.js'
import type { WireMessage } from './taped-message.js'

export interface RecordOptions {
  /** Audio as base64, or as the SHA-256 of each message, which nobody can listen to. Default `embedded`. */
  readonly audio?: AudioKeeping
  /** Further texts that must not be in the file. The session's tokens need not be named. Under 6 characters they are not searched for. */
  readonly secrets?: readonly string[]
  /** Bytes of lines that may wait for a sink that is slow; what comes beyond is told as lost. Default 8 MiB, 3 minutes of PCM at 16 kHz. */
  readonly maxQueueBytes?: number
  /** How long the end of a session waits for the sink, in milliseconds. Default 10,000. */
  readonly flushTimeoutMs?: number
  /** Told of lines that are missing. Default: a warning of the process. The session goes on in any case. */
  readonly onLoss?: (loss: CassetteLoss) => void
}

type Recordable = RecognizeOptions | DataflowOptions

/** `recognize` or `dataflow` with their options, recorded. */
export type RecordedSession = <Options extends Recordable>(
  session: (options: Options) => Recognition,
  options: Options,
) => Recognition

/**
 * Records sessions: `audio$.pipe(record(sink)(recognize, options))`. Each subscription is one session and one cassette,
 * over all of its connections. Events, errors and times of the session are as without it, but that completion and error
 * come once the sink has taken the last line, for `flushTimeoutMs` at most; a sink that takes lines at once delays nothing.
 * Unsubscribing writes the end as well. Tokens never get into a cassette, however they are presented.
 *
 * @throws SpeechError `invalid-options`, when called, also for the session's own options.
 */
export const record = (sink: CassetteSink, options: RecordOptions = {}): RecordedSession => {
  const { maxQueueBytes = 8 * 1024 * 1024, flushTimeoutMs = 10_000 } = options
  checkOption('maxQueueBytes', wholeNumber({ min: 1 }), maxQueueBytes)
  checkOption('flushTimeoutMs', durationMs(1), flushTimeoutMs)
  const { audio = 'embedded', secrets = [], onLoss = warn } = options
  const open = openSink(sink)
  return (session, sessionOptions) => {
    // Wrong options are refused now, as they are without a recorder.
    session(sessionOptions)
    const { scheduler = asyncScheduler, format, token } = sessionOptions
    return (source) =>
      defer(() => {
        const hidden = new Secrets(secrets)
        const queue = new LineQueue(open(), { maxQueueBytes, onLoss })
        const settings = { scheduler, secrets: hidden, audio }
        const recorder = new Recorder(queue, settings, { transport: transportOf(sessionOptions), format })
        const watched = { ...sessionOptions, token: hidden.watch(token), ...recordedBy(sessionOptions, recorder) }
        const flushed$ = flush(queue, () => scheduler.schedule(() => queue.abandon(notTaken()), flushTimeoutMs))
        return ending(session(watched), source, recorder, flushed$, queue)
      })
  }
}

const transportOf = (options: Recordable): 'websocket' | 'grpc' => ('url' in options ? 'websocket' : 'grpc')

/** The session's way to connect, written down. */
const recordedBy = (options: Recordable, recorder: Recorder): Pick<Recordable, 'dial'> => {
  const wrap =
    <DialOptions, Message extends WireMessage>(
      dial: (dialOptions: DialOptions) => Dial<Message, Message>,
      addressOf: (dialOptions: DialOptions) => Address,
    ) =>
    (dialOptions: DialOptions): Dial<Message, Message> =>
      recordedDial(dial(dialOptions), recorder, addressOf(dialOptions))
  return 'url' in options
    ? { dial: wrap(options.dial ?? dialSocketLater, socketAddress) }
    : { dial: wrap(options.dial ?? dialDataflowLater, dataflowAddress) }
}

/** A transport is loaded by who uses it. */
const dialSocketLater = (options: WebSocketDialOptions): ReturnType<NonNullable<RecognizeOptions['dial']>> =>
  defer(() => from(import('../transport/websocket/client.js'))).pipe(
    mergeMap(({ dialWebSocket }) => dialWebSocket(options)),
  )

const dialDataflowLater = (options: GrpcDialOptions): ReturnType<NonNullable<DataflowOptions['dial']>> =>
  defer(() => from(import('../transport/grpc/client.js'))).pipe(mergeMap(({ dialGrpc }) => dialGrpc(options)))

/** The events of the session; its end is written, and told when it is kept. */
const ending = (
  session: Recognition,
  source: ObservableInput<Uint8Array>,
  recorder: Recorder,
  flushed$: Observable<never>,
  queue: LineQueue,
): Observable<SessionEvent> => {
  let isOver = false
  const over = (outcome: 'complete' | 'error' | 'unsubscribed', error?: SpeechError): void => {
    if (isOver) return
    isOver = true
    recorder.end(outcome, error)
    // Nobody waits for what an unsubscribed session leaves.
    if (outcome === 'unsubscribed') queue.finish(() => undefined)
  }
  const session$ = defer(() => session(source)).pipe(
    catchError((error: unknown) => {
      over('error', toSpeechError(error, 'internal', 'The session failed.'))
      return concat(
        flushed$,
        throwError(() => error),
      )
    }),
  )
  const completed$ = defer(() => {
    over('complete')
    return flushed$
  })
  return concat(session$, completed$).pipe(finalize(() => over('unsubscribed')))
}

/** Completes when the sink has taken all, or has had the time for it. */
const flush = (queue: LineQueue, limit: () => { readonly unsubscribe: () => void }): Observable<never> =>
  new Observable((subscriber) => {
    queue.finish(() => subscriber.complete())
    if (subscriber.closed) return
    const timer = limit()
    return () => timer.unsubscribe()
  })

const notTaken = (): SpeechError =>
  new SpeechError('internal', 'The sink of the cassette did not take its lines in time; raise flushTimeoutMs.')

const warn = ({ lines, bytes, cause, error }: CassetteLoss): void => {
  const why = error instanceof Error ? ` (${error.message})` : ''
  process.emitWarning(`A cassette misses ${lines} lines, ${bytes} bytes: ${cause}${why}.`, 'CassetteWarning')
}
