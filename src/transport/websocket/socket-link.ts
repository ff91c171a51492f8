import type { Observable } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import { closeError } from './close-code.js'
import { reasonText } from '../named-refusal.js'
import { Inbox } from '../inbox.js'
import type { Link, SocketMessage } from '../link.js'
import { Room } from '../room.js'
import { maxReasonBytes, openState, type CloseReason, type Socket, type SocketEvents } from './socket.js'
import type { WebSocketLimits } from './websocket-limits.js'

/** The only codes that a browser may send are 1000 and 3000–4999: the reason's own code stands in its text. */
const reasonCode = 4000

/** Of the error table. */
const overloadedCode = 4429

/**
 * The link over any WebSocket of the standard (WHATWG WebSockets), as browsers have it. Such a socket cannot be paused,
 * pinged or cut: what its reader does not take has a bound and then an end, and a peer is never asked for a sign of life.
 */
export class SocketLink<S extends Socket = Socket> implements Link<SocketMessage, SocketMessage> {
  protected state: 'open' | 'closing' | 'ended' = 'open'
  protected readonly inbox: Inbox<SocketMessage>
  protected readonly outlet: Room

  /** `tellsTaken`: whether the socket says when it took a message; else it is asked. */
  constructor(
    protected readonly socket: S,
    protected readonly limits: WebSocketLimits,
    tellsTaken = false,
  ) {
    this.inbox = new Inbox(Math.max(limits.highWaterMarkBytes, limits.maxMessageBytes), () => this.steerReading())
    this.outlet = new Room(() => this.bufferedBytes, limits, tellsTaken ? undefined : limits.scheduler)
    socket.binaryType = 'arraybuffer'
    socket.addEventListener('message', ({ data }) => this.receive(data))
    socket.addEventListener('close', (event) => this.closed(event))
  }

  get incoming(): Observable<SocketMessage> {
    return this.inbox.incoming
  }

  get room(): Observable<void> {
    return this.outlet.room
  }

  get bufferedBytes(): number {
    return this.socket.bufferedAmount
  }

  get congested(): boolean {
    return this.outlet.congested
  }

  send(message: SocketMessage): void {
    if (this.state === 'open' && this.socket.readyState === openState) this.hand(message)
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
    this.outlet.end()
    this.shut(reason)
  }

  protected hand(message: SocketMessage): void {
    this.socket.send(message)
  }

  protected shut(reason: CloseReason | undefined): void {
    if (reason === undefined) this.socket.close(1000, '')
    else this.socket.close(reasonCode, reasonText(reason, maxReasonBytes))
  }

  protected receive(data: unknown): void {
    if (this.state !== 'open') return
    if (typeof data === 'string') this.inbox.push(data, data.length)
    else {
      const bytes = new Uint8Array(data as ArrayBuffer)
      this.inbox.push(bytes, bytes.byteLength)
    }
  }

  protected closed({ code, reason }: SocketEvents['close']): void {
    this.lose(closeError(code, reason))
    this.state = 'ended'
  }

  protected lose(error: SpeechError | undefined): void {
    if (this.state !== 'open') return
    this.state = 'closing'
    this.inbox.finish(error)
    this.outlet.end()
  }

  protected steerReading(): void {
    if (this.state !== 'open' || !this.inbox.isOverLimit) return
    const error = new SpeechError('overloaded', 'The reader of the messages fell too far behind.')
    this.lose(error)
    this.socket.close(overloadedCode, reasonText(error, maxReasonBytes))
  }
}
