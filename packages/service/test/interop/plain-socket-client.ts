import WebSocket from 'ws'
import type { Reachable } from './live-service.js'

/** One socket of a client with only the WebSocket package. */
export interface PlainSocket {
  readonly send: (json: unknown) => void
  readonly audio: (bytes: Uint8Array) => void
  /** The next message of the service, or the close, whichever comes first. */
  readonly receive: () => Promise<Record<string, unknown>>
  readonly close: () => void
  readonly raw: WebSocket
}

export interface SocketWay {
  readonly path?: string
  readonly token?: string
  readonly protocols?: readonly string[]
  readonly withoutHeader?: boolean
  /** The prefix of the token in the header; default `Bearer `. */
  readonly scheme?: string
  /** As a browser sends it. */
  readonly origin?: string
}

/** Resolves when the socket is open; rejects with `HTTP <status>: <body>` when the upgrade is refused. */
export const openSocket = async (
  { service, ca, token: good }: Reachable,
  way: SocketWay = {},
): Promise<PlainSocket> => {
  const { path = '/recognizer', token = good, protocols = [], withoutHeader = false, scheme = 'Bearer ' } = way
  const headers = withoutHeader ? {} : { Authorization: `${scheme}${token}` }
  const { origin } = way
  const options = { headers, ...(ca && { ca }), ...(origin !== undefined && { origin }) }
  const socket = new WebSocket(service.access.wsUrl + path, [...protocols], options)
  const received: Record<string, unknown>[] = []
  const waiting: ((message: Record<string, unknown>) => void)[] = []
  const arrive = (message: Record<string, unknown>): void => {
    const next = waiting.shift()
    if (next === undefined) received.push(message)
    else next(message)
  }
  socket.on('message', (data: Buffer, isBinary) => {
    arrive(isBinary ? { binary: data.length } : (JSON.parse(data.toString()) as Record<string, unknown>))
  })
  socket.on('close', (code, reason) => {
    arrive({ close: code, reason: reason.toString(), protocol: socket.protocol })
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
    socket.once('unexpected-response', (_request, response) => {
      let body = ''
      response.on('data', (data: Buffer) => (body += data.toString()))
      response.on('end', () => {
        reject(new Error(`HTTP ${String(response.statusCode)}: ${body}`))
      })
    })
  })
  return {
    send: (json) => {
      socket.send(typeof json === 'string' ? json : JSON.stringify(json))
    },
    audio: (bytes) => {
      socket.send(bytes)
    },
    receive: () => {
      const next = received.shift()
      if (next !== undefined) return Promise.resolve(next)
      return new Promise((resolve) => waiting.push(resolve))
    },
    close: () => {
      socket.close()
    },
    raw: socket,
  }
}
