import type { Subscription, Unsubscribable } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import { schedule } from '../../kernel/timers.js'
import { closeFrame } from './close-frame.js'
import { Heartbeat, type Patient } from './heartbeat.js'
import type { SocketMessage } from '../link.js'
import { receiverError, unreadableError } from './receiver-error.js'
import type { CloseReason, NodeSocket, SocketEvents } from './socket.js'
import { SocketLink } from './socket-link.js'
import type { WebSocketLimits } from './websocket-limits.js'

/** How often an end that does not read says that it is alive, in milliseconds: more often than peers ask by default. */
const unreadPongMs = 1_000

/** The link over a WebSocket of the package `ws`, which can be paused, pinged and cut, and tells when it took a message. */
export class NodeSocketLink extends SocketLink<NodeSocket> implements Patient {
  readonly #tookOne = (): void => this.outlet.update()
  #readingStopped = false
  #handedBytes = 0
  #heartbeat: Heartbeat | undefined
  #pongTimer: Unsubscribable | undefined
  #cutTimer: Subscription | undefined
  #closingLater: Subscription | undefined

  constructor(socket: NodeSocket, limits: WebSocketLimits) {
    super(socket, limits, true)
    // It would copy every message into an ArrayBuffer; its Buffer is a view already.
    socket.binaryType = 'nodebuffer'
    socket.on('unreadable', (closeCode, close) => this.#unreadable(closeCode, close))
    socket.addEventListener('error', (event) => this.#fail(event))
    if (limits.heartbeatMs > 0) this.#heartbeat = new Heartbeat(socket, limits.heartbeatMs, limits.scheduler, this)
  }

  resting(): boolean {
    return this.#readingStopped
  }

  waiting(): number {
    return this.socket.bufferedAmount
  }

  taken(): number {
    return this.#handedBytes - this.socket.bufferedAmount
  }

  silent(): void {
    this.lose(new SpeechError('connection-lost', 'The peer did not answer a ping in time.'))
    this.socket.terminate()
  }

  protected override hand(message: SocketMessage): void {
    const { socket } = this
    // Below the low-water mark nobody can be waiting for this message to be taken, so none asks to be told.
    this.#handedBytes += message.length
    const mayWait = socket.bufferedAmount + message.length > this.limits.lowWaterMarkBytes
    if (mayWait) socket.send(message, this.#tookOne)
    else socket.send(message)
  }

  protected override shut(reason: CloseReason | undefined): void {
    const frame = closeFrame(reason)
    this.#closingLater?.unsubscribe()
    // The peer's close frame has to be read, whatever stands before it.
    this.socket.resume()
    if (frame === undefined) this.socket.terminate()
    else this.socket.close(frame.code, frame.reason)
    this.#cutLater()
  }

  protected override receive(data: unknown): void {
    this.#heartbeat?.beat()
    // A plain `Uint8Array`: a Buffer's `slice` would share its bytes where a reader expects a copy.
    const isView = ArrayBuffer.isView(data)
    if (!isView) super.receive(data)
    else if (this.state === 'open')
      this.inbox.push(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), data.byteLength)
  }

  protected override closed(event: SocketEvents['close']): void {
    super.closed(event)
    this.#closingLater?.unsubscribe()
    this.#cutTimer?.unsubscribe()
  }

  protected override lose(error: SpeechError | undefined): void {
    this.#stopSigns()
    super.lose(error)
  }

  protected override steerReading(): void {
    if (this.state !== 'open' || this.#readingStopped === this.inbox.isFull) return
    this.#readingStopped = this.inbox.isFull
    if (this.#readingStopped) {
      this.socket.pause()
      this.#pongTimer ??= this.#pongLater()
    } else {
      // What the peer has said meanwhile is still to be read, an answer to a ping too.
      this.#heartbeat?.beat()
      this.socket.resume()
    }
  }

  /**
   * A ping of the peer waits behind what this end has not read, for longer than the peer waits for the answer where the
   * reader is slow. A pong that nobody asked for says that this end is alive (RFC 6455 section 5.5.3).
   */
  #pongLater(): Unsubscribable {
    return schedule(this.limits.scheduler, unreadPongMs, () => {
      this.#pongTimer = undefined
      if (this.state !== 'open') return
      // Bytes that wait say as much, once the peer reads again.
      if (this.socket.bufferedAmount === 0) this.socket.pong()
      if (this.#readingStopped) this.#pongTimer = this.#pongLater()
    })
  }

  /**
   * The reader learns of it after all that came before, while this end can still say something. It closes then; where
   * it does not, for it is not reading, the socket does after a while.
   */
  #unreadable(closeCode: number, close: () => void): void {
    if (this.state === 'open') {
      this.#closingLater = this.limits.scheduler.schedule(close, this.limits.closeTimeoutMs)
      this.inbox.finish(unreadableError(closeCode))
    } else close()
  }

  /** Only what the receiver finds about the peer comes here; the socket closes by itself, with the code that RFC 6455 asks for. */
  #fail(event: SocketEvents['error']): void {
    if (this.#closingLater !== undefined) return
    this.lose(receiverError(event.error))
    this.#cutLater()
  }

  #stopSigns(): void {
    this.#heartbeat?.stop()
    this.#pongTimer?.unsubscribe()
  }

  #cutLater(): void {
    this.#stopSigns()
    if (this.#cutTimer !== undefined || this.socket.readyState > 2) return
    this.#cutTimer = this.limits.scheduler.schedule(() => this.socket.terminate(), this.limits.closeTimeoutMs)
  }
}
