import type { ServerHttp2Stream } from 'node:http2'

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
