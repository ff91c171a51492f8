import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { listen, stop } from '../transport/tcp-proxy.js'

export interface ConnectProxy {
  /** URL without user and password. */
  readonly url: string
  readonly port: number
  /** `host:port` of every requested connection. */
  readonly asked: readonly string[]
  /** Open connections to the proxy. */
  readonly open: () => number
  readonly close: () => Promise<void>
}

export interface ConnectProxyOptions {
  /** `user:password` that the proxy requires. */
  readonly credentials?: string
  /** The response of the proxy instead of a connection. */
  readonly answer?: number | 'silence' | 'garbage'
}

/** An HTTP proxy on this machine that supports only CONNECT (RFC 9110 section 9.3.6). */
export const connectProxy = async ({ credentials, answer }: ConnectProxyOptions = {}): Promise<ConnectProxy> => {
  const sockets = new Set<Socket>()
  const asked: string[] = []
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    return socket.on('close', () => sockets.delete(socket))
  }
  const wanted = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`
  const server = createServer((_request, response) => void response.writeHead(400).end())
  server.on('connection', keep)
  server.on('connect', ({ url = '', headers }, near: Socket) => {
    asked.push(url)
    const { hostname, port } = new URL(`http://${url}`)
    const refuse = (status: number): void =>
      void near.end(`HTTP/1.1 ${status} No\r\nContent-Length: 5\r\nConnection: close\r\n\r\nproxy`)
    // Only a reader notices the end, and a server of Node leaves the connection half-open.
    if (answer === 'silence') return void near.resume().once('end', () => near.destroy())
    if (answer === 'garbage') return void near.end('220 mail.example.com ESMTP\r\n')
    if (answer !== undefined) return refuse(answer)
    if (wanted !== undefined && headers['proxy-authorization'] !== wanted) return refuse(407)
    const far = keep(connect(Number(port || 80), hostname.replace(/^\[(.*)\]$/, '$1')))
    far.once('connect', () => {
      near.write('HTTP/1.1 200 Connection established\r\n\r\n')
      near.pipe(far).pipe(near)
    })
    far.once('error', () => refuse(503))
    near.on('close', () => far.destroy())
    far.on('close', () => near.destroySoon())
  })
  const port = await listen(server)
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    asked,
    open: () => sockets.size,
    close: () => {
      sockets.forEach((socket) => socket.destroy())
      return stop(server)
    },
  }
}
