import type { SchedulerLike, Unsubscribable } from 'rxjs'
import { schedule } from '../../kernel/timers.js'
import type { NodeSocket } from './socket.js'

/** Whose peer it is, and what has to be known of that end. */
export interface Patient {
  /** Whether this end does not read: it cannot hear an answer. */
  resting(): boolean
  /** Bytes handed over that the transport has not taken. */
  waiting(): number
  /** Bytes handed over that the transport has taken, of all. */
  taken(): number
  /** The peer is taken for dead. */
  silent(): void
}

/**
 * Finds a connection that is dead without saying so (RFC 6455 section 5.5.2): sends a ping every `everyMs`, and calls
 * `silent` when a whole period passes without a sign of life. That is an answer, any message, or bytes taken while some
 * had to wait: a ping stands behind them, and a peer that is slow to read is alive. Nor is a peer judged by a period in
 * which this end did not read or did not run. One timer a connection.
 */
export class Heartbeat {
  readonly #socket: NodeSocket
  readonly #everyMs: number
  readonly #scheduler: SchedulerLike
  readonly #patient: Patient
  #timer: Unsubscribable | undefined
  #heard = true
  /** What was so when the period began. */
  #beganMs = 0
  #waiting = 0
  #taken = 0

  constructor(socket: NodeSocket, everyMs: number, scheduler: SchedulerLike, patient: Patient) {
    this.#socket = socket
    this.#everyMs = everyMs
    this.#scheduler = scheduler
    this.#patient = patient
    socket.on('pong', () => this.beat())
    this.#begin()
  }

  /** The peer said something. */
  beat(): void {
    this.#heard = true
  }

  stop(): void {
    this.#timer?.unsubscribe()
  }

  #begin(): void {
    this.#beganMs = this.#scheduler.now()
    this.#waiting = this.#patient.waiting()
    this.#taken = this.#patient.taken()
    this.#timer = schedule(this.#scheduler, this.#everyMs, () => this.#look())
  }

  #look(): void {
    if (!this.#heard && !this.#isExcused()) {
      this.#patient.silent()
      return
    }
    this.#heard = this.#patient.resting()
    this.#begin()
    this.#socket.ping()
  }

  #isExcused(): boolean {
    const patient = this.#patient
    return (
      patient.resting() ||
      (this.#waiting > 0 && patient.taken() > this.#taken) ||
      this.#scheduler.now() - this.#beganMs > this.#everyMs * 1.5
    )
  }
}
