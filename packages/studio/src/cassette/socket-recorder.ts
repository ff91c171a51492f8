import type { SocketClass } from 'rxspeech'
import { toBase64, type CassetteHeader, type CassetteLine } from './cassette-lines.js'

/** Records the messages of the sockets of one session as a cassette, and can cut them. */
export class SocketRecorder {
  readonly #write: (line: string) => void
  readonly #now: () => number
  readonly #open = new Set<WebSocket>()
  #connections = 0
  #isEnded = false

  /** @param now milliseconds since the session began */
  constructor(header: Pick<CassetteHeader, 'format' | 'startedAt'>, write: (line: string) => void, now: () => number) {
    this.#write = write
    this.#now = now
    const complete: CassetteHeader = { version: 1, transport: 'websocket', audio: 'embedded', ...header }
    write(JSON.stringify(complete))
  }

  /** Closes the sockets at once, as a network that fails would. Returns whether there was one. */
  cut(): boolean {
    const sockets = [...this.#open]
    for (const socket of sockets) {
      socket.close()
      // The session must not wait for the closing handshake: 1006 is the code of a broken connection (RFC 6455 7.1.5).
      socket.dispatchEvent(new CloseEvent('close', { code: 1006 }))
    }
    return sockets.length > 0
  }

  end(outcome: 'complete' | 'error' | 'unsubscribed'): void {
    if (this.#isEnded) return
    this.#line({ event: 'end', outcome })
    this.#isEnded = true
  }

  /** The WebSocket class of the session of a channel. @param channel undefined if the session has one channel */
  socketClass(channel: number | undefined): SocketClass {
    const connect = (socket: WebSocket, url: string, protocols: readonly string[]): ((line: Untimed) => void) => {
      const connection = (this.#connections += 1)
      const record = (line: Untimed): void => this.#line({ connection, ...line })
      const shown = protocols.map((name) => (name.startsWith('bearer.') ? 'bearer.[redacted]' : name))
      record({ event: 'dial', channel, address: url, protocols: shown })
      let state: 'dialing' | 'open' | 'ended' = 'dialing'
      socket.addEventListener('open', () => {
        state = 'open'
        this.#open.add(socket)
        record({ event: 'open' })
      })
      socket.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
        if (state === 'open' && typeof data === 'string') record({ event: 'received', text: data })
      })
      socket.addEventListener('close', ({ code }) => {
        this.#open.delete(socket)
        if (state === 'ended') return
        const isLost = code !== 1000 && code !== 1005
        const event = state === 'dialing' ? 'dial-failed' : isLost ? 'ended' : 'close'
        state = 'ended'
        const reason = event === 'dial-failed' ? 'connection-failed' : 'connection-lost'
        record(isLost || event === 'dial-failed' ? { event, code: reason, message: `Close code ${code}.` } : { event })
      })
      return (line) => {
        if (state === 'open') record(line)
      }
    }
    return class extends WebSocket {
      readonly #record: (line: Untimed) => void

      constructor(url: string, protocols: string[] = []) {
        super(url, protocols)
        this.#record = connect(this, url, protocols)
      }

      override send(data: string | Uint8Array<ArrayBuffer>): void {
        this.#record(
          typeof data === 'string'
            ? { event: 'sent', text: data }
            : { event: 'sent', bytes: data.length, base64: toBase64(data) },
        )
        super.send(data)
      }
    }
  }

  #line(line: Untimed): void {
    if (!this.#isEnded) this.#write(JSON.stringify({ atMs: Math.round(this.#now() * 10) / 10, ...line }))
  }
}

type Untimed = Omit<CassetteLine, 'atMs'> & { readonly event: string }
