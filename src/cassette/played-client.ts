import { concatMap, from, merge, mergeMap, Observable, of, timer, type SchedulerLike } from 'rxjs'
import { SpeechError, toSpeechError } from '../errors/speech-error.js'
import type { SessionEvent } from '../protocol/session-event.js'
import { checkOption, durationMs } from '../protocol/validation.js'
import type { Dial } from '../transport/link.js'
import type { Cassette, TapedMessage } from './cassette.js'
import { connectionsOf, refuseHoles, type TapedConnection } from './cassette-connections.js'
import { eventReader } from './event-reader.js'
import { PlayingClient, type PlayingSettings } from './playing-client.js'
import type { WireMessage } from './taped-message.js'

export interface PlayClientOptions {
  /** What stands in the place of the recorded one, where the messages had it. */
  readonly token: string
  /** How long an answer and the end of a connection may take, in milliseconds; then `start-timeout` or `finalize-timeout`. Default 30,000. */
  readonly answerTimeoutMs?: number
}

/**
 * Plays the client's side of a cassette against a service: says what the recorded client said, in its order, with a speed
 * no earlier than it did, and waits where it waited: for the answers to its requests, and for room. Connections that were
 * open at the same time are so again, and one that the network or a closing service broke is left at that point. What the
 * service says comes out, of all connections.
 *
 * Complete: when every connection has ended. Error: a connection that fails, or `invalid-options` for a cassette that
 * has no audio to send. Unsubscribe: all connections are left.
 */
export const playClient = <Message extends WireMessage>(
  cassette: Cassette,
  dial: () => Dial<Message, Message>,
  messageOf: (taped: TapedMessage) => Message,
  options: PlayClientOptions & { readonly speed: number; readonly scheduler: SchedulerLike },
): Observable<SessionEvent> => {
  const { token, speed, scheduler, answerTimeoutMs = 30_000 } = options
  refuseHoles(cassette, 'a client cannot be played without them')
  if (cassette.header.audio === 'sha256') {
    throw new SpeechError(
      'invalid-options',
      "The cassette has hashes in place of audio; record with audio: 'embedded'.",
    )
  }
  const settings = {
    token,
    speed,
    scheduler,
    messageOf,
    answerTimeoutMs: checkOption('answerTimeoutMs', durationMs(1), answerTimeoutMs),
  }
  const play = (connection: TapedConnection): Observable<SessionEvent> => playOn(dial, connection, cassette, settings)
  return from(turnsOf(connectionsOf(cassette))).pipe(
    concatMap((turn) => {
      const startMs = turn[0]?.dial.atMs ?? 0
      return merge(
        ...turn.map((connection) => {
          const waitMs = (connection.dial.atMs - startMs) / speed
          return (waitMs > 0 ? timer(waitMs, scheduler) : of(0)).pipe(mergeMap(() => play(connection)))
        }),
      )
    }),
  )
}

/** Connections that overlapped belong together; each turn begins when the one before has ended. */
const turnsOf = (connections: readonly TapedConnection[]): readonly (readonly TapedConnection[])[] => {
  const turns: TapedConnection[][] = []
  let endMs = -1
  for (const connection of connections) {
    const last = turns.at(-1)
    if (last === undefined || connection.dial.atMs >= endMs) turns.push([connection])
    else last.push(connection)
    endMs = Math.max(endMs, connection.lines.at(-1)?.line.atMs ?? connection.dial.atMs)
  }
  return turns
}

const playOn = <Message extends WireMessage>(
  dial: () => Dial<Message, Message>,
  connection: TapedConnection,
  cassette: Cassette,
  settings: PlayingSettings<Message>,
): Observable<SessionEvent> =>
  new Observable((subscriber) => {
    // One that failed is not tried: there is nothing to be said on it.
    if (connection.open === undefined) {
      subscriber.complete()
      return
    }
    const { open, lines } = connection
    let client: PlayingClient<Message> | undefined
    subscriber.add(() => client?.leave())
    subscriber.add(
      dial().subscribe({
        next: (link) => {
          const reader = eventReader(cassette.header)
          client = new PlayingClient(open, lines, link, { reader, subscriber }, settings)
          client.begin()
        },
        error: (error: unknown) =>
          subscriber.error(toSpeechError(error, 'connection-failed', 'The connection failed; see the cause.')),
      }),
    )
  })
