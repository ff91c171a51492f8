import type { NodeSocket } from '../../../src/transport/websocket/socket.js'
import { FakeBrowserSocket } from './fake-browser-socket.js'

/** A socket as the package `ws` makes them, whose peer answers pings while `answers`. */
export class FakeNodeSocket extends FakeBrowserSocket implements NodeSocket {
  pings = 0
  reading = true
  terminated = 0
  answers = true
  /** The peer's answer to a ping arrives. */
  pong = (): void => {}

  on(event: 'pong' | 'unreadable', listener: (closeCode: number, close: () => void) => void): unknown {
    if (event === 'pong') this.pong = () => listener(0, () => undefined)
    return this
  }

  ping(): void {
    this.pings += 1
    if (this.answers) this.pong()
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
