import { defer, type Observer, type Subscription, type Unsubscribable } from 'rxjs'
import { SecretMask } from '../errors/secret-mask.js'
import { toSpeechError } from '../errors/speech-error.js'
import type { Inputs } from '../kernel/machine.js'
import type { UpdateRequest } from '../protocol/dataflow-messages.js'
import type { Dial, Link } from '../transport/link.js'
import type { DecodedMessage, ServiceSession, WireProtocol } from './protocol.js'
import type { ConnectionInput, TokenNeed } from './states.js'
import type { SessionToken } from './token.js'

/** How a session of one interface connects. */
export interface Opening<In, Out> {
  readonly dial: () => Dial<In, Out>
  /** Used for this connection only, because it stores pending requests. */
  readonly protocol: WireProtocol<In, Out>
}

/** Includes the updates of earlier connections. */
export type Connect<In, Out> = (
  token: string,
  update: UpdateRequest | undefined,
  session: ServiceSession,
) => Opening<In, Out>

/** Where the connections of a session lead, and what they present there. */
export interface Route<In, Out> {
  readonly connect: Connect<In, Out>
  readonly tokens: SessionToken
  readonly session: ServiceSession
}

/** An open link with the state that belongs to it. */
export interface OpenLink<In, Out> extends Omit<Opening<In, Out>, 'dial'> {
  readonly link: Link<In, Out>
  /** Finds the token of this connection in messages of the service. */
  readonly mask: SecretMask
}

/**
 * One connection of a session. It gets a token, opens the link and sends the start; the session decides between these
 * steps. It posts inputs until it is unsubscribed, which closes the link. It masks the token in errors and in messages
 * of the service.
 */
export class Connection<In, Out> implements Unsubscribable, Observer<In> {
  readonly id: number
  readonly #connect: Connect<In, Out>
  readonly #session: ServiceSession
  readonly #inputs: Inputs<ConnectionInput>
  #accessToken = ''
  #open: OpenLink<In, Out> | undefined
  #authorizing: Subscription | undefined
  /** Unsubscribing closes the link. */
  #dialed: Subscription | undefined
  #reading: Subscription | undefined

  constructor(id: number, { connect, session }: Route<In, Out>, inputs: Inputs<ConnectionInput>) {
    this.id = id
    this.#connect = connect
    this.#session = session
    this.#inputs = inputs
  }

  get open(): OpenLink<In, Out> | undefined {
    return this.#open
  }

  unsubscribe(): void {
    this.#authorizing?.unsubscribe()
    this.#dialed?.unsubscribe()
    this.#reading?.unsubscribe()
  }

  authorize(tokens: SessionToken, need: TokenNeed): void {
    const token$ =
      need === 'any' ? tokens.take() : need === 'replacement' ? tokens.replace() : tokens.renew(need.refused)
    const authorizing = token$.subscribe({
      next: (token) => {
        this.#accessToken = token.accessToken
        this.#post({ type: 'authorized', token })
      },
      error: (cause: unknown) => {
        const error = toSpeechError(cause, 'token-endpoint-failed', 'The token source failed; see the cause.')
        this.#post({ type: 'token-failed', error })
      },
    })
    if (!authorizing.closed) this.#authorizing = authorizing
  }

  dial(update: UpdateRequest | undefined): void {
    const { dial, protocol } = this.#connect(this.#accessToken, update, this.#session)
    const mask = new SecretMask([this.#accessToken])
    this.#authorizing = undefined
    this.#dialed = defer(dial).subscribe({
      next: (link) => {
        this.#open = { link, protocol, mask }
        this.#post({ type: 'connected' })
      },
      error: (cause: unknown) => this.#fail(cause, 'connection-failed', 'The connection failed; see the cause.', mask),
    })
    // A link in memory may run a whole session before `dial` returns.
    if (this.#inputs.hasEnded) this.#dialed.unsubscribe()
  }

  /** Sends the start and then reads, because earlier messages can only be decoded after the start. */
  start(): void {
    const link = this.#open?.link
    if (link === undefined) return
    this.restart()
    const leaving = link.leaving$?.subscribe(() => this.#post({ type: 'leaving' }))
    this.#reading = link.incoming$.subscribe(this)
    this.#reading.add(leaving)
  }

  // The reader of the link

  next(message: In): void {
    if (this.#open === undefined) return
    const { violation, ...read } = readMasked(this.#open, message)
    this.#inputs.post({ type: 'message', connection: this.id, ...read })
    if (violation === undefined) return
    // Nothing that follows is read, not even before the session handles this.
    this.#reading?.unsubscribe()
    this.#post({ type: 'link-failed', error: violation })
  }

  complete(): void {
    this.#post({ type: 'link-ended' })
  }

  error(cause: unknown): void {
    this.#fail(cause, 'connection-lost', 'The connection broke; see the cause.')
  }

  /** Starts the first or another recognition on this connection. */
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

  #fail(cause: unknown, code: 'connection-failed' | 'connection-lost', message: string, mask = this.#open?.mask): void {
    const failure = toSpeechError(cause, code, message)
    this.#post({ type: 'link-failed', error: mask?.cleanError(failure) ?? failure })
  }
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

/** Decodes a message and masks the token in it. */
const readMasked = <In, Out>({ protocol, mask }: OpenLink<In, Out>, message: In): DecodedMessage => {
  const decoded = protocol.read(message)
  return mask.isIn(protocol.text(message)) ? mask.cleanAll(decoded) : decoded
}
