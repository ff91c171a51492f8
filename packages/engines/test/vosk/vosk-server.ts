import { createServer, type IncomingHttpHeaders } from 'node:http'
import { WebSocketServer, type WebSocket } from 'ws'
import { listen, stop } from '../../../../test/transport/tcp-proxy.js'

/** A connection as the server sees it. */
export interface VoskStream {
  readonly headers: IncomingHttpHeaders
  /** Texts, and the lengths of audio in bytes. */
  readonly received: readonly (string | number)[]
  readonly socket: WebSocket
  readonly closed: Promise<void>
}

/** Called for each frame of audio and for the end; what it returns is sent. */
export type Answer = (received: readonly (string | number)[], socket: WebSocket, audio?: Buffer) => unknown

export interface VoskServer {
  readonly url: string
  readonly streams: readonly VoskStream[]
  answer: Answer
  close(): Promise<void>
}

/** A server of vosk-server that is scripted. */
export const voskServer = async (answer: Answer, port = 0): Promise<VoskServer> => {
  const streams: VoskStream[] = []
  const script = { answer }
  const server = createServer()
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket, { headers }) => {
    const received: (string | number)[] = []
    streams.push({ headers, received, socket, closed: new Promise((resolve) => socket.on('close', () => resolve())) })
    socket.on('error', () => undefined)
    socket.on('message', (data: Buffer, isBinary) => {
      const text = isBinary ? data.length : data.toString()
      received.push(text)
      if (typeof text === 'string' && text.includes('config')) return
      const result = script.answer(received, socket, isBinary ? data : undefined)
      if (result === undefined) return
      socket.send(typeof result === 'string' ? result : JSON.stringify(result))
      // Any other spelling would be audio.
      if (text === '{"eof" : 1}') socket.close()
    })
  })
  const bound = await listen(server, port)
  return {
    ...{ url: `ws://127.0.0.1:${bound}`, streams },
    get answer() {
      return script.answer
    },
    set answer(next) {
      script.answer = next
    },
    close: () => {
      for (const socket of sockets.clients) socket.terminate()
      return stop(server)
    },
  }
}
