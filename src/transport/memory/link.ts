import { asyncScheduler, Observable, type SchedulerLike, type Subscription } from 'rxjs'
import { SpeechError, toSpeechError } from '../../errors/speech-error.js'
import { Inbox } from '../inbox.js'
import { type LinkLimits, resolveLimits, type Resolved } from '../limits.js'
import { checkOption, durationMs } from '../../protocol/validation.js'
import type { DataflowMessage, Dial, Link, SocketMessage } from '../link.js'
import { DrainSignal } from '../drain.js'
import type { WebSocketDialOptions } from '../websocket/dial.js'

export interface MemoryLinkOptions extends LinkLimits {
  /** How long each message, and each end, is under way, in milliseconds. Default 0: delivered within `send`. */
  readonly latencyMs?: number
  /** The clock of `latencyMs`. Default `asyncScheduler`. */
  readonly scheduler?: SchedulerLike
  /** The size of a message in bytes. By default: the length of texts and of bytes, alone or as fields of a message. */
  readonly sizeOf?: (message: unknown) => number
}

type Reason = NonNullable<Parameters<Link<never, never>['close']>[0]>

/** What travels: a message, or one of the two ends. */
type Parcel<T> =
  | { readonly type: 'message'; readonly message: T; readonly sizeBytes: number }
  | { readonly type: 'finish' }
  | { readonly type: 'close'; readonly reason: Reason | undefined }

const sizeInBytes = (message: unknown): number => {
  if (typeof message === 'string') return message.length
  if (ArrayBuffer.isView(message)) return message.byteLength
  if (typeof message !== 'object' || message === null) return 0
  let sizeBytes = 0
  for (const field of Object.values(message)) {
    if (typeof field === 'string') sizeBytes += field.length
    else if (ArrayBuffer.isView(field)) sizeBytes += field.byteLength
  }
  return sizeBytes
}

class MemoryLink<In, Out> implements Link<In, Out> {
  readonly incoming$: Observable<In>
  readonly drain$: Observable<void>

  private sending: 'open' | 'finished' | 'closed' = 'open'
  private peer: MemoryLink<Out, In> | undefined
  private readonly inbox: Inbox<In>
  private readonly outlet: DrainSignal
  private readonly wire: MemoryWire<Parcel<Out>>

  constructor(private readonly options: Resolved<MemoryLinkOptions>) {
    this.inbox = new Inbox(0, () => this.peer?.outlet.update())
    this.incoming$ = this.inbox.incoming$
    this.outlet = new DrainSignal(() => this.bufferedBytes, options)
    this.drain$ = this.outlet.drain$
    this.wire = new MemoryWire(options.latencyMs, options.scheduler, (parcel) => {
      this.peer?.receive(parcel)
      this.outlet.update()
    })
  }

  join(peer: MemoryLink<Out, In>): void {
    this.peer = peer
  }

  get bufferedBytes(): number {
    return this.wire.bytesUnderWay + (this.peer?.inbox.heldBytes ?? 0)
  }

  get isCongested(): boolean {
    return this.outlet.isCongested
  }

  send(message: Out): void {
    if (this.sending !== 'open') return
    const sizeBytes = this.options.sizeOf(message)
    this.wire.carry({ type: 'message', message, sizeBytes }, sizeBytes)
  }

  pause(): void {
    this.inbox.pause()
  }

  resume(): void {
    this.inbox.resume()
  }

  finish(): void {
    if (this.sending !== 'open') return
    this.sending = 'finished'
    this.wire.carry({ type: 'finish' }, 0)
  }

  close(reason?: Reason): void {
    if (this.sending === 'closed') return
    this.shut(reason)
    this.inbox.discard()
  }

  private shut(reason: Reason | undefined): void {
    this.sending = 'closed'
    this.wire.carry({ type: 'close', reason }, 0)
    this.outlet.end()
  }

  private receive(parcel: Parcel<In>): void {
    if (parcel.type === 'finish') this.inbox.finish()
    else if (parcel.type === 'close') {
      const { reason } = parcel
      this.sending = 'closed'
      this.inbox.finish(reason && new SpeechError(reason.code, reason.message))
      this.outlet.end()
    } else if (parcel.sizeBytes <= this.options.maxMessageBytes) this.inbox.push(parcel.message, parcel.sizeBytes)
    else {
      const message = `A message of ${parcel.sizeBytes} bytes is larger than the ${this.options.maxMessageBytes} allowed.`
      this.inbox.finish(new SpeechError('message-too-big', message))
      this.shut({ code: 'message-too-big', message })
    }
  }
}

