import type { SpeechError } from '../../errors/speech-error.js'
import type { Socket } from './socket.js'

/** The events of a WebSocket of the package `ws`, with their parameters. */
export interface NodeSocketEvents {
  /** Text is a Buffer, too. */
  message: [data: Buffer, isBinary: boolean]
  pong: [data: Buffer]
  close: [code: number, reason: Buffer]
  error: [error: Error]
  /** Emitted by a `ProtocolErrorSocket` before it closes for a protocol error: the close code, or the error. */
  'protocol-error': [cause: number | SpeechError, close: () => void]
}

/** A WebSocket of the package `ws`. */
export interface NodeSocket extends Socket {
  send(data: string | Uint8Array, taken?: () => void): void
  pause(): void
  resume(): void
  terminate(): void
  ping(data?: string): void
  pong(): void
  on<K extends keyof NodeSocketEvents>(event: K, listener: (...parameters: NodeSocketEvents[K]) => void): unknown
}

export const isNodeSocket = (socket: Socket): socket is NodeSocket => 'terminate' in socket
