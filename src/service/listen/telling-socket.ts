import { WebSocket } from 'ws'

/**
 * The socket of the package `ws`, which closes by itself when it finds that it cannot read its peer. This one tells
 * that first, by the event `unreadable` with the close code and with what would have been done: the connection can
 * still be written to, and whoever runs there is owed a last word.
 */
export class TellingSocket extends WebSocket {
  override close(code?: number, data?: string | Buffer): void {
    const close = (): void => {
      super.close(code, data)
    }
    // Only the package itself closes for a reason and without words.
    const found = code !== undefined && data === undefined && this.readyState === this.OPEN
    if (!found || !this.emit('unreadable', code, close)) close()
  }
}
