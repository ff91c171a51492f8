import {
  concatMap,
  defer,
  EMPTY,
  from,
  merge,
  mergeMap,
  Observable,
  of,
  Subscription,
  timer,
  type Subscriber,
} from 'rxjs'
import { SpeechError, toSpeechError } from '../../errors/speech-error.js'
import { Mailbox } from '../../kernel/mailbox.js'
import { contentType } from '../../protocol/dataflow-messages.js'
import type { SessionEvent } from '../../protocol/session-event.js'
import { durationMs, optionsOf, text } from '../../protocol/validation.js'
import type { Dial, Link } from '../../transport/link.js'
import {
  connectionsOf,
  redacted,
  requireComplete,
  type Cassette,
  type LocatedLine,
  type OpenLine,
  type RecordedConnection,
  type RecordedMessage,
} from '../format/cassette.js'
import {
  createEventReader,
  kindOf,
  recordMessage,
  type EventReader,
  type WireMessage,
} from '../format/recorded-message.js'
import { LineClock, type PlaySpeed } from './line-clock.js'

/** What the played client needs for its messages and waits. */
export interface PlayClientOptions {
  /** Replaces the recorded token in the messages that contained it. */
  readonly token: string
  /**
   * How long an answer and the end of a connection may take, in milliseconds, before `start-timeout` or
   * `finalize-timeout`. @default 30000
   */
  readonly answerTimeoutMs?: number | undefined
}

export const playClientOptions = optionsOf<PlayClientOptions>()({ token: text }, { answerTimeoutMs: durationMs(1) })

interface ClientPlayerSettings<Message> extends PlaySpeed {
  readonly token: string
  readonly answerTimeoutMs: number
  readonly messageOf: (recorded: RecordedMessage) => Message
}

/**
 * Plays the client's side of a cassette against a service. It sends the recorded messages in order, with a finite speed
 * no earlier than recorded, and waits where the client waited: for answers and for the link to drain. Connections that
 * overlapped overlap again. A connection that the network or a closing service broke is closed at that point. Emits the
 * messages of the service on all connections.
 *
 * Complete: when every connection has ended. Error: a connection that fails, or `invalid-options` for a cassette
 * without audio. Unsubscribe: closes all connections.
 */
export const playClient = <Message extends WireMessage>(
  cassette: Cassette,
  dial: () => Dial<Message, Message>,
  messageOf: (recorded: RecordedMessage) => Message,
  options: PlayClientOptions & PlaySpeed,
): Observable<SessionEvent> => {
  const { token, speed, scheduler, answerTimeoutMs = 30_000 } = options
  requireComplete(cassette, 'a client cannot be played without them')
  if (cassette.header.audio === 'sha256') {
    throw new SpeechError('invalid-options', "The cassette has hashes instead of audio; record with audio: 'embedded'.")
  }
  const settings = { token, speed, scheduler, messageOf, answerTimeoutMs }
  return from(overlappingConnections(connectionsOf(cassette))).pipe(
    concatMap((group) => {
      const startMs = group[0]?.dial.atMs ?? 0
      return merge(
        ...group.map((connection) => {
          const waitMs = (connection.dial.atMs - startMs) / speed
          const play$ = playConnection(dial, connection, cassette, settings)
          return (waitMs > 0 ? timer(waitMs, scheduler) : of(0)).pipe(mergeMap(() => play$))
        }),
      )
    }),
  )
}

/** Groups connections that overlapped. A group begins after the one before has ended. */
const overlappingConnections = (
  connections: readonly RecordedConnection[],
): readonly (readonly RecordedConnection[])[] => {
  const groups: RecordedConnection[][] = []
  let endMs = -1
  for (const connection of connections) {
    const last = groups.at(-1)
    if (last === undefined || connection.dial.atMs >= endMs) groups.push([connection])
    else last.push(connection)
    endMs = Math.max(endMs, connection.lines.at(-1)?.line.atMs ?? connection.dial.atMs)
  }
  return groups
}

const playConnection = <Message extends WireMessage>(
  dial: () => Dial<Message, Message>,
  { open, lines }: RecordedConnection,
  { header }: Cassette,
  settings: ClientPlayerSettings<Message>,
): Observable<SessionEvent> => {
  // A recorded connection that never opened has no messages.
  if (open === undefined) return EMPTY
  return new Observable((subscriber) => {
    let player: ClientPlayer<Message> | undefined
    subscriber.add(() => player?.stop())
    subscriber.add(
      defer(dial).subscribe({
        next: (link) => {
          player = new ClientPlayer(open, lines, link, createEventReader(header), subscriber, settings)
          player.start()
        },
        error: (error: unknown) =>
          subscriber.error(toSpeechError(error, 'connection-failed', 'The connection failed; see the cause.')),
      }),
    )
  })
}