/**
 * Both ends of one connection within the process. `send` delivers at once, to a reader that may answer at once: what is
 * said while a message is being delivered waits for its turn. There are no timers unless `latencyMs` is given, so the
 * pair runs under `TestScheduler`. What the peer has not read counts as `bufferedBytes`; a sender that ignores
 * `congested` is not stopped, as with a socket. `finish` half-closes. Throws `invalid-options`.
 */
export const memoryLinks = <A, B>(options: MemoryLinkOptions = {}): [Link<A, B>, Link<B, A>] => {
  const resolved = {
    ...resolveLimits(options),
    latencyMs: checkOption('latencyMs', durationMs(0), options.latencyMs ?? 0),
    scheduler: options.scheduler ?? asyncScheduler,
    sizeOf: options.sizeOf ?? sizeInBytes,
  }
  const one = new MemoryLink<A, B>(resolved)
  const other = new MemoryLink<B, A>(resolved)
  one.join(other)
  other.join(one)
  return [one, other]
}

/**
 * Connects to whatever `accept` does with the other end; it is called for every subscription, before the link is
 * emitted. When it throws, the dial errors with that (`connection-failed` unless it is a `SpeechError`).
 */
export const dialMemory = <In, Out>(
  accept: (link: Link<Out, In>) => void,
  options: MemoryLinkOptions = {},
): Dial<In, Out> =>
  new Observable((subscriber) => {
    const [near, far] = memoryLinks<In, Out>(options)
    subscriber.add(() => near.close())
    try {
      accept(far)
    } catch (error) {
      subscriber.error(
        toSpeechError(error, 'connection-failed', 'The service in memory did not accept the connection.'),
      )
      return
    }
    subscriber.next(near)
  })

interface UnderWay<T> {
  readonly parcel: T
  readonly sizeBytes: number
  readonly dueMs: number
}

/** One direction of a connection in memory: hands on in order, at once or so much later, with one timer at a time. */
export class MemoryWire<T> {
  private underWay: UnderWay<T>[] = []
  private sizeBytes = 0
  private timer: Subscription | undefined

  constructor(
    private readonly latencyMs: number,
    private readonly scheduler: SchedulerLike,
    private readonly arrive: (parcel: T) => void,
  ) {}

  get bytesUnderWay(): number {
    return this.sizeBytes
  }

  carry(parcel: T, sizeBytes: number): void {
    if (this.latencyMs === 0) {
      this.arrive(parcel)
      return
    }
    this.underWay.push({ parcel, sizeBytes, dueMs: this.scheduler.now() + this.latencyMs })
    this.sizeBytes += sizeBytes
    this.timer ??= this.scheduler.schedule(() => this.arriveDue(), this.latencyMs)
  }

  private arriveDue(): void {
    const nowMs = this.scheduler.now()
    const later = this.underWay.findIndex(({ dueMs }) => dueMs > nowMs)
    const due = later === -1 ? this.underWay : this.underWay.slice(0, later)
    this.underWay = later === -1 ? [] : this.underWay.slice(later)
    const next = this.underWay[0]
    this.timer = next && this.scheduler.schedule(() => this.arriveDue(), next.dueMs - nowMs)
    for (const { parcel, sizeBytes } of due) {
      this.sizeBytes -= sizeBytes
      this.arrive(parcel)
    }
  }
}

/** Where a handshake shows its token. */
export type PresentedAddress = Pick<WebSocketDialOptions, 'headers' | 'protocols'>

/** A service over links in memory: spread `recognizer` into the options of `recognize`, and `dataflow` into those of `dataflow`. */
export interface MemoryPeer {
  readonly recognizer: {
    readonly url: string
    readonly token: string
    readonly modelName: string
    /** Refuses a token that the service does not accept, by header or subprotocol, as the handshake would. */
    readonly dial: (address: PresentedAddress) => Dial<SocketMessage, SocketMessage>
  }
  readonly dataflow: {
    readonly address: string
    readonly token: string
    readonly tenant: string
    readonly projectName: string
    readonly dial: () => Dial<DataflowMessage, DataflowMessage>
  }
}
