import type { ErrorCode } from '../../errors/error-code.js'

/** What a message, a close and an error event of a WebSocket hold, as far as a link reads it. */
export interface SocketEvents {
  readonly message: { readonly data: unknown }
  readonly close: { readonly code: number; readonly reason: string }
  readonly error: { readonly error?: unknown }
  readonly open: unknown
}

/** What a link needs of a WebSocket, be it the browser's or the one of the package `ws`. */
export interface Socket {
  readonly readyState: number
  readonly bufferedAmount: number
  binaryType: string
  addEventListener<K extends keyof SocketEvents>(
    type: K,
    listener: (event: SocketEvents[K]) => void,
    options?: { readonly once: boolean },
  ): void
  /** Some classes do without; what is not removed is not listened to any more. */
  removeEventListener?<K extends keyof SocketEvents>(type: K, listener: (event: SocketEvents[K]) => void): void
  send(data: string | Uint8Array): void
  close(code?: number, reason?: string): void
}

/** What only the one of the package `ws` can do. */
export interface NodeSocket extends Socket {
  send(data: string | Uint8Array, taken?: () => void): void
  pause(): void
  resume(): void
  terminate(): void
  ping(): void
  pong(): void
  on(event: 'pong', listener: () => void): unknown
  /** Only where the socket tells of what it cannot read before it closes for it, with the code and by `close`. */
  on(event: 'unreadable', listener: (closeCode: number, close: () => void) => void): unknown
}

export const isNodeSocket = (socket: Socket): socket is NodeSocket => 'terminate' in socket

/** `readyState` of an open socket (WHATWG WebSockets, section 3). */
export const openState = 1

/** RFC 6455 section 5.5: a control frame holds 125 bytes, two of which are the close code. */
export const maxReasonBytes = 123

export interface CloseReason {
  readonly code: ErrorCode
  readonly message: string
}
