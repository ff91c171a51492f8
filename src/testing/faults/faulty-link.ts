import { Subscription, type Observable, type SchedulerLike } from 'rxjs'
import { toSpeechError, SpeechError } from '../../errors/speech-error.js'
import { Inbox } from '../../transport/inbox.js'
import { resolveLimits } from '../../transport/limits.js'
import type { Link } from '../../transport/link.js'
import { DrainSignal } from '../../transport/drain.js'
import type { FaultTarget } from './fault-injector.js'
import type { Direction, Fault } from './fault-script.js'
import { MessagePipe } from './message-pipe.js'
import { corruptMessage, type TrafficShapes } from './traffic.js'

type Reason = NonNullable<Parameters<Link<never, never>['close']>[0]>

type Received<In> =
  { readonly type: 'message'; readonly message: In } | { readonly type: 'end'; readonly error?: SpeechError }

type Sent<Out> =
  | { readonly type: 'message'; readonly message: Out }
  | { readonly type: 'finish' }
  | { readonly type: 'close'; readonly reason: Reason | undefined }

export interface FaultyLinkOptions {
  readonly shapes: () => TrafficShapes
  readonly scheduler: SchedulerLike
  readonly random: () => number
  /** Called after a message passed. */
  readonly passed: (direction: Direction, message: unknown) => void
}

const limits = resolveLimits({})

/** The size of a message: of a text, of bytes, or of the fields with either. */
export const messageBytes = (message: unknown): number => {
  if (typeof message === 'string') return message.length
  if (message instanceof Uint8Array) return message.length
  if (typeof message !== 'object' || message === null) return 0
  const contents = Object.values(message).filter((value) => typeof value === 'string' || value instanceof Uint8Array)
  return contents.reduce<number>((sum, value) => sum + value.length, 0)
}

/** A link that wraps another one and applies faults. It holds no more messages than the wrapped link would. */
export class FaultyLink<In, Out> implements Link<In, Out>, FaultTarget {
  readonly incoming$: Observable<In>
  readonly drain$: Observable<void>
  readonly leaving$?: Observable<void>

  readonly #inner: Link<In, Out>
  readonly #inbox: Inbox<In>
  readonly #drain: DrainSignal
  readonly #toClient: MessagePipe<Received<In>>
  readonly #toService: MessagePipe<Sent<Out>>
  readonly #subscription = new Subscription()
  #isOpen = true

  constructor(inner: Link<In, Out>, { shapes, scheduler, random, passed }: FaultyLinkOptions) {
    this.#inner = inner
    if (inner.leaving$ !== undefined) this.leaving$ = inner.leaving$
    this.#inbox = new Inbox(limits.maxMessageBytes, () => this.#steerReading())
    this.incoming$ = this.#inbox.incoming$
    this.#drain = new DrainSignal(() => this.bufferedBytes, limits, scheduler)
    this.drain$ = this.#drain.drain$
    this.#toClient = new MessagePipe({
      shape: () => shapes()['to-client'],
      scheduler,
      random,
      onChange: () => this.#steerReading(),
      corrupt: (item) => (item.type === 'message' ? { ...item, message: corruptMessage(item.message) } : item),
      deliver: (item, sizeBytes) => {
        if (item.type === 'end') this.#end(item.error)
        else {
          this.#inbox.push(item.message, sizeBytes)
          passed('to-client', item.message)
        }
      },
    })
    this.#toService = new MessagePipe({
      shape: () => shapes()['to-service'],
      scheduler,
      random,
      onChange: () => this.#drain.update(),
      corrupt: (item) => (item.type === 'message' ? { ...item, message: corruptMessage(item.message) } : item),
      deliver: (item) => {
        if (item.type === 'finish') inner.finish()
        else if (item.type === 'close') inner.close(item.reason)
        else {
          inner.send(item.message)
          passed('to-service', item.message)
        }
      },
    })
  }

  /** Subscribes to the wrapped link. Messages that wait there are delivered at once and can trigger faults. */
  start(): void {
    const subscription = this.#inner.incoming$.subscribe({
      next: (message) => this.#toClient.push({ type: 'message', message }, messageBytes(message)),
      complete: () => this.#toClient.pushUnchanged({ type: 'end' }, 0),
      error: (cause: unknown) => {
        const error = toSpeechError(cause, 'connection-lost', 'The wrapped link failed; see the cause.')
        this.#toClient.pushUnchanged({ type: 'end', error }, 0)
      },
    })
    this.#subscription.add(subscription)
  }

  get bufferedBytes(): number {
    return this.#toService.heldBytes + this.#inner.bufferedBytes
  }

  get isCongested(): boolean {
    return this.#isOpen && this.bufferedBytes > limits.highWaterMarkBytes
  }

  send(message: Out): void {
    if (this.#isOpen) this.#toService.push({ type: 'message', message }, messageBytes(message))
  }

  pause(): void {
    this.#inbox.pause()
  }

  resume(): void {
    this.#inbox.resume()
  }

  finish(): void {
    if (this.#isOpen) this.#toService.pushUnchanged({ type: 'finish' }, 0)
  }

  close(reason?: Reason): void {
    if (!this.#isOpen) return
    this.#toService.pushUnchanged({ type: 'close', reason }, 0)
    this.#isOpen = false
    this.#drain.end()
    this.#inbox.discard()
  }

  apply(fault: Fault): void {
    switch (fault.do) {
      case 'reset':
      case 'outage':
        return this.#break(new SpeechError('connection-lost', 'The fault script broke the connection.'))
      case 'end':
        return this.#break(undefined)
      case 'half-open':
        this.#toClient.discard()
        return this.#toService.discard()
      case 'black-hole':
        return this.#pipe(fault.direction).discard()
      case 'stall':
        return this.#pipe(fault.direction).stall()
      case 'restore':
        this.#toClient.resume()
        return this.#toService.resume()
      case 'corrupt':
        return this.#pipe(fault.direction).corruptNext()
      case 'duplicate':
        return this.#pipe(fault.direction).duplicateNext()
      case 'inject':
        // The script is responsible for the type of the message.
        return this.#toClient.pushUnchanged({ type: 'message', message: fault.message as In }, 0)
      default:
    }
  }

  resumeDirection(direction: Direction): void {
    this.#pipe(direction).resume()
  }

  /** Detaches from the wrapped link, which its own dial closes. */
  release(): void {
    this.#toClient.discard()
    this.#toService.discard()
    this.#isOpen = false
    this.#drain.end()
    this.#subscription.unsubscribe()
  }

  #pipe(direction: Direction): MessagePipe<Received<In>> | MessagePipe<Sent<Out>> {
    return direction === 'to-client' ? this.#toClient : this.#toService
  }

  #break(error: SpeechError | undefined): void {
    const reason = error && { code: error.code, message: error.message }
    this.#subscription.unsubscribe()
    this.#toClient.discard()
    this.#toService.discard()
    this.#inner.close(reason)
    this.#end(error)
  }

  #end(error: SpeechError | undefined): void {
    this.#isOpen = false
    this.#inbox.finish(error)
    this.#drain.end()
  }

  /** Can run during the constructor. */
  #steerReading(): void {
    if (this.#inbox.isFull || this.#toClient.isStalled || this.#toClient.heldBytes > limits.maxMessageBytes) {
      this.#inner.pause()
    } else this.#inner.resume()
  }
}
