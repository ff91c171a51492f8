import type { Observable } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import { closeError } from './errors.js'
import { reasonText } from '../../errors/refusal.js'
import { Inbox } from '../inbox.js'
import type { Link, SocketMessage } from '../link.js'
import { DrainSignal } from '../drain.js'
import {
  maxReasonBytes,
  openState,
  type CloseReason,
  type Socket,
  type SocketEvents,
  type WebSocketLimits,
} from './socket.js'

/** Browsers may send 1000 and 3000–4999 only, so the code of the reason is in its text. */
const reasonCode = 4000

/** The same as in the error table, which browsers do not load. */
const overloadedCode = 4429

/**
 * The link over any standard WebSocket (WHATWG WebSockets), as browsers have it. Such a socket cannot be paused, pinged
 * or terminated: when the reader falls too far behind the link ends with `overloaded`, and there is no heartbeat.
 */
export class SocketLink<S extends Socket = Socket> implements Link<SocketMessage, SocketMessage> {
  protected state: 'open' | 'closing' | 'ended' = 'open'
  protected readonly inbox: Inbox<SocketMessage>
  protected readonly drain: DrainSignal

  /** @param hasTakenCallback whether the socket calls back when it has taken a message; otherwise it is polled */
  constructor(
    protected readonly socket: S,
    protected readonly limits: WebSocketLimits,
    hasTakenCallback = false,
  ) {
    this.inbox = new Inbox(Math.max(limits.highWaterMarkBytes, limits.maxMessageBytes), () => this.steerReading())
    this.drain = new DrainSignal(() => this.bufferedBytes, limits, hasTakenCallback ? undefined : limits.scheduler)
    socket.binaryType = 'arraybuffer'
    this.listen()
  }

  get incoming$(): Observable<SocketMessage> {
    return this.inbox.incoming$
  }

  get drain$(): Observable<void> {
    return this.drain.drain$
  }

  get bufferedBytes(): number {
    return this.socket.bufferedAmount
  }

  get isCongested(): boolean {
    return this.drain.isCongested
  }

  send(message: SocketMessage): void {
    if (this.state === 'open' && this.socket.readyState === openState) this.write(message)
  }

  pause(): void {
    this.inbox.pause()
  }

  resume(): void {
    this.inbox.resume()
  }

  /** RFC 6455 has no half-close. */
  finish(): void {}

  close(reason?: CloseReason): void {
    if (this.state !== 'open') return
    this.state = 'closing'
    this.inbox.discard()
    this.drain.end()
    this.endSocket(reason)
  }

  protected write(message: SocketMessage): void {
    this.socket.send(message)
  }

  protected endSocket(reason: CloseReason | undefined): void {
    if (reason === undefined) this.socket.close(1000, '')
    else this.socket.close(reasonCode, reasonText(reason, maxReasonBytes))
  }

  /** Listens to messages and the end of the socket. */
  protected listen(): void {
    this.socket.addEventListener('message', ({ data }) => this.receive(data))
    this.socket.addEventListener('close', (event) => this.onClose(event))
  }

  protected receive(data: unknown): void {
    if (this.state !== 'open') return
    if (typeof data === 'string') this.inbox.push(data, data.length)
    else {
      const bytes = new Uint8Array(data as ArrayBuffer)
      this.inbox.push(bytes, bytes.byteLength)
    }
  }

  protected onClose({ code, reason }: SocketEvents['close']): void {
    this.lose(closeError(code, reason))
    this.state = 'ended'
  }

  protected lose(error: SpeechError | undefined): void {
    if (this.state !== 'open') return
    this.state = 'closing'
    this.inbox.finish(error)
    this.drain.end()
  }

  protected steerReading(): void {
    if (this.state !== 'open' || !this.inbox.isOverLimit) return
    const error = new SpeechError('overloaded', 'The reader fell too far behind.')
    this.lose(error)
    this.socket.close(overloadedCode, reasonText(error, maxReasonBytes))
  }
}