/** Plays the recorded client on one connection, line by line. */
class ClientPlayer<Message extends WireMessage> {
  readonly #lines: readonly LocatedLine[]
  readonly #link: Link<Message, Message>
  readonly #reader: EventReader
  readonly #subscriber: Subscriber<SessionEvent>
  readonly #settings: ClientPlayerSettings<Message>
  readonly #clock: LineClock
  readonly #subscription = new Subscription()
  /** A message that is sent can be answered before `send` returns. */
  readonly #turns = new Mailbox<'turn'>(() => {
    while (!this.#subscriber.closed && this.#playLine()) this.#next += 1
  })
  #next = 0
  /** How many answers the recorded client has waited for, and how many have arrived. */
  #awaitedAnswers = 0
  #receivedAnswers = 0
  #deadline: Subscription | undefined
  #drain: Subscription | undefined

  constructor(
    open: OpenLine,
    lines: readonly LocatedLine[],
    link: Link<Message, Message>,
    reader: EventReader,
    subscriber: Subscriber<SessionEvent>,
    settings: ClientPlayerSettings<Message>,
  ) {
    this.#lines = lines
    this.#link = link
    this.#reader = reader
    this.#subscriber = subscriber
    this.#settings = settings
    this.#clock = new LineClock(open, settings, () => this.#turns.post('turn'))
  }

  /** Sends before it reads, as sessions do: an answer can only be decoded after its request. */
  start(): void {
    this.#turns.post('turn')
    const subscriber = this.#subscriber
    if (subscriber.closed) return
    this.#subscription.add(
      this.#link.incoming$.subscribe({
        next: (message) => this.#onMessage(message),
        complete: () => subscriber.complete(),
        error: (error: unknown) => subscriber.error(error),
      }),
    )
  }

  stop(): void {
    this.#clock.stop()
    this.#deadline?.unsubscribe()
    this.#drain?.unsubscribe()
    this.#subscription.unsubscribe()
  }

  #onMessage(message: Message): void {
    const recorded = recordMessage(message, 'embedded', (text) => text)
    this.#subscriber.next(this.#reader.readEvent(recorded))
    if (!isAnswer(recorded)) return
    this.#receivedAnswers += 1
    this.#turns.post('turn')
  }

  /** Plays the next line. Returns false if it has to wait. */
  #playLine(): boolean {
    const line = this.#lines[this.#next]?.line
    switch (line?.event) {
      case 'sent':
        if (!this.#clock.isDue(line.atMs) || !this.#isDrained()) return false
        this.#reader.addRequest(line)
        this.#link.send(this.#settings.messageOf(this.#withToken(line)))
        return true
      case 'finish':
        if (!this.#clock.isDue(line.atMs)) return false
        this.#link.finish()
        return true
      case 'received':
        return !isAnswer(line) || this.#isAnswered()
      case 'ended':
        // Wait until the service ends the connection, unless the network or a closing service did.
        if (line.code !== 'connection-lost' && line.code !== 'going-away') this.#startDeadline()
        else if (this.#clock.isDue(line.atMs)) this.#subscriber.complete()
        return false
      default:
        this.#subscriber.complete()
        return false
    }
  }

  #isAnswered(): boolean {
    if (this.#receivedAnswers <= this.#awaitedAnswers) {
      this.#startDeadline()
      return false
    }
    this.#awaitedAnswers += 1
    this.#deadline?.unsubscribe()
    this.#deadline = undefined
    return true
  }

  #startDeadline(): void {
    const { scheduler, answerTimeoutMs } = this.#settings
    this.#deadline ??= scheduler.schedule(() => {
      const code = this.#awaitedAnswers === 0 ? 'start-timeout' : 'finalize-timeout'
      this.#subscriber.error(
        new SpeechError(code, `The recorded answer of the service did not come within ${answerTimeoutMs} ms.`),
      )
    }, answerTimeoutMs)
  }

  #isDrained(): boolean {
    if (!this.#link.isCongested) return true
    if (this.#drain === undefined || this.#drain.closed) {
      this.#drain = this.#link.drain$.subscribe({ complete: () => this.#turns.post('turn') })
    }
    return false
  }

  #withToken(message: RecordedMessage): RecordedMessage {
    if (message.text?.includes(redacted) !== true) return message
    return { ...message, text: message.text.replaceAll(redacted, JSON.stringify(this.#settings.token).slice(1, -1)) }
  }
}

/** Whether a client waits for the message: a response, or the final on the socket. */
const isAnswer = (message: RecordedMessage): boolean => {
  if (message.contentType !== undefined) return message.contentType === contentType.response
  const kind = kindOf(message)
  return kind.endsWith('-response') || kind === 'final-result'
}
