import type { SchedulerLike, Subscription, Unsubscribable } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import { schedule } from '../../kernel/timers.js'
import type { SocketMessage } from '../link.js'
import { closeFrame, receiverError, protocolError } from './errors.js'
import { SocketLink } from './link.js'
import type { NodeSocket } from './node-socket.js'
import type { CloseReason, SocketEvents, WebSocketLimits } from './socket.js'

/** The period of the pongs that an end sends while its reading is paused: shorter than the heartbeats of peers. */
const pausedPongMs = 1_000

/**
 * The link over a WebSocket of the package `ws`, which can be paused, pinged and terminated, and calls back when it has
 * taken a message.
 */
export class NodeSocketLink extends SocketLink<NodeSocket> implements HeartbeatTarget {
  readonly #onTaken = (): void => this.drain.update()
  readonly #batch: WriteBatch | undefined
  #isReadPaused = false
  #sentBytes = 0
  #heartbeat: Heartbeat | undefined
  #questions = 0
  /** About a peer that sends nothing, since its last message. */
  #question: 'none' | 'asked' | 'answered' = 'none'
  #pongTimer: Unsubscribable | undefined
  #terminateTimer: Subscription | undefined
  #closeTimer: Subscription | undefined

  /** @param connection that of the socket; with it the messages of one turn leave together, by one system call */
  constructor(socket: NodeSocket, limits: WebSocketLimits, connection?: Corkable) {
    super(socket, limits, true)
    if (connection !== undefined) this.#batch = new WriteBatch(connection)
    // 'arraybuffer' copies every message; a Buffer is a view.
    socket.binaryType = 'nodebuffer'
    if (limits.heartbeatMs > 0) this.#heartbeat = new Heartbeat(socket, limits.heartbeatMs, limits.scheduler, this)
  }

