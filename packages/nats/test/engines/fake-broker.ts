import { BehaviorSubject, NEVER, Observable, Subject } from 'rxjs'
import type { BusMessage, MessageBus } from '../../src/connection/bus.js'
import type { VirtualClock } from '../../../service/test/virtual-clock.js'

const latencyMs = 1

interface Posted {
  readonly subject: string
  readonly payload: Uint8Array
  readonly replyTo: string
}

const matches = (pattern: string, subject: string): boolean => {
  const wanted = pattern.split('.')
  const tokens = subject.split('.')
  const isRest = wanted.at(-1) === '>'
  return (
    (isRest ? tokens.length >= wanted.length : tokens.length === wanted.length) &&
    wanted.every((token, index) => token === '>' || token === '*' || token === tokens[index])
  )
}

/** NATS in virtual time: a message takes a millisecond. */
export class FakeBroker {
  /** Everything that was published. */
  readonly posted: Posted[] = []
  /** Drops the messages for which it returns true. */
  loses: (message: Posted) => boolean = () => false
  /** Does not accept the messages for which it returns true, and says so. */
  refuses: (message: Posted) => boolean = () => false
  /** No process receives the messages of these subjects. */
  isDeaf: (subject: string) => boolean = () => false
  readonly #clock: VirtualClock
  readonly #buses = new Set<FakeBus>()

  constructor(clock: VirtualClock) {
    this.#clock = clock
  }

  connect(): FakeBus {
    const bus: FakeBus = new FakeBus((message) => this.#post(message, bus))
    this.#buses.add(bus)
    return bus
  }

  /** Takes every connection down, or up again. */
  setUp(isUp: boolean): void {
    for (const bus of this.#buses) bus.setUp(isUp)
  }

  #post(message: Posted, sender: FakeBus): void {
    this.posted.push(message)
    if (this.loses(message)) return
    this.#clock.schedule(() => {
      if (this.refuses(message)) {
        sender.refuse(message.subject)
        return
      }
      const isReceived = this.#deliver({ ...message, hasNoReceiver: false })
      if (isReceived || message.replyTo === '') return
      this.#deliver({ subject: message.replyTo, payload: new Uint8Array(0), replyTo: '', hasNoReceiver: true })
    }, latencyMs)
  }

  #deliver(message: BusMessage): boolean {
    if (this.isDeaf(message.subject)) return false
    return [...this.#buses].map((bus) => bus.deliver(message)).includes(true)
  }
}

/** The connection of one process. */
export class FakeBus implements MessageBus {
  readonly #post: (message: Posted) => void
  readonly #state$ = new BehaviorSubject(true)
  readonly isUp$ = this.#state$.asObservable()
  readonly refused$ = new Subject<string>()
  /** Does not send the messages for which it returns true. */
  isTooLarge: (payload: string) => boolean = () => false
  readonly userRefused$ = NEVER
  refusedCount = 0
  readonly #subjects = new Map<Subject<BusMessage>, string>()
  /** What a suspended process has not sent and not received. */
  #suspended: { readonly out: Posted[]; readonly in: BusMessage[] } | undefined

  constructor(post: (message: Posted) => void) {
    this.#post = post
  }

  get isUp(): boolean {
    return this.#state$.value
  }

  publish(subject: string, payload: Uint8Array | string, replyTo = ''): boolean {
    if (!this.isUp || this.isTooLarge(payload.toString())) return false
    const message = { subject, payload: typeof payload === 'string' ? Buffer.from(payload) : payload, replyTo }
    if (this.#suspended === undefined) this.#post(message)
    else this.#suspended.out.push(message)
    return true
  }

  messages(subject: string): Observable<BusMessage> {
    return new Observable((subscriber) => {
      const message$ = new Subject<BusMessage>()
      this.#subjects.set(message$, subject)
      subscriber.add(message$.subscribe(subscriber))
      subscriber.add(() => this.#subjects.delete(message$))
    })
  }

  /** The process is killed. */
  close(): Promise<void> {
    this.#subjects.clear()
    this.#state$.next(false)
    return Promise.resolve()
  }

  refuse(subject: string): void {
    this.refusedCount += 1
    this.refused$.next(subject)
  }

  setUp(isUp: boolean): void {
    if (this.#state$.value !== isUp) this.#state$.next(isUp)
  }

  /** The process is stopped, and its socket stays open. */
  suspend(): void {
    this.#suspended = { out: [], in: [] }
  }

  /** It goes on: what it had written goes out, then it reads. */
  resume(): void {
    const { out = [], in: received = [] } = this.#suspended ?? {}
    this.#suspended = undefined
    for (const message of out) this.#post(message)
    for (const message of received) this.deliver(message)
  }

  deliver(message: BusMessage): boolean {
    if (!this.isUp) return false
    const receivers = [...this.#subjects].filter(([, pattern]) => matches(pattern, message.subject))
    if (receivers.length === 0) return false
    if (this.#suspended === undefined) for (const [message$] of receivers) message$.next(message)
    else this.#suspended.in.push(message)
    return true
  }
}
