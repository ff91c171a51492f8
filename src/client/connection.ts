import { defer, Subscription, type Observable } from 'rxjs'
import type { SecretMask } from '../errors/secret-mask.js'
import { toSpeechError, type SpeechError } from '../errors/speech-error.js'
import type { UpdateRequest } from '../protocol/dataflow-messages.js'
import type { Link } from '../transport/link.js'
import type { TokenInHand } from './ask-token.js'
import type { WireProtocol, DecodedMessage } from './protocol.js'
import type { equip } from './equipment.js'
import type { MachineInput } from './session-states.js'
import type { SessionToken } from './session-token.js'

/** What a line needs of a session's plan. */
export interface LinePlan<In, Out> {
  /** Emits once; the link is open until it is unsubscribed. `update` is what was changed on earlier connections. */
  readonly connect: (token: string, update: UpdateRequest | undefined) => Observable<Connection<In, Out>>
}

/** A connection, and all that only who has one needs: a browser loads that code while it connects. */
export interface Connection<In, Out> {
  readonly link: Link<In, Out>
  /** Of this connection alone: it remembers what was asked. */
  readonly dialogue: WireProtocol<In, Out>
  readonly equip: typeof equip
  /** Finds the token of this connection in what the service says. */
  readonly mask: SecretMask
}

/** What happens on a line. */
export type LineNews = DecodedMessage | MachineInput

/** Something that happened, and on which line: what a line says that was left is not heard. */
export interface SessionNews<In, Out> {
  readonly line?: Line<In, Out>
  readonly what: LineNews
}

/** Who is told what happens on a line. */
export interface LineOwner<In, Out> {
  hears(line: Line<In, Out>, news: LineNews): void
  /** The connection will end soon, or has broken. */
  leaves(line: Line<In, Out>): void
}

/** One connection of a session from its token to its end, with all that hangs on it. */
export class Line<In, Out> {
  /** What its start says of what was changed before. */
  readonly update: UpdateRequest | undefined
  readonly #plan: LinePlan<In, Out>
  readonly #owner: LineOwner<In, Out>
  readonly #tokens: SessionToken
  readonly #open = new Subscription()
  #token: TokenInHand | undefined
  #connection: Connection<In, Out> | undefined

  constructor(
    plan: LinePlan<In, Out>,
    tokens: SessionToken,
    update: UpdateRequest | undefined,
    owner: LineOwner<In, Out>,
  ) {
    this.#plan = plan
    this.#tokens = tokens
    this.update = update
    this.#owner = owner
  }

  get connection(): Connection<In, Out> | undefined {
    return this.#connection
  }

  get token(): string | undefined {
    return this.#token?.accessToken
  }

  /** When the token ends, by the scheduler's clock; Infinity where that is not known. */
  get tokenEndsMs(): number {
    return this.#token?.expiresAtMs ?? Infinity
  }

  /** Takes a token for its connection: the one in hand, another one than `refused`, or one that replaces an ending one. */
  authorize(need: 'any' | 'replacement' | { readonly refused: string | undefined }): void {
    const tokens = this.#tokens
    const token$ =
      need === 'any' ? tokens.take() : need === 'replacement' ? tokens.replace() : tokens.renew(need.refused)
    this.#open.add(
      token$.subscribe({
        next: (token) => {
          this.#token = token
          this.#report({ type: 'authorized', fresh: token.fresh })
        },
        error: (error: unknown) =>
          this.#report({
            type: 'token-failed',
            error: toSpeechError(error, 'token-endpoint-failed', 'The token source failed; see the cause.'),
          }),
      }),
    )
  }

  dial(): void {
    this.#open.add(
      defer(() => this.#plan.connect(this.token ?? '', this.update)).subscribe({
        next: (connection) => {
          this.#connection = connection
          this.#report({ type: 'connected' })
        },
        error: (error: unknown) =>
          this.#lose(toSpeechError(error, 'connection-failed', 'The connection failed; see the cause.')),
      }),
    )
  }

  /** Listens after it has spoken: what came before the start can only be understood with it. */
  start(): void {
    if (this.#connection === undefined) return
    const { link, dialogue, mask } = this.#connection
    link.send(dialogue.start(this.token ?? ''))
    this.#open.add(link.leaving$?.subscribe(() => this.#owner.leaves(this)))
    this.#open.add(
      link.incoming$.subscribe({
        next: (message) => this.#report(readMasked(dialogue, mask, message)),
        complete: () => this.#report({ type: 'link-ended' }),
        error: (error: unknown) =>
          this.#lose(toSpeechError(error, 'connection-lost', 'The connection broke; see the cause.')),
      }),
    )
  }

  /** Begins another recognition on the connection that had one. */
  restart(): void {
    this.#connection?.link.send(this.#connection.dialogue.start(this.token ?? ''))
  }

  /** Ends what is open and hears no more. */
  leave(): void {
    this.#open.unsubscribe()
  }

  /** A link that is left may end, in the course of that, before it is unsubscribed. */
  #report(news: LineNews): void {
    if (!this.#open.closed) this.#owner.hears(this, news)
  }

  #lose(error: SpeechError): void {
    this.#report({ type: 'link-failed', error: this.#connection?.mask.cleanError(error) ?? error })
  }
}

/** A message, read: without the token, should the service repeat it. */
const readMasked = <In, Out>(dialogue: WireProtocol<In, Out>, mask: SecretMask, message: In): DecodedMessage => {
  const heard = dialogue.read(message)
  return mask.isIn(dialogue.text(message)) ? mask.cleanAll(heard) : heard
}
