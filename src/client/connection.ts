import { defer, Observable } from 'rxjs'
import { toSpeechError } from '../errors/speech-error.js'
import type { UpdateRequest } from '../protocol/dataflow-messages.js'
import type { AudioRoute } from './audio/audio-pump.js'
import type { TokenInHand } from './token.js'
import type { DecodedMessage, WireProtocol } from './protocol.js'
import type { OpenLink, SessionParts } from './session-parts.js'
import type { SessionToken } from './token.js'
import type { ConnectionInput, TokenNeed } from './states.js'

/** Emits once; the link is open until it is unsubscribed. `update` is what was changed on earlier connections. */
export type Connect<In, Out> = (token: string, update: UpdateRequest | undefined) => Observable<OpenLink<In, Out>>

/**
 * One connection of a session, in three steps between which the session decides: its token, its link, its start. Each is
 * an Observable of inputs; unsubscribing the second one closes the link.
 */
export class Connection<In, Out> {
  readonly #id: number
  readonly #connect: Connect<In, Out>
  #token: TokenInHand | undefined
  #open: OpenLink<In, Out> | undefined

  constructor(id: number, connect: Connect<In, Out>) {
    this.#id = id
    this.#connect = connect
  }

  get parts(): SessionParts | undefined {
    return this.#open?.parts
  }

  /** Where its audio is sent. */
  get route(): Pick<AudioRoute<Out>, 'link' | 'encoder'> | undefined {
    return this.#open && { link: this.#open.link, encoder: this.#open.protocol }
  }

  authorize(tokens: SessionToken, need: TokenNeed): Observable<ConnectionInput> {
    const token$ =
      need === 'any' ? tokens.take() : need === 'replacement' ? tokens.replace() : tokens.renew(need.refused)
    return new Observable((subscriber) =>
      token$.subscribe({
        next: (token) => {
          this.#token = token
          subscriber.next({ connection: this.#id, type: 'authorized', token })
        },
        error: (cause: unknown) => {
          const error = toSpeechError(cause, 'token-endpoint-failed', 'The token source failed; see the cause.')
          subscriber.next({ connection: this.#id, type: 'token-failed', error })
        },
      }),
    )
  }

  dial(update: UpdateRequest | undefined): Observable<ConnectionInput> {
    return new Observable((subscriber) =>
      defer(() => this.#connect(this.#accessToken, update)).subscribe({
        next: (open) => {
          this.#open = open
          subscriber.next({ connection: this.#id, type: 'connected' })
        },
        error: (cause: unknown) =>
          subscriber.next(this.#failed(cause, 'connection-failed', 'The connection failed; see the cause.')),
      }),
    )
  }

  /** Reads after it has sent the start: what came before can only be understood with it. */
  start(): Observable<ConnectionInput> {
    // Plain subscriptions: an idle session has no operator here that costs memory.
    return new Observable((subscriber) => {
      if (this.#open === undefined) return
      const open = this.#open
      const { link } = open
      this.restart()
      subscriber.add(link.leaving$?.subscribe(() => subscriber.next({ connection: this.#id, type: 'leaving' })))
      subscriber.add(
        link.incoming$.subscribe({
          next: (message) => subscriber.next({ connection: this.#id, type: 'message', ...readMasked(open, message) }),
          complete: () => subscriber.next({ connection: this.#id, type: 'link-ended' }),
          error: (cause: unknown) =>
            subscriber.next(this.#failed(cause, 'connection-lost', 'The connection broke; see the cause.')),
        }),
      )
    })
  }

  /** Starts a recognition; another one, where the connection had one. */
  restart(): void {
    this.#send((protocol) => protocol.start(this.#accessToken))
  }

  finalize(by: 'half-close' | 'request'): void {
    if (by === 'half-close') this.#open?.link.finish()
    else this.#send((protocol) => protocol.finalize())
  }

  stop(): void {
    this.#send((protocol) => protocol.stop())
  }

  update(update: UpdateRequest): void {
    this.#send((protocol) => protocol.update?.(update))
  }

  get #accessToken(): string {
    return this.#token?.accessToken ?? ''
  }

  #send(write: (protocol: WireProtocol<In, Out>) => Out | undefined): void {
    const message = this.#open && write(this.#open.protocol)
    if (message !== undefined) this.#open?.link.send(message)
  }

  #failed(cause: unknown, code: 'connection-failed' | 'connection-lost', message: string): ConnectionInput {
    const failure = toSpeechError(cause, code, message)
    const error = this.#open?.mask.cleanError(failure) ?? failure
    return { connection: this.#id, type: 'link-failed', error }
  }
}

/** Decodes a message and masks the token, should the service repeat it. */
const readMasked = <In, Out>({ protocol, mask }: OpenLink<In, Out>, message: In): DecodedMessage => {
  const decoded = protocol.read(message)
  return mask.isIn(protocol.text(message)) ? mask.cleanAll(decoded) : decoded
}
