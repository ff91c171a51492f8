import { asyncScheduler, defer, finalize, mergeMap, throwError, timer, type Observable, type SchedulerLike } from 'rxjs'
import type { DataflowOptions } from '../../client/dataflow/dataflow.js'
import { completePreset } from '../../client/options.js'
import type { RecognizeOptions } from '../../client/recognizer/recognize-on.js'
import { isErrorCode } from '../../errors/error-table.js'
import { SpeechError } from '../../errors/speech-error.js'
import type { SessionEvent } from '../../protocol/session-event.js'
import { checkOptions, codec, functionValue, oneOf, optionsOf, schedulerValue } from '../../protocol/validation.js'
import type { DataflowMessage, Dial, SocketMessage } from '../../transport/link.js'
import { dialMemory } from '../../transport/memory/link.js'
import { connectionsOf, requireComplete, type Cassette, type RecordedConnection } from '../format/cassette.js'
import { dataflowMessageOf, socketMessageOf, type WireMessage } from '../format/recorded-message.js'
import { playClient, playClientOptions, type PlayClientOptions } from './client-player.js'
import { recordedDataflowOptions, recordedRecognizeOptions } from './recorded-options.js'
import { notify } from '../../kernel/notify.js'
import { ServicePlayer, type CassetteMismatch, type ServicePlayerSettings } from './service-player.js'

