import { asyncScheduler, defer, finalize, mergeMap, throwError, timer, type Observable, type SchedulerLike } from 'rxjs'
import { isErrorCode } from '../errors/error-code.js'
import { SpeechError } from '../errors/speech-error.js'
import type { SessionEvent } from '../protocol/session-event.js'
import type { DataflowMessage, Dial, SocketMessage } from '../transport/link.js'
import { dialMemory } from '../transport/memory/link.js'
import type { Cassette } from './cassette.js'
import { connectionsOf, refuseHoles, type TapedConnection } from './cassette-connections.js'
import type { CassetteMismatch } from './mismatch.js'
import { PlayedConnection, type PlaySettings } from './played-connection.js'
import { playClient, type PlayClientOptions } from './played-client.js'
import {
  recordedDataflowOptions,
  recordedRecognizeOptions,
  type RecordedDataflowOptions,
  type RecordedRecognizeOptions,
} from './recorded-options.js'
import { dataflowMessageOf, socketMessageOf, type WireMessage } from './taped-message.js'

export interface ReplayOptions {
  /**
   * What becomes of a client that says something else than the recorded one. `strict`, the default: its connection
   * fails with `protocol-violation`, which names the line. `lenient`: the cassette goes on at the step that the client
   * takes, where it has it, and what is too much is not heard; audio is only counted.
   */
  readonly mismatch?: 'strict' | 'lenient'
  /** Told of every mismatch. */
  readonly onMismatch?: (mismatch: CassetteMismatch) => void
  /** Times the recorded pace: 1 as it was, 2 twice as fast. Default `Infinity`: nothing waits for the clock. */
  readonly speed?: number
  /** The clock of `speed`; a `TestScheduler` plays in virtual time. Default `asyncScheduler`. */
  readonly scheduler?: SchedulerLike
}

/** A cassette that plays one side of its session. */
export interface Replay {
  /**
   * Options for one session of `recognize` with the service of the cassette: how to connect, and what the recorded client
   * was told, to be changed as you like. Throws `invalid-options` for a cassette of gRPC.
   */
  readonly recognizer: () => RecordedRecognizeOptions & {
    readonly dial: (options?: { readonly channel?: 0 | 1 }) => Dial<SocketMessage, SocketMessage>
  }
  /** The same for `dataflow`. Throws `invalid-options` for a cassette of the WebSocket. */
  readonly dataflow: () => RecordedDataflowOptions & { readonly dial: () => Dial<DataflowMessage, DataflowMessage> }
  /**
   * Plays the client against a service: connects by `dial` as often as the recorded client did and says what it said.
   * Gives what the service answers. The dial is one of the cassette's transport. See `PlayClientOptions`.
   */
  readonly client: (
    dial: (() => Dial<SocketMessage, SocketMessage>) | (() => Dial<DataflowMessage, DataflowMessage>),
    options: PlayClientOptions,
  ) => Observable<SessionEvent>
}

/**
 * Plays a cassette. Each of `recognizer()`, `dataflow()` and `client()` begins it anew.
 *
 * @throws SpeechError `invalid-options`, also for a cassette in which lines are missing, unless it is played leniently.
 */
export const replay = (cassette: Cassette, options: ReplayOptions = {}): Replay => {
  const { mismatch = 'strict', speed = Infinity, scheduler = asyncScheduler, onMismatch = () => undefined } = options
  if (!(speed > 0)) throw new SpeechError('invalid-options', 'speed must be a number above 0, or Infinity.')
  if (mismatch === 'strict') refuseHoles(cassette, "play it with mismatch: 'lenient'")
  const settings = { mismatch, speed, scheduler, onMismatch }
  return {
    recognizer: () => ({
      ...recordedRecognizeOptions(cassette),
      dial: dialTape(cassette, { ...settings, messageOf: socketMessageOf }),
    }),
    dataflow: () => ({
      ...recordedDataflowOptions(cassette),
      dial: dialTape(cassette, { ...settings, messageOf: dataflowMessageOf }),
    }),
    client: (dial, clientOptions) => {
      const pace = { ...clientOptions, speed, scheduler }
      return cassette.header.transport === 'grpc'
        ? playClient(cassette, dial as () => Dial<DataflowMessage, DataflowMessage>, dataflowMessageOf, pace)
        : playClient(cassette, dial as () => Dial<SocketMessage, SocketMessage>, socketMessageOf, pace)
    },
  }
}

/** Every dial is the next connection of the cassette; of those for its channel, where the cassette says for which each was. */
const dialTape = <Message extends WireMessage>(
  cassette: Cassette,
  settings: PlaySettings<Message>,
): ((options?: { readonly channel?: 0 | 1 }) => Dial<Message, Message>) => {
  const connections = connectionsOf(cassette)
  const left = [...connections]
  return ({ channel } = {}) => {
    const isFor = ({ dial }: TapedConnection): boolean => dial.channel === undefined || dial.channel === channel
    return defer(() => {
      const index = left.findIndex(isFor)
      const [connection] = index === -1 ? [] : left.splice(index, 1)
      return connection === undefined
        ? noMore(connections.length, cassette, settings)
        : playedDial(connection, settings)
    })
  }
}

const noMore = <Message>(
  count: number,
  { lines }: Cassette,
  { onMismatch }: PlaySettings<Message>,
): Observable<never> => {
  const expected = `${count} ${count === 1 ? 'connection' : 'connections'}`
  onMismatch({ connection: count + 1, line: lines.length + 1, expected, heard: 'one more' })
  return throwError(
    () => new SpeechError('protocol-violation', `The cassette has ${expected}; the client dials once more.`),
  )
}

const playedDial = <Message extends WireMessage>(
  { dial, open, lines }: TapedConnection,
  settings: PlaySettings<Message>,
): Dial<Message, Message> => {
  const { speed, scheduler } = settings
  const first = open ?? lines[0]?.line
  const waitMs = first === undefined ? 0 : (first.atMs - dial.atMs) / speed
  const opened$ = defer(() => {
    if (open === undefined) return throwError(() => failureOf(lines))
    let played: PlayedConnection<Message> | undefined
    return dialMemory<Message, Message>(
      (link) => {
        played = new PlayedConnection(open, lines, link, settings)
        played.begin()
      },
      { scheduler, maxMessageBytes: mostBytes },
    ).pipe(finalize(() => played?.end()))
  })
  return waitMs > 0 ? timer(waitMs, scheduler).pipe(mergeMap(() => opened$)) : opened$
}

/** What was taken once is taken again. */
const mostBytes = 0x7fff_ffff

const failureOf = (lines: TapedConnection['lines']): SpeechError => {
  const line = lines.map((placed) => placed.line).find(({ event }) => event === 'dial-failed' || event === 'close')
  const { code = '', message = 'The recorded client left before it was connected.' } =
    (line as { code?: string; message?: string }) ?? {}
  return new SpeechError(isErrorCode(code) ? code : 'connection-failed', message)
}
