import { asyncScheduler, type Observable, type SchedulerLike, type Subscription } from 'rxjs'
import { SpeechError } from '../errors/speech-error.js'
import { closeError, closeFrame, receiverError } from './close-code.js'
import { startHeartbeat, type Heartbeat } from './heartbeat.js'
import { Inbox } from './inbox.js'
import { resolveLimits, wholeNumber, type LinkLimits } from './limits.js'
import type { Link, SocketMessage } from './link.js'
import { Room } from './room.js'
import { isNodeSocket, openState, type CloseReason, type NodeSocket, type Socket, type SocketEvents } from './socket.js'

export interface WebSocketLinkOptions extends LinkLimits {
  /**
   * Every so many milliseconds a ping is sent; a peer that answers nothing until the next ends the link with
   * `connection-lost`. A peer that itself stops reading for so long counts as dead. Default 0: no pings. The browser
   * cannot ping, there it does nothing.
   */
  readonly heartbeatMs?: number
  /** The clock of the time-outs. Default `asyncScheduler`. */
  readonly scheduler?: SchedulerLike
}

type Limits = Required<LinkLimits> & { readonly heartbeatMs: number; readonly scheduler: SchedulerLike }

export const resolveWebSocketLimits = (options: WebSocketLinkOptions): Limits => ({
  ...resolveLimits(options),
  heartbeatMs: wholeNumber('heartbeatMs', options.heartbeatMs ?? 0, 0, 2 ** 31 - 1),
  scheduler: options.scheduler ?? asyncScheduler,
})

/** A view as a plain `Uint8Array`: a Buffer's `slice` would share its bytes where a reader expects a copy. */
const toBytes = (data: unknown): Uint8Array =>
  ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data as ArrayBuffer)

class WebSocketLink implements Link<SocketMessage, SocketMessage> {
  readonly incoming: Observable<SocketMessage>
  readonly room: Observable<void>

  private state: 'open' | 'closing' | 'ended' = 'open'
  private readonly inbox: Inbox<SocketMessage>
  private readonly outlet: Room
  private readonly node: NodeSocket | undefined
  private readonly taken = (): void => this.outlet.update()
  private readingStopped = false
  private readonly heartbeat: Heartbeat | undefined
  private cutTimer: Subscription | undefined

  constructor(
    private readonly socket: Socket,
    private readonly limits: Limits,
  ) {
    this.node = isNodeSocket(socket) ? socket : undefined
    this.inbox = new Inbox(Math.max(limits.highWaterMarkBytes, limits.maxMessageBytes), () => this.steerReading())
    this.incoming = this.inbox.incoming
    this.outlet = new Room(() => this.bufferedBytes, limits, this.node === undefined ? limits.scheduler : undefined)
    this.room = this.outlet.room
    // The package `ws` would copy every message into an ArrayBuffer; its Buffer is a view already.
    socket.binaryType = this.node === undefined ? 'arraybuffer' : 'nodebuffer'
    socket.addEventListener('message', (event) => this.receive(event))
    socket.addEventListener('error', (event) => this.fail(event))
    socket.addEventListener('close', (event) => this.closed(event))
    if (this.node !== undefined && limits.heartbeatMs > 0) {
      const silent = (): void => this.cut(new SpeechError('connection-lost', 'The peer did not answer a ping in time.'))
      const resting = (): boolean => this.readingStopped
      this.heartbeat = startHeartbeat(this.node, limits.heartbeatMs, limits.scheduler, resting, silent)
    }
  }

  get bufferedBytes(): number {
    return this.socket.bufferedAmount
  }

  get congested(): boolean {
    return this.outlet.congested
  }

  send(message: SocketMessage): void {
    const { socket, node } = this
    if (this.state !== 'open' || socket.readyState !== openState) return
    // Below the low-water mark nobody can be waiting for this message to be taken, so none asks to be told.
    const mayWait = socket.bufferedAmount + message.length > this.limits.lowWaterMarkBytes
    if (mayWait && node !== undefined) node.send(message, this.taken)
    else socket.send(message)
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
    const frame = closeFrame(reason, this.node === undefined ? 'browser' : 'node')
    this.inbox.discard()
    this.outlet.end()
    // The peer's close frame has to be read, whatever stands before it.
    this.node?.resume()
    if (frame === undefined) this.node?.terminate()
    else this.socket.close(frame.code, frame.reason)
    this.cutLater()
  }

  private receive(event: SocketEvents['message']): void {
    if (this.state !== 'open') return
    this.heartbeat?.beat()
    const { data } = event
    if (typeof data === 'string') this.inbox.push(data, data.length)
    else {
      const bytes = toBytes(data)
      this.inbox.push(bytes, bytes.byteLength)
    }
  }

  /** Only what the receiver finds about the peer comes here; the socket closes by itself, with the code that RFC 6455 asks for. */
  private fail(event: SocketEvents['error']): void {
    // A browser's event says nothing; its close event follows.
    if (this.node === undefined) return
    this.lose(receiverError(event.error))
    this.cutLater()
  }

  private closed({ code, reason }: SocketEvents['close']): void {
    this.lose(closeError(code, reason))
    this.state = 'ended'
    this.cutTimer?.unsubscribe()
  }

  private lose(error: SpeechError | undefined): void {
    this.heartbeat?.stop()
    if (this.state !== 'open') return
    this.state = 'closing'
    this.inbox.finish(error)
    this.outlet.end()
  }

  private cut(error: SpeechError): void {
    this.lose(error)
    this.node?.terminate()
  }

  private cutLater(): void {
    this.heartbeat?.stop()
    if (this.node === undefined || this.cutTimer !== undefined || this.socket.readyState > 2) return
    this.cutTimer = this.limits.scheduler.schedule(() => this.node?.terminate(), this.limits.closeTimeoutMs)
  }

  private steerReading(): void {
    if (this.state !== 'open' || this.readingStopped === this.inbox.isFull) return
    if (this.node === undefined) {
      if (this.inbox.isOverLimit) this.fallBehind()
      return
    }
    this.readingStopped = this.inbox.isFull
    if (this.readingStopped) this.node.pause()
    else this.node.resume()
  }

  /** A browser's socket cannot be paused, so what its reader does not take has a bound and then an end. */
  private fallBehind(): void {
    const reason = { code: 'overloaded', message: 'The reader of the messages fell too far behind.' } as const
    this.lose(new SpeechError(reason.code, reason.message))
    const frame = closeFrame(reason, 'browser')
    if (frame !== undefined) this.socket.close(frame.code, frame.reason)
  }
}

/**
 * The link over a WebSocket that is open, at either end. It must be made in the same turn as the socket opened, or
 * messages are missed. In Node `pause` stops reading the connection; in the browser what arrives meanwhile is kept, up
 * to the larger of `maxMessageBytes` and `highWaterMarkBytes`, then the link ends with `overloaded`. `finish` does
 * nothing (RFC 6455 has no half-close). Bytes given to `send` are not copied: do not change them.
 * `maxMessageBytes` is kept by the socket itself where it has `maxPayload`. Throws `invalid-options`.
 */
export const webSocketLink = (socket: Socket, options: WebSocketLinkOptions = {}): Link<SocketMessage, SocketMessage> =>
  new WebSocketLink(socket, resolveWebSocketLimits(options))
