import { map, Observable, tap } from 'rxjs'
import { toSpeechError } from '../errors/speech-error.js'
import type { Dial, Link } from '../transport/link.js'
import type { Address } from './address-line.js'
import type { ConnectionRecorder, Recorder } from './recorder.js'
import type { WireMessage } from './taped-message.js'

/** A dial whose connections are written down. It adds no turn, no timer and no buffer to them. */
export const recordedDial = <Message extends WireMessage>(
  dial$: Dial<Message, Message>,
  recorder: Recorder,
  address: Address,
): Dial<Message, Message> =>
  new Observable((subscriber) => {
    const connection = recorder.connect(address)
    // Before the link is closed, for then its messages end too.
    subscriber.add(() => connection.closed())
    const recorded$ = dial$.pipe(
      map((link) => {
        connection.opened()
        return new RecordedLink(link, connection)
      }),
      tap({
        error: (error: unknown) =>
          connection.failed(toSpeechError(error, 'connection-failed', 'The connection failed.')),
      }),
    )
    subscriber.add(recorded$.subscribe(subscriber))
  })

/** The link itself, seen by a recorder: each message is written before it goes on, so that no answer stands before it. */
class RecordedLink<Message extends WireMessage> implements Link<Message, Message> {
  readonly incoming$: Observable<Message>
  readonly drain$: Observable<void>
  readonly #link: Link<Message, Message>
  readonly #connection: ConnectionRecorder

  constructor(link: Link<Message, Message>, connection: ConnectionRecorder) {
    this.#link = link
    this.#connection = connection
    this.drain$ = link.drain$
    this.incoming$ = link.incoming$.pipe(
      tap({
        next: (message) => connection.received(message),
        complete: () => connection.ended(),
        error: (error: unknown) => connection.ended(toSpeechError(error, 'connection-lost', 'The connection broke.')),
      }),
    )
  }

  get bufferedBytes(): number {
    return this.#link.bufferedBytes
  }

  get isCongested(): boolean {
    return this.#link.isCongested
  }

  send(message: Message): void {
    this.#connection.sent(message)
    this.#link.send(message)
  }

  pause(): void {
    this.#link.pause()
  }

  resume(): void {
    this.#link.resume()
  }

  finish(): void {
    this.#connection.finished()
    this.#link.finish()
  }

  close(reason?: Parameters<Link<Message, Message>['close']>[0]): void {
    this.#connection.closed(reason)
    this.#link.close(reason)
  }
}
