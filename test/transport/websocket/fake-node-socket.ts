import type { NodeSocket, NodeSocketEvents } from '../../../src/transport/websocket/node-socket.js'
import { FakeBrowserSocket } from './fake-browser-socket.js'

/** A socket like those of the package `ws`, whose peer answers pings while `answers`. */
export class FakeNodeSocket extends FakeBrowserSocket implements NodeSocket {
  pings = 0
  /** Pongs that this side sent. */
  pongs = 0
  reading = true
  terminated = 0
  answers = true
  readonly #pongListeners: ((data: Buffer) => void)[] = []
  /** The data of the pings so far. */
  readonly pinged: string[] = []

  /** The peer's answer to a ping arrives. */
  answer(data = ''): void {
    for (const listener of this.#pongListeners) listener(Buffer.from(data))
  }

  on<K extends keyof NodeSocketEvents>(event: K, listener: (...parameters: NodeSocketEvents[K]) => void): unknown {
    const emit = listener as (...parameters: unknown[]) => void
    if (event === 'pong') this.#pongListeners.push(emit)
    if (event === 'message')
      this.addEventListener('message', ({ data }) => emit(bufferOf(data), typeof data !== 'string'))
    if (event === 'close') this.addEventListener('close', ({ code, reason }) => emit(code, Buffer.from(reason)))
    if (event === 'error') this.addEventListener('error', ({ error }) => emit(error))
    return this
  }

  ping(data = ''): void {
    this.pings += 1
    this.pinged.push(data)
    if (this.answers) this.answer(data)
  }

  pong(): void {
    this.pongs += 1
  }

  pause(): void {
    this.reading = false
  }

  resume(): void {
    this.reading = true
  }

  terminate(): void {
    this.terminated += 1
    this.end(1006)
  }
}

const bufferOf = (data: unknown): Buffer =>
  typeof data === 'string' ? Buffer.from(data) : Buffer.from(data as ArrayBuffer)
