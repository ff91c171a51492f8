import { Subscription, type SchedulerLike } from 'rxjs'
import type { NodeSocket } from './socket.js'

export interface Heartbeat {
  /** The peer said something. */
  beat(): void
  stop(): void
}

/**
 * Finds a connection that is dead without saying so (RFC 6455 section 5.5.2): sends a ping every `everyMs`, and calls
 * `silent` when a whole period passes without an answer or any message. Rests while `resting()`, for an end that does
 * not read cannot hear the answer. One timer a connection.
 */
export const startHeartbeat = (
  socket: NodeSocket,
  everyMs: number,
  scheduler: SchedulerLike,
  resting: () => boolean,
  silent: () => void,
): Heartbeat => {
  let heard = true
  const timer = new Subscription()
  socket.on('pong', () => {
    heard = true
  })
  timer.add(
    scheduler.schedule(function () {
      if (!heard && !resting()) {
        silent()
        return
      }
      heard = resting()
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
