import type { Server } from '@grpc/grpc-js'
import type { Http2Server, Http2Session, ServerHttp2Stream } from 'node:http2'

const isStream = (value: unknown): value is ServerHttp2Stream =>
  typeof value === 'object' && value !== null && 'close' in value && 'session' in value

/**
 * The HTTP/2 stream below a server's call. The gRPC package has no public way for a service to reset a stream whose
 * client does not read, which would hold what is buffered for it until its connection ends; so this looks behind the
 * call and its interceptors. Undefined when the package is built otherwise: then such a stream waits for its connection.
 */
export const http2StreamOf = (call: object): ServerHttp2Stream | undefined => {
  let below: unknown = Reflect.get(call, 'call')
  while (typeof below === 'object' && below !== null) {
    const stream: unknown = Reflect.get(below, 'stream')
    if (isStream(stream)) return stream
    below = Reflect.get(below, 'nextCall')
  }
  return undefined
}

/**
 * Tells the peer to go away (GOAWAY, RFC 9113 section 6.8); streams that run go on. Not while frames of the session are
 * being read: to close it there corrupts Node's memory, and the process aborts.
 */
export const closeSessionSoon = (session: Http2Session | undefined): void => {
  setImmediate(() => {
    if (session?.closed === false) session.close()
  })
}

const isHttp2Server = (value: unknown): value is Http2Server =>
  typeof value === 'object' && value !== null && 'on' in value && 'updateSettings' in value

/**
 * The HTTP/2 servers inside a gRPC server, which has no public way to see a request for a method that it does not have.
 * Empty when the package is built otherwise: then nobody counts those requests.
 */
export const http2ServersOf = (server: Server): readonly Http2Server[] => {
  const inside: unknown = Reflect.get(server, 'http2Servers')
  return inside instanceof Map ? [...inside.keys()].filter(isHttp2Server) : []
}