/** The pace of a replay, and how strict it is. */
export interface ReplayOptions {
  /**
   * The handling of a client that differs from the recorded client. `strict`: its connection fails with
   * `protocol-violation`, which names the line. `lenient`: the cassette continues at the step that the client took, if
   * it has that step; other messages of the client are ignored, and of audio only the length is compared.
   * @default 'strict'
   */
  readonly mismatch?: 'strict' | 'lenient' | undefined
  /** Called for every mismatch. @default none */
  readonly onMismatch?: ((mismatch: CassetteMismatch) => void) | undefined
  /**
   * A multiple of the recorded pace: 1 is the recorded pace, 2 is twice as fast, `Infinity` does not wait.
   * @default Infinity
   */
  readonly speed?: number | undefined
  /** The clock for `speed`. A `TestScheduler` plays in virtual time. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

const replayOptions = optionsOf<ReplayOptions>()(
  {},
  {
    mismatch: oneOf('strict', 'lenient'),
    onMismatch: functionValue,
    speed: codec('a number above 0, or Infinity', (value): value is number => typeof value === 'number' && value > 0),
    scheduler: schedulerValue,
  },
)

/** Plays one side of a recorded session. */
export interface Replay {
  /**
   * The options for a session of `recognize` with the recorded service, on the clock of the replay: those of the
   * recorded client, which the given options replace; options in `testing` are merged one by one. Throws
   * `invalid-options` for a cassette of gRPC.
   */
  readonly recognizer: (options?: Partial<RecognizeOptions>) => RecognizeOptions
  /** The same for `dataflow`. Throws `invalid-options` for a cassette of the WebSocket. */
  readonly dataflow: (options?: Partial<DataflowOptions>) => DataflowOptions
  /**
   * Plays the recorded client against a service: dials as often as the recorded client did, sends its messages, and
   * emits the answers of the service. `dial` must be of the cassette's transport.
   */
  readonly client: (
    dial: (() => Dial<SocketMessage, SocketMessage>) | (() => Dial<DataflowMessage, DataflowMessage>),
    options: PlayClientOptions,
  ) => Observable<SessionEvent>
}

/**
 * Replays a cassette. Each call of `recognizer()`, `dataflow()` and `client()` starts from its beginning.
 *
 * @throws SpeechError `invalid-options`, also for a cassette with lost lines in strict mode.
 * @example
 * const cassette = await readCassette('call.jsonl')
 * audio$.pipe(recognize(replay(cassette).recognizer()))
 */
export const replay = (cassette: Cassette, options: ReplayOptions = {}): Replay => {
  checkOptions(replayOptions, options)
  const { mismatch = 'strict', speed = Infinity, scheduler = asyncScheduler, onMismatch = () => undefined } = options
  if (mismatch === 'strict') requireComplete(cassette, "play it with mismatch: 'lenient'")
  const reported = (found: CassetteMismatch): void => notify(() => onMismatch(found))
  const settings = { mismatch, speed, scheduler, onMismatch: reported }
  return {
    recognizer: (given = {}) => {
      const dial = dialCassette(cassette, { ...settings, messageOf: socketMessageOf })
      return completePreset({ ...recordedRecognizeOptions(cassette), testing: { dial, scheduler } }, given)
    },
    dataflow: (given = {}) => {
      const dial = dialCassette(cassette, { ...settings, messageOf: dataflowMessageOf })
      return completePreset({ ...recordedDataflowOptions(cassette), testing: { dial, scheduler } }, given)
    },
    client: (dial, clientOptions) => {
      const playOptions = { ...checkOptions(playClientOptions, clientOptions), speed, scheduler }
      return cassette.header.transport === 'grpc'
        ? playClient(cassette, dial as () => Dial<DataflowMessage, DataflowMessage>, dataflowMessageOf, playOptions)
        : playClient(cassette, dial as () => Dial<SocketMessage, SocketMessage>, socketMessageOf, playOptions)
    },
  }
}

/** Each dial plays the next connection of the cassette, of its channel if the cassette has channels. */
const dialCassette = <Message extends WireMessage>(
  cassette: Cassette,
  settings: ServicePlayerSettings<Message>,
): ((options?: { readonly channel?: 0 | 1 | undefined }) => Dial<Message, Message>) => {
  const connections = connectionsOf(cassette)
  const remaining = [...connections]
  return ({ channel } = {}) => {
    const isForChannel = ({ dial }: RecordedConnection): boolean =>
      dial.channel === undefined || dial.channel === channel
    return defer(() => {
      const index = remaining.findIndex(isForChannel)
      const [connection] = index === -1 ? [] : remaining.splice(index, 1)
      return connection === undefined
        ? refuseDial(connections.length, cassette, settings)
        : dialConnection(connection, settings)
    })
  }
}

const refuseDial = <Message>(
  count: number,
  { lines }: Cassette,
  { onMismatch }: ServicePlayerSettings<Message>,
): Observable<never> => {
  const expected = `${count} ${count === 1 ? 'connection' : 'connections'}`
  onMismatch({ connection: count + 1, line: lines.length + 1, expected, actual: 'one more' })
  return throwError(
    () => new SpeechError('protocol-violation', `The cassette has ${expected}; the client dials once more.`),
  )
}

/** Messages that were accepted when they were recorded are accepted again, regardless of their size. */
const maxMessageBytes = 0x7fff_ffff

const dialConnection = <Message extends WireMessage>(
  { dial, open, lines }: RecordedConnection,
  settings: ServicePlayerSettings<Message>,
): Dial<Message, Message> => {
  const { speed, scheduler } = settings
  const first = open ?? lines[0]?.line
  const waitMs = first === undefined ? 0 : (first.atMs - dial.atMs) / speed
  const opened$ = defer(() => {
    if (open === undefined) return throwError(() => dialFailure(lines))
    let player: ServicePlayer<Message> | undefined
    return dialMemory<Message, Message>(
      (link) => {
        player = new ServicePlayer(open, lines, link, settings)
        player.start()
      },
      { scheduler, maxMessageBytes },
    ).pipe(finalize(() => player?.stop()))
  })
  return waitMs > 0 ? timer(waitMs, scheduler).pipe(mergeMap(() => opened$)) : opened$
}

const dialFailure = (lines: RecordedConnection['lines']): SpeechError => {
  for (const { line } of lines) {
    if (line.event !== 'dial-failed' && line.event !== 'close') continue
    const { code = '', message = closedBeforeOpen } = line
    return new SpeechError(isErrorCode(code) ? code : 'connection-failed', message)
  }
  return new SpeechError('connection-failed', closedBeforeOpen)
}

const closedBeforeOpen = 'The recorded client closed the connection before it was open.'
