import { asyncScheduler, type SchedulerLike } from 'rxjs'
import { durationMs, resolveLimits, type LinkLimits } from '../limits.js'

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

/** The bounds of one link over a WebSocket, all of them. */
export type WebSocketLimits = Required<WebSocketLinkOptions>

/** The bounds with their defaults; throws `invalid-options` with the name of the one that is out of range. */
export const resolveWebSocketLimits = (options: WebSocketLinkOptions): WebSocketLimits => ({
  ...resolveLimits(options),
  heartbeatMs: durationMs('heartbeatMs', options.heartbeatMs ?? 0),
  scheduler: options.scheduler ?? asyncScheduler,
})
