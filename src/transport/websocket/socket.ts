import { asyncScheduler, type SchedulerLike } from 'rxjs'
import type { ErrorCode } from '../../errors/error-table.js'
import { linkLimitCodecs, type LinkLimits, resolveLimits, type Resolved } from '../limits.js'
import { durationMs, schedulerValue } from '../../protocol/validation.js'

/** The properties of the events of a WebSocket that a link reads. */
export interface SocketEvents {
  /** A message: text, an `ArrayBuffer` or a view of one. */
  readonly message: { readonly data: unknown }
  /** The end of the connection (RFC 6455 section 7.1.5 and 7.1.6). */
  readonly close: { readonly code: number; readonly reason: string }
  /** A failure; a `close` event follows. */
  readonly error: { readonly error?: unknown }
  /** The handshake is complete. */
  readonly open: unknown
}

/** The members of a WebSocket that a link uses, of a browser or of the package `ws`. */
export interface Socket {
  /** 1 while the socket is open (WHATWG WebSockets, section 3). */
  readonly readyState: number
  /** Sent bytes that the network has not taken yet. */
  readonly bufferedAmount: number
  /** Set to `arraybuffer` by the link. */
  binaryType: string
  /** Adds a listener, as in the DOM. */
  addEventListener<K extends keyof SocketEvents>(
    type: K,
    listener: (event: SocketEvents[K]) => void,
    options?: { readonly once: boolean },
  ): void
  /** Some classes lack it; their listeners then ignore late events. */
  removeEventListener?<K extends keyof SocketEvents>(type: K, listener: (event: SocketEvents[K]) => void): void
  /** Sends text or bytes. */
  send(data: string | Uint8Array): void
  /** Starts the closing handshake. */
  close(code?: number, reason?: string): void
}

/** `readyState` of an open socket (WHATWG WebSockets, section 3). */
export const openState = 1

/** RFC 6455 section 5.5: a control frame holds 125 bytes, two of which are the close code. */
export const maxReasonBytes = 123

export interface CloseReason {
  readonly code: ErrorCode
  readonly message: string
  /** @default that of the error table */
  readonly closeCode?: number | undefined
}

export interface WebSocketLinkOptions extends LinkLimits {
  /**
   * The period of the pings in milliseconds. A peer that shows no sign of life, or does not read, for a whole period
   * ends the link with `connection-lost`. 0: no pings. A browser cannot ping; there it has no effect. @default 0
   */
  readonly heartbeatMs?: number | undefined
  /** The clock of the time-outs. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

/** The codecs of the options of a link. */
export const webSocketLinkCodecs = { ...linkLimitCodecs, heartbeatMs: durationMs(0), scheduler: schedulerValue }

/** The options of a link with their defaults. */
export type WebSocketLimits = Resolved<WebSocketLinkOptions>

/** Fills in the defaults of checked options. Throws `invalid-options` for water marks that do not fit together. */
export const resolveWebSocketLimits = (options: WebSocketLinkOptions): WebSocketLimits => ({
  ...resolveLimits(options),
  heartbeatMs: options.heartbeatMs ?? 0,
  scheduler: options.scheduler ?? asyncScheduler,
})
