import {
  asyncScheduler,
  BehaviorSubject,
  distinctUntilChanged,
  groupBy,
  map,
  merge,
  mergeMap,
  Observable,
  Subject,
  take,
  throttleTime,
  timer,
  type SchedulerLike,
  type Subscription,
} from 'rxjs'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { PermissionViolationError } from '@nats-io/transport-node'
import type { NatsConnection } from './connection.js'

/** A message as it arrived. */
export interface BusMessage {
  readonly subject: string
  /** Valid only until the receiver returns: the client may reuse its memory. */
  readonly payload: Uint8Array
  /** Where an answer goes; empty if none is expected. */
  readonly replyTo: string
  /** The server's answer to a message with `replyTo` that no process receives: its subject is that `replyTo`. */
  readonly hasNoReceiver: boolean
}

/** Messages between processes, at most once, in order from one sender to one receiver. */
export interface MessageBus {
  /** Whether the connection stands. */
  readonly isUp: boolean
  /** The same, at first and with each change. */
  readonly isUp$: Observable<boolean>
  /**
   * Sends a message, whose memory must not be changed later. Returns false while the connection is down: the message is
   * not sent later, because the client would keep any number of them. Also returns false for a message that is too
   * large for the server (its `max_payload`).
   */
  publish(subject: string, payload: Uint8Array | string, replyTo?: string): boolean
  /**
   * The messages of a subject, which can contain wildcards, as long as it is subscribed, also after a reconnection.
   * Never completes. Fails with `refused` if the server does not allow the subject.
   */
  messages(subject: string): Observable<BusMessage>
  /**
   * The subjects of messages that the server did not accept, because this user may not send them. The server reports it
   * some time later, and not of which message.
   */
  readonly refused$: Observable<string>
  /** Emits each time that a server refuses the user when the connection is tried again. */
  readonly userRefused$: Observable<unknown>
  /** How many messages and connections were refused. */
  readonly refusedCount: number
  /** Sends what is published and closes the connection. Idempotent. */
  close(): Promise<void>
}

const noReceiverStatus = 503

/** A bus over a connection, which it owns from then on. */
export const createBus = (connection: NatsConnection): MessageBus => new NatsBus(connection)

class NatsBus implements MessageBus {
  readonly #connection: NatsConnection
  readonly #state$ = new BehaviorSubject(true)
  readonly isUp$ = this.#state$.pipe(distinctUntilChanged())
  readonly #refused$ = new Subject<string>()
  readonly refused$ = this.#refused$.asObservable()
  readonly #userRefused$ = new Subject<undefined>()
  readonly userRefused$ = this.#userRefused$.asObservable()
  refusedCount = 0
  #closing: Promise<void> | undefined

  constructor(connection: NatsConnection) {
    this.#connection = connection
    void this.#watch()
  }

  get isUp(): boolean {
    return this.#state$.value
  }

  publish(subject: string, payload: Uint8Array | string, replyTo?: string): boolean {
    if (!this.isUp || this.#connection.isClosed()) return false
    if (Buffer.byteLength(payload) > (this.#connection.info?.max_payload ?? Infinity)) return false
    this.#connection.publish(subject, payload, replyTo === undefined ? undefined : { reply: replyTo })
    return true
  }

  messages(subject: string): Observable<BusMessage> {
    return new Observable((subscriber) => {
      const subscription = this.#connection.subscribe(subject, {
        callback: (error, message) => {
          if (error !== null) subscriber.error(notAllowed(subject, error))
          else {
            subscriber.next({
              subject: message.subject,
              payload: message.data,
              replyTo: message.reply ?? '',
              hasNoReceiver: message.data.length === 0 && message.headers?.code === noReceiverStatus,
            })
          }
        },
      })
      subscriber.add(() => {
        if (!subscription.isClosed() && !this.#connection.isClosed()) subscription.unsubscribe()
      })
    })
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    if (this.isUp) await this.#connection.flush().catch(() => undefined)
    await this.#connection.close()
  }

  async #watch(): Promise<void> {
    for await (const status of this.#connection.status()) {
      const { type } = status
      if (type === 'disconnect' || type === 'close') this.#state$.next(false)
      else if (type === 'reconnect') this.#state$.next(true)
      else if (type === 'error') this.#report(status.error)
    }
    this.#state$.next(false)
    this.#state$.complete()
    this.#refused$.complete()
    this.#userRefused$.complete()
  }

  #report(error: Error): void {
    if (isUserRefused(error)) {
      this.refusedCount += 1
      this.#userRefused$.next(undefined)
      return
    }
    // A subscription that is refused reports it by itself.
    if (!isPermissionViolation(error) || error.operation !== 'publish') return
    this.refusedCount += 1
    this.#refused$.next(error.subject)
  }
}

/** The client package, which is loaded only with a connection, also names a slow login so. */
const isUserRefused = ({ name, message }: Error): boolean =>
  name === 'UserAuthenticationExpiredError' || (name === 'AuthorizationError' && !/timeout/i.test(message))

/** The error of the client package. */
const isPermissionViolation = (error: Error): error is PermissionViolationError =>
  error.name === 'PermissionViolationError'

const reportAgainMs = 60_000

/** Reports what the server does not accept: the user and each kind of message once, and again after a minute. */
export const reportRefused = (
  bus: Pick<MessageBus, 'refused$' | 'userRefused$'>,
  onFault: (error: unknown) => void,
  scheduler: SchedulerLike = asyncScheduler,
): Subscription => {
  const subjects$ = bus.refused$.pipe(
    groupBy(kindOf, { duration: () => timer(reportAgainMs, scheduler) }),
    mergeMap((subject$) => subject$.pipe(take(1))),
    map(notAllowedToSend),
  )
  const user$ = bus.userRefused$.pipe(throttleTime(reportAgainMs, scheduler), map(noLongerAccepted))
  return merge(subjects$, user$).subscribe(onFault)
}

/** The parts of a subject that are in permissions, without those of one run or one message. */
const kindOf = (subject: string): string => subject.split('.').slice(0, 3).join('.')

/** The error for a message that the server does not accept. */
export const notAllowedToSend = (subject: string): SpeechError =>
  new SpeechError(
    'refused',
    `The NATS server does not allow this user to send ${subject}; check its permissions, and the name of this process.`,
  )

/** The error for a message that the bus does not send although it is up. */
export const tooLarge = (what: string): SpeechError =>
  new SpeechError('engine-failed', `${what} does not fit into a message of the NATS server; raise its max_payload.`)

const noLongerAccepted = (): SpeechError =>
  new SpeechError(
    'unauthenticated',
    'The NATS server no longer accepts this user, and is asked again until it does; after a change of its password restart this process with the new one.',
  )

const notAllowed = (subject: string, cause: unknown): SpeechError =>
  new SpeechError(
    'refused',
    `The NATS server does not allow this user to receive ${subject}; check its permissions, and the name of this process.`,
    { cause },
  )
