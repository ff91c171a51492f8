import type { NodeSocket } from '../../../src/transport/websocket/socket.js'
import { FakeBrowserSocket } from './fake-browser-socket.js'

/** A socket like those of the package `ws`, whose peer answers pings while `answers`. */
export class FakeNodeSocket extends FakeBrowserSocket implements NodeSocket {
  pings = 0
  /** Pongs that this side sent. */
  pongs = 0
  reading = true
  terminated = 0
  answers = true
  /** The peer's answer to a ping arrives. */
  answer = (): void => {}

  on(event: 'pong' | 'protocol-error', listener: (closeCode: number, close: () => void) => void): unknown {
    if (event === 'pong') this.answer = () => listener(0, () => undefined)
    return this
  }

  ping(): void {
    this.pings += 1
    if (this.answers) this.answer()
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
