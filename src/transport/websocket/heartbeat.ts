import { Subscription, type SchedulerLike } from 'rxjs'
import type { NodeSocket } from './socket.js'

export interface Heartbeat {
  /** The peer said something. */
  beat(): void
  stop(): void
}

/** What a heartbeat has to know of its link. */
export interface Patient {
  /** Whether this end does not read: it cannot hear an answer. */
  readonly resting: () => boolean
  /** Bytes handed over that the transport has not taken. */
  readonly waiting: () => number
  /** Bytes handed over that the transport has taken, of all. */
  readonly taken: () => number
}

/**
 * Finds a connection that is dead without saying so (RFC 6455 section 5.5.2): sends a ping every `everyMs`, and calls
 * `silent` when a whole period passes without a sign of life. That is an answer, any message, or bytes taken while some
 * had to wait: a ping stands behind them, and a peer that is slow to read is alive. Nor is a peer judged by a period in
 * which this end did not read or did not run. One timer a connection.
 */
export const startHeartbeat = (
  socket: NodeSocket,
  everyMs: number,
  scheduler: SchedulerLike,
  { resting, waiting, taken }: Patient,
  silent: () => void,
): Heartbeat => {
  let heard = true
  let before = { atMs: scheduler.now(), waiting: 0, taken: 0 }
  const timer = new Subscription()
  socket.on('pong', () => {
    heard = true
  })
  const isExcused = (): boolean =>
    resting() || (before.waiting > 0 && taken() > before.taken) || scheduler.now() - before.atMs > everyMs + everyMs / 2
  timer.add(
    scheduler.schedule(function () {
      if (!heard && !isExcused()) {
        silent()
        return
      }
      heard = resting()
      before = { atMs: scheduler.now(), waiting: waiting(), taken: taken() }
      socket.ping()
      this.schedule(undefined, everyMs)
    }, everyMs),
  )
  return {
    beat: () => {
      heard = true
    },
    stop: () => timer.unsubscribe(),
  }
}
