import { asyncScheduler, Observable, type SchedulerLike, type Subscription } from 'rxjs'
import { SpeechError, toSpeechError } from '../../errors/speech-error.js'
import { Inbox } from '../inbox.js'
import { linkLimitCodecs, type LinkLimits, resolveLimits, type Resolved } from '../limits.js'
import { checkOptions, durationMs, functionValue, optionsOf, schedulerValue } from '../../protocol/validation.js'
import type { CloseReason, Dial, Link } from '../link.js'
import { DrainSignal } from '../drain.js'
import type { WebSocketDialOptions } from '../websocket/dial.js'

/** The latency, the clock and the limits of a link in memory. */
export interface MemoryLinkOptions extends LinkLimits {
  /** The latency of each message and each end, in milliseconds. With 0 it is delivered within `send`. @default 0 */
  readonly latencyMs?: number | undefined
  /** The clock of `latencyMs`. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
  /** The size of a message in bytes. @default the length of texts and of bytes, alone or as fields of the message */
  readonly sizeOf?: ((message: unknown) => number) | undefined
}

export const memoryLinkOptions = optionsOf<MemoryLinkOptions>()(
  {},
  { ...linkLimitCodecs, latencyMs: durationMs(0), scheduler: schedulerValue, sizeOf: functionValue },
)

/** A message, or one of the two kinds of ends, in flight. */
type Parcel<T> =
  | { readonly type: 'message'; readonly message: T; readonly sizeBytes: number }
  | { readonly type: 'finish' }
  | { readonly type: 'close'; readonly reason: CloseReason | undefined }

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

  readonly #options: Resolved<MemoryLinkOptions>
  readonly #inbox: Inbox<In>
  readonly #drain: DrainSignal
  readonly #wire: MemoryWire<Parcel<Out>>
  #state: 'open' | 'finished' | 'closed' = 'open'
  #peer: MemoryLink<Out, In> | undefined

  constructor(options: Resolved<MemoryLinkOptions>) {
    this.#options = options
    this.#inbox = new Inbox(0, () => {
      const peer = this.#peer
      if (peer !== undefined) peer.#drain.update()
    })
    this.incoming$ = this.#inbox.incoming$
    this.#drain = new DrainSignal(() => this.bufferedBytes, options)
    this.drain$ = this.#drain.drain$
    this.#wire = new MemoryWire(options.latencyMs, options.scheduler, (parcel) => {
      const peer = this.#peer
      if (peer !== undefined) peer.#receive(parcel)
      this.#drain.update()
    })
  }

  join(peer: MemoryLink<Out, In>): void {
    this.#peer = peer
  }

  get bufferedBytes(): number {
    const peer = this.#peer
    return this.#wire.bytesInFlight + (peer === undefined ? 0 : peer.#inbox.heldBytes)
  }

  get isCongested(): boolean {
    return this.#drain.isCongested
  }

  send(message: Out): void {
    if (this.#state !== 'open') return
    const sizeBytes = this.#options.sizeOf(message)
    if (this.#options.latencyMs > 0) {
      this.#wire.carry({ type: 'message', message, sizeBytes }, sizeBytes)
      return
    }
    const peer = this.#peer
    if (peer !== undefined) peer.#receiveMessage(message, sizeBytes)
    this.#drain.update()
  }

  pause(): void {
    this.#inbox.pause()
  }

  resume(): void {
    this.#inbox.resume()
  }

  finish(): void {
    if (this.#state !== 'open') return
    this.#state = 'finished'
    this.#wire.carry({ type: 'finish' }, 0)
  }

  close(reason?: CloseReason): void {
    if (this.#state === 'closed') return
    this.#closeSending(reason)
    this.#inbox.discard()
  }

  #closeSending(reason: CloseReason | undefined): void {
    this.#state = 'closed'
    this.#wire.carry({ type: 'close', reason }, 0)
    this.#drain.end()
  }

  #receive(parcel: Parcel<In>): void {
    if (parcel.type === 'finish') this.#inbox.finish()
    else if (parcel.type === 'close') {
      const { reason } = parcel
      this.#state = 'closed'
      this.#inbox.finish(reason && new SpeechError(reason.code, reason.message))
      this.#drain.end()
    } else this.#receiveMessage(parcel.message, parcel.sizeBytes)
  }

  #receiveMessage(message: In, sizeBytes: number): void {
    const { maxMessageBytes } = this.#options
    if (sizeBytes <= maxMessageBytes) {
      this.#inbox.push(message, sizeBytes)
      return
    }
    const problem = `A message of ${sizeBytes} bytes is larger than the ${maxMessageBytes} allowed.`
    this.#inbox.finish(new SpeechError('message-too-big', problem))
    this.#closeSending({ code: 'message-too-big', message: problem })
  }
}

