import type { Socket, SocketEvents } from '../../../src/transport/websocket/socket.js'

/** What a browser's WebSocket offers to a link: no pause, no ping, no event when data was sent. */
export class FakeBrowserSocket implements Socket {
  static made: FakeBrowserSocket[] = []

  readyState = 0
  bufferedAmount = 0
  binaryType = 'blob'
  readonly sent: (string | Uint8Array)[] = []
  closedWith: readonly [number | undefined, string | undefined] | undefined
  readonly #listeners: { [K in keyof SocketEvents]: ((event: SocketEvents[K]) => void)[] } = {
    message: [],
    close: [],
    error: [],
    open: [],
  }

  constructor(
    readonly url = '',
    readonly protocols: string[] = [],
    readonly options?: object,
  ) {
    FakeBrowserSocket.made.push(this)
  }

  addEventListener<K extends keyof SocketEvents>(type: K, listener: (event: SocketEvents[K]) => void): void {
    this.#listeners[type].push(listener)
  }

  removeEventListener<K extends keyof SocketEvents>(type: K, listener: (event: SocketEvents[K]) => void): void {
    const at = this.#listeners[type].indexOf(listener)
    if (at !== -1) this.#listeners[type].splice(at, 1)
  }

  send(data: string | Uint8Array): void {
    this.sent.push(data)
    this.bufferedAmount += data.length
  }

  close(code?: number, reason?: string): void {
    // As browsers do (WHATWG WebSockets, section 3).
    if (code !== undefined && code !== 1000 && (code < 3000 || code > 4999))
      throw new DOMException('', 'InvalidAccessError')
    this.readyState = 2
    this.closedWith ??= [code, reason]
  }

  open(): void {
    this.readyState = 1
    this.#listeners.open.forEach((listener) => listener({}))
  }

  receive(data: string | ArrayBuffer): void {
    this.#listeners.message.forEach((listener) => listener({ data }))
  }

  end(code: number, reason = ''): void {
    this.readyState = 3
    this.#listeners.close.forEach((listener) => listener({ code, reason }))
  }

  fail(): void {
    this.#listeners.error.forEach((listener) => listener({}))
    this.end(1006)
  }
}
