import type { Observable, Subscription } from 'rxjs'
import { toSpeechError } from '../errors/speech-error.js'
import type { Inputs } from '../kernel/machine.js'
import type { UpdateRequest } from '../protocol/dataflow-messages.js'
import type { DecodedMessage, WireProtocol } from './protocol.js'
import type { OpenLink } from './session-parts.js'
import type { SessionToken } from './token.js'
import type { ConnectionInput, TokenNeed } from './states.js'

/** Emits once; the link is open until it is unsubscribed. `update` is what was changed on earlier connections. */
export type Connect<In, Out> = (token: string, update: UpdateRequest | undefined) => Observable<OpenLink<In, Out>>

/**
 * One connection of a session, in three steps between which the session decides: its token, its link, its start. Each posts
 * inputs until it is unsubscribed; unsubscribing the second one closes the link.
 */
export class Connection<In, Out> {
  readonly id: number
  readonly #connect: Connect<In, Out>
  readonly #inputs: Inputs<ConnectionInput>
  #accessToken = ''
  #open: OpenLink<In, Out> | undefined

  constructor(id: number, connect: Connect<In, Out>, inputs: Inputs<ConnectionInput>) {
    this.id = id
    this.#connect = connect
    this.#inputs = inputs
  }

  get open(): OpenLink<In, Out> | undefined {
    return this.#open
  }

  authorize(tokens: SessionToken, need: TokenNeed): Subscription {
    const token$ =
      need === 'any' ? tokens.take() : need === 'replacement' ? tokens.replace() : tokens.renew(need.refused)
    return token$.subscribe({
      next: (token) => {
        this.#accessToken = token.accessToken
        this.#post({ type: 'authorized', token })
      },
      error: (cause: unknown) => {
        const error = toSpeechError(cause, 'token-endpoint-failed', 'The token source failed; see the cause.')
        this.#post({ type: 'token-failed', error })
      },
    })
  }

  dial(update: UpdateRequest | undefined): Subscription {
    return this.#connect(this.#accessToken, update).subscribe({
      next: (open) => {
        this.#open = open
        this.#post({ type: 'connected' })
      },
      error: (cause: unknown) => this.#fail(cause, 'connection-failed', 'The connection failed; see the cause.'),
    })
  }

  /** Reads after it has sent the start: what came before can only be understood with it. */
  start(): Subscription | undefined {
    const open = this.#open
    if (open === undefined) return undefined
    this.restart()
    const leaving = open.link.leaving$?.subscribe(() => this.#post({ type: 'leaving' }))
    const reading = open.link.incoming$.subscribe({
      next: (message) => this.#inputs.post({ connection: this.id, type: 'message', ...readMasked(open, message) }),
      complete: () => this.#post({ type: 'link-ended' }),
      error: (cause: unknown) => this.#fail(cause, 'connection-lost', 'The connection broke; see the cause.'),
    })
    reading.add(leaving)
    return reading
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

  #send(write: (protocol: WireProtocol<In, Out>) => Out | undefined): void {
    const message = this.#open && write(this.#open.protocol)
    if (message !== undefined) this.#open?.link.send(message)
  }

  #post(input: DistributiveOmit<ConnectionInput, 'connection'>): void {
    this.#inputs.post({ connection: this.id, ...input })
  }

  #fail(cause: unknown, code: 'connection-failed' | 'connection-lost', message: string): void {
    const failure = toSpeechError(cause, code, message)
    this.#post({ type: 'link-failed', error: this.#open?.mask.cleanError(failure) ?? failure })
  }
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

/** Decodes a message and masks the token, should the service repeat it. */
const readMasked = <In, Out>({ protocol, mask }: OpenLink<In, Out>, message: In): DecodedMessage => {
  const decoded = protocol.read(message)
  return mask.isIn(protocol.text(message)) ? mask.cleanAll(decoded) : decoded
}