/**
 * Both ends of one connection within the process. `send` delivers synchronously, and the reader may answer
 * synchronously: messages that are sent while one is delivered follow in order. There are no timers without
 * `latencyMs`, so the pair runs under `TestScheduler`. Bytes that the peer has not read count as `bufferedBytes`; as
 * with a socket, a sender that ignores `isCongested` is not stopped. `finish` half-closes. Throws `invalid-options`.
 */
export const memoryLinks = <A, B>(options: MemoryLinkOptions = {}): [Link<A, B>, Link<B, A>] => {
  checkOptions(memoryLinkOptions, options)
  const resolved = {
    ...resolveLimits(options),
    latencyMs: options.latencyMs ?? 0,
    scheduler: options.scheduler ?? asyncScheduler,
    sizeOf: options.sizeOf ?? sizeInBytes,
  }
  const near = new MemoryLink<A, B>(resolved)
  const far = new MemoryLink<B, A>(resolved)
  near.join(far)
  far.join(near)
  return [near, far]
}

/**
 * Connects to `accept`, which gets the other end. It is called for each subscription, before the link is emitted. When
 * it throws, the dial errors with that error (`connection-failed` unless it is a `SpeechError`).
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

interface InFlight<T> {
  readonly parcel: T
  readonly sizeBytes: number
  readonly dueMs: number
}

/** One direction of a connection in memory: delivers in order, at once or after a latency, with one timer at a time. */
class MemoryWire<T> {
  readonly #latencyMs: number
  readonly #scheduler: SchedulerLike
  readonly #deliver: (parcel: T) => void
  #inFlight: InFlight<T>[] = []
  #sizeBytes = 0
  #timer: Subscription | undefined

  constructor(latencyMs: number, scheduler: SchedulerLike, deliver: (parcel: T) => void) {
    this.#latencyMs = latencyMs
    this.#scheduler = scheduler
    this.#deliver = deliver
  }

  get bytesInFlight(): number {
    return this.#sizeBytes
  }

  carry(parcel: T, sizeBytes: number): void {
    if (this.#latencyMs === 0) {
      this.#deliver(parcel)
      return
    }
    this.#inFlight.push({ parcel, sizeBytes, dueMs: this.#scheduler.now() + this.#latencyMs })
    this.#sizeBytes += sizeBytes
    if (this.#timer === undefined) this.#timer = this.#scheduler.schedule(() => this.#deliverDue(), this.#latencyMs)
  }

  #deliverDue(): void {
    const nowMs = this.#scheduler.now()
    const later = this.#inFlight.findIndex(({ dueMs }) => dueMs > nowMs)
    const due = later === -1 ? this.#inFlight : this.#inFlight.slice(0, later)
    this.#inFlight = later === -1 ? [] : this.#inFlight.slice(later)
    const next = this.#inFlight[0]
    this.#timer = next && this.#scheduler.schedule(() => this.#deliverDue(), next.dueMs - nowMs)
    for (const { parcel, sizeBytes } of due) {
      this.#sizeBytes -= sizeBytes
      this.#deliver(parcel)
    }
  }
}

/** The parts of a handshake that present a token. */
export type PresentedAddress = Pick<WebSocketDialOptions, 'headers' | 'protocols'>
