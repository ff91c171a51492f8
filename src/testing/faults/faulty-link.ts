import { Subscription, type Observable, type SchedulerLike } from 'rxjs'
import { toSpeechError, SpeechError } from '../../errors/speech-error.js'
import { Inbox } from '../../transport/inbox.js'
import { resolveLimits } from '../../transport/limits.js'
import type { Link } from '../../transport/link.js'
import { DrainSignal } from '../../transport/drain.js'
import { corrupted } from './corrupt.js'
import type { Direction, Fault } from './fault-script.js'
import { MessageLane } from './message-lane.js'
import type { Shapes } from './traffic-shape.js'

type Reason = NonNullable<Parameters<Link<never, never>['close']>[0]>

type Inward<In> =
  { readonly type: 'message'; readonly message: In } | { readonly type: 'end'; readonly error?: SpeechError }

type Outward<Out> =
  | { readonly type: 'message'; readonly message: Out }
  | { readonly type: 'finish' }
  | { readonly type: 'close'; readonly reason: Reason | undefined }

export interface FaultyLinkOptions {
  readonly shapes: () => Shapes
  readonly scheduler: SchedulerLike
  readonly random: () => number
  /** A message has passed; `bytes` are those of its content. */
  readonly passed: (direction: Direction, message: unknown) => void
}

const limits = resolveLimits({})

/** Bytes of a message: of a text, of bytes, or of the fields that hold either. */
export const messageBytes = (message: unknown): number => {
  if (typeof message === 'string') return message.length
  if (message instanceof Uint8Array) return message.length
  if (typeof message !== 'object' || message === null) return 0
  const contents = Object.values(message).filter((value) => typeof value === 'string' || value instanceof Uint8Array)
  return contents.reduce<number>((sum, value) => sum + value.length, 0)
}

/** A link between a link and its owner, on which faults can be done. It holds no more than the link below would. */
export class FaultyLink<In, Out> implements Link<In, Out> {
  readonly incoming$: Observable<In>
  readonly drain$: Observable<void>

  readonly #inner: Link<In, Out>
  readonly #inbox: Inbox<In>
  readonly #outlet: DrainSignal
  readonly #toClient: MessageLane<Inward<In>>
  readonly #toService: MessageLane<Outward<Out>>
  readonly #subscription = new Subscription()
  #open = true

  constructor(inner: Link<In, Out>, { shapes, scheduler, random, passed }: FaultyLinkOptions) {
    this.#inner = inner
    this.#inbox = new Inbox(limits.maxMessageBytes, () => this.#steerReading())
    this.incoming$ = this.#inbox.incoming$
    this.#outlet = new DrainSignal(() => this.bufferedBytes, limits, scheduler)
    this.drain$ = this.#outlet.drain$
    this.#toClient = new MessageLane({
      shape: () => shapes()['to-client'],
      scheduler,
      random,
      changed: () => this.#steerReading(),
      corrupt: (one) => (one.type === 'message' ? { ...one, message: corrupted(one.message) } : one),
      deliver: (one, sizeBytes) => {
        if (one.type === 'end') this.#end(one.error)
        else {
          this.#inbox.push(one.message, sizeBytes)
          passed('to-client', one.message)
        }
      },
    })
    this.#toService = new MessageLane({
      shape: () => shapes()['to-service'],
      scheduler,
      random,
      changed: () => this.#outlet.update(),
      corrupt: (one) => (one.type === 'message' ? { ...one, message: corrupted(one.message) } : one),
      deliver: (one) => {
        if (one.type === 'finish') inner.finish()
        else if (one.type === 'close') inner.close(one.reason)
        else {
          inner.send(one.message)
          passed('to-service', one.message)
        }
      },
    })
  }

  /** Listens to the link below; what that has said already arrives at once, and may bring a fault about. */
  begin(): void {
    const subscription = this.#inner.incoming$.subscribe({
      next: (message) => this.#toClient.carry({ type: 'message', message }, messageBytes(message)),
      complete: () => this.#toClient.carryUntouched({ type: 'end' }, 0),
      error: (cause: unknown) => {
        const error = toSpeechError(cause, 'connection-lost', 'The link below failed; see the cause.')
        this.#toClient.carryUntouched({ type: 'end', error }, 0)
      },
    })
    this.#subscription.add(subscription)
  }

  get bufferedBytes(): number {
    return this.#toService.heldBytes + this.#inner.bufferedBytes
  }

  get isCongested(): boolean {
    return this.#open && this.bufferedBytes > limits.highWaterMarkBytes
  }

  send(message: Out): void {
    if (this.#open) this.#toService.carry({ type: 'message', message }, messageBytes(message))
  }

  pause(): void {
    this.#inbox.pause()
  }

  resume(): void {
    this.#inbox.resume()
  }

  finish(): void {
    if (this.#open) this.#toService.carryUntouched({ type: 'finish' }, 0)
  }

  close(reason?: Reason): void {
    if (!this.#open) return
    this.#toService.carryUntouched({ type: 'close', reason }, 0)
    this.#open = false
    this.#outlet.end()
    this.#inbox.discard()
  }

  /** Does what concerns one connection; the rest is not for a link. */
  suffer(fault: Fault): void {
    switch (fault.do) {
      case 'reset':
      case 'outage':
        return this.#break(new SpeechError('connection-lost', 'The fault script broke the connection off.'))
      case 'end':
        return this.#break(undefined)
      case 'half-open':
        this.#toClient.swallow()
        return this.#toService.swallow()
      case 'black-hole':
        return this.#lane(fault.direction).swallow()
      case 'stall':
        return this.#lane(fault.direction).stall()
      case 'restore':
        this.#toClient.goOn()
        return this.#toService.goOn()
      case 'corrupt':
        return this.#lane(fault.direction).corruptNext()
      case 'duplicate':
        return this.#lane(fault.direction).duplicateNext()
      case 'inject':
        // The script says which kind of message its link has.
        return this.#toClient.carryUntouched({ type: 'message', message: fault.message as In }, 0)
      default:
    }
  }

  /** Goes on after a stall, one way. */
  goOn(direction: Direction): void {
    this.#lane(direction).goOn()
  }

  /** Lets go of the link below, which its own dial closes. */
  release(): void {
    this.#toClient.swallow()
    this.#toService.swallow()
    this.#open = false
    this.#outlet.end()
    this.#subscription.unsubscribe()
  }

  #lane(direction: Direction): MessageLane<Inward<In>> | MessageLane<Outward<Out>> {
    return direction === 'to-client' ? this.#toClient : this.#toService
  }

  #break(error: SpeechError | undefined): void {
    const reason = error && { code: error.code, message: error.message }
    this.#subscription.unsubscribe()
    this.#toClient.swallow()
    this.#toService.swallow()
    this.#inner.close(reason)
    this.#end(error)
  }

  #end(error: SpeechError | undefined): void {
    this.#open = false
    this.#inbox.finish(error)
    this.#outlet.end()
  }

  /** Called while the constructor runs, too. */
  #steerReading(): void {
    if (this.#inbox.isFull || this.#toClient.isStalled || this.#toClient.heldBytes > limits.maxMessageBytes) {
      this.#inner.pause()
    } else this.#inner.resume()
  }
}
