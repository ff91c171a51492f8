import type { Observable } from 'rxjs'
import type { CloseReason, Link, SocketMessage } from 'rxspeech/internal/transport/link'

export interface LinkObserver {
  /** The messages that are delivered instead of one of the service: itself, none, or several. */
  readonly outgoing: (message: SocketMessage) => readonly SocketMessage[]
  /** Wraps the messages of the client. */
  readonly incoming: (incoming$: Observable<SocketMessage>) => Observable<SocketMessage>
}

/** The socket of a client, whose messages are observed. */
export class ObservedLink implements Link<SocketMessage, SocketMessage> {
  readonly incoming$: Observable<SocketMessage>
  readonly drain$: Observable<void>
  readonly #link: Link<SocketMessage, SocketMessage>
  readonly #observer: LinkObserver

  constructor(link: Link<SocketMessage, SocketMessage>, observer: LinkObserver) {
    this.#link = link
    this.#observer = observer
    this.drain$ = link.drain$
    this.incoming$ = observer.incoming(link.incoming$)
  }

  get bufferedBytes(): number {
    return this.#link.bufferedBytes
  }

  get isCongested(): boolean {
    return this.#link.isCongested
  }

  send(message: SocketMessage): void {
    for (const each of this.#observer.outgoing(message)) this.#link.send(each)
  }

  pause(): void {
    this.#link.pause()
  }

  resume(): void {
    this.#link.resume()
  }

  finish(): void {
    this.#link.finish()
  }

  close(reason?: CloseReason): void {
    this.#link.close(reason)
  }
}