  /** Whether a peer that sends nothing has answered a ping since its last message; the first call sends it. */
  isAnswering(): boolean {
    if (this.#question === 'none' && this.state === 'open') {
      this.#question = 'asked'
      this.#questions += 1
      this.socket.ping(String(this.#questions))
    }
    return this.#question === 'answered'
  }

  isReadPaused(): boolean {
    return this.#isReadPaused
  }

  takenBytes(): number {
    return this.#sentBytes - this.socket.bufferedAmount
  }

  onDead(): void {
    this.lose(new SpeechError('connection-lost', 'The peer did not answer a ping in time.'))
    this.socket.terminate()
  }

  protected override write(message: SocketMessage): void {
    const { socket } = this
    this.#batch?.begin()
    this.#sentBytes += message.length
    // Below the low-water mark no sender can be waiting for this message to be taken, so no callback is needed.
    const mayWait = socket.bufferedAmount + message.length > this.limits.lowWaterMarkBytes
    if (mayWait) socket.send(message, this.#onTaken)
    else socket.send(message)
  }

  protected override endSocket(reason: CloseReason | undefined): void {
    const frame = closeFrame(reason)
    this.#closeTimer?.unsubscribe()
    // The peer's close frame has to be read, and everything before it.
    this.socket.resume()
    if (frame === undefined) this.socket.terminate()
    else this.socket.close(frame.code, frame.reason)
    this.#terminateLater()
  }

  /** To the events of the package: those of the DOM cost an object per message, and more memory. */
  protected override listen(): void {
    const { socket } = this
    socket.on('message', (data, isBinary) => {
      this.#heartbeat?.beat()
      this.#question = 'none'
      if (this.state !== 'open') return
      if (!isBinary) this.inbox.push(data.toString(), data.length)
      // A plain `Uint8Array`, because the `slice` of a Buffer shares its bytes where a reader expects a copy.
      else this.inbox.push(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), data.byteLength)
    })
    // Pongs of the heartbeat and unsolicited ones have no number; a late one has an old number.
    socket.on('pong', (data) => {
      if (this.#question === 'asked' && data.toString() === String(this.#questions)) this.#question = 'answered'
    })
    socket.on('close', (code, reason) => this.onClose({ code, reason: reason.toString() }))
    socket.on('error', (error) => this.#onError(error))
    socket.on('protocol-error', (cause, close) => this.#onProtocolError(cause, close))
  }

  protected override onClose(event: SocketEvents['close']): void {
    super.onClose(event)
    this.#closeTimer?.unsubscribe()
    this.#terminateTimer?.unsubscribe()
  }

  protected override lose(error: SpeechError | undefined): void {
    this.#stopPings()
    super.lose(error)
  }

  protected override steerReading(): void {
    if (this.state !== 'open' || this.#isReadPaused === this.inbox.isFull) return
    this.#isReadPaused = this.inbox.isFull
    if (this.#isReadPaused) {
      this.socket.pause()
      this.#pongTimer ??= this.#pongLater()
    } else {
      // The messages that the peer has sent meanwhile are still unread, perhaps with a pong among them.
      this.#heartbeat?.beat()
      this.socket.resume()
    }
  }

  /**
   * While reading is paused a ping of the peer stays unread, perhaps for longer than the peer waits for the pong. An
   * unsolicited pong shows the peer that this end is alive (RFC 6455 section 5.5.3).
   */
  #pongLater(): Unsubscribable {
    return schedule(this.limits.scheduler, pausedPongMs, () => {
      this.#pongTimer = undefined
      if (this.state !== 'open') return
      // Buffered bytes show this too, as soon as the peer reads.
      if (this.socket.bufferedAmount === 0) this.socket.pong()
      if (this.#isReadPaused) this.#pongTimer = this.#pongLater()
    })
  }

  /**
   * Errors the inbox while the socket is still open, so that the reader can answer before it closes the link. If it
   * does not close, such as while reading is paused, the socket closes after the close timeout.
   */
  #onProtocolError(cause: number | SpeechError, close: () => void): void {
    if (this.state === 'open') {
      this.#closeTimer ??= this.limits.scheduler.schedule(close, this.limits.closeTimeoutMs)
      this.inbox.finish(typeof cause === 'number' ? protocolError(cause) : cause)
    } else close()
  }

  /** The package found a protocol error of the peer, and closes the socket with the code that RFC 6455 requires. */
  #onError(error: Error): void {
    if (this.#closeTimer !== undefined) return
    this.lose(receiverError(error))
    this.#terminateLater()
  }

  #stopPings(): void {
    this.#heartbeat?.stop()
    this.#pongTimer?.unsubscribe()
  }

  #terminateLater(): void {
    this.#stopPings()
    if (this.#terminateTimer !== undefined || this.socket.readyState > 2) return
    this.#terminateTimer = this.limits.scheduler.schedule(() => this.socket.terminate(), this.limits.closeTimeoutMs)
  }
}

/** A stream of Node that can hold back what is written. */
export interface Corkable {
  cork(): void
  uncork(): void
}

/** Holds back what is written to a connection until the end of the turn. */
class WriteBatch {
  readonly #connection: Corkable
  readonly #end = (): void => {
    this.#isOpen = false
    this.#connection.uncork()
  }
  #isOpen = false

  constructor(connection: Corkable) {
    this.#connection = connection
  }

  begin(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#connection.cork()
    queueMicrotask(this.#end)
  }
}

/** The end of a connection whose peer a `Heartbeat` watches. */
export interface HeartbeatTarget {
  /** Whether this end does not read now, so that it cannot see a pong. */
  isReadPaused(): boolean
  /** All bytes that the transport has taken from this end so far. */
  takenBytes(): number
  /** Called when the peer counts as dead. */
  onDead(): void
}

/**
 * Detects a dead connection (RFC 6455 section 5.5.2): sends a ping every `everyMs`, and calls `onDead` when a whole
 * period passes without a sign of life. A sign of life is a pong, any message, or bytes taken while some were buffered,
 * because a ping waits behind them and a slow reader is alive. A period in which this end did not read, or its process
 * did not run, does not count. One timer per connection.
 */
export class Heartbeat {
  readonly #socket: NodeSocket
  readonly #everyMs: number
  readonly #scheduler: SchedulerLike
  readonly #target: HeartbeatTarget
  #timer: Unsubscribable | undefined
  #isAlive = true
  // At the beginning of the period.
  #startMs = 0
  #bufferedBytes = 0
  #takenBytes = 0

  constructor(socket: NodeSocket, everyMs: number, scheduler: SchedulerLike, target: HeartbeatTarget) {
    this.#socket = socket
    this.#everyMs = everyMs
    this.#scheduler = scheduler
    this.#target = target
    socket.on('pong', () => this.beat())
    this.#startPeriod()
  }

  /** Call it at a sign of life. */
  beat(): void {
    this.#isAlive = true
  }

  stop(): void {
    this.#timer?.unsubscribe()
  }

  #startPeriod(): void {
    this.#startMs = this.#scheduler.now()
    this.#bufferedBytes = this.#socket.bufferedAmount
    this.#takenBytes = this.#target.takenBytes()
    this.#timer = schedule(this.#scheduler, this.#everyMs, () => this.#endPeriod())
  }

  #endPeriod(): void {
    if (!this.#isAlive && !this.#isExcused()) {
      this.#target.onDead()
      return
    }
    this.#isAlive = this.#target.isReadPaused()
    this.#startPeriod()
    this.#socket.ping()
  }

  #isExcused(): boolean {
    return (
      this.#target.isReadPaused() ||
      (this.#bufferedBytes > 0 && this.#target.takenBytes() > this.#takenBytes) ||
      this.#scheduler.now() - this.#startMs > this.#everyMs * 1.5
    )
  }
}
