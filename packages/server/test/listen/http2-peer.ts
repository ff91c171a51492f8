import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** HTTP/2 frame types and flags (RFC 9113 section 6). */
export const frameType = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goAway: 7, continuation: 9 } as const
const endStream = 1
export const endHeaders = 4

export const frame = (
  type: number,
  flags: number,
  streamId: number,
  payload: Uint8Array = new Uint8Array(0),
): Buffer => {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(streamId, 5)
  return Buffer.concat([head, payload])
}

/** A header of less than 127 bytes in name and value, never indexed (RFC 7541 section 6.2.3). */
export const literal = (name: string, value: string): Buffer =>
  Buffer.concat([Buffer.from([0x10, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)])

/** A request as the gRPC package accepts it, without its body. */
export const requestHeaders = (path: string): Buffer =>
  Buffer.concat([
    Buffer.from([0x83, 0x87]),
    literal(':path', path),
    literal(':authority', 'service'),
    literal('content-type', 'application/grpc'),
    literal('te', 'trailers'),
  ])

export const preface = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(frameType.settings, 0, 0)])

/** Complete requests for one method, on the streams 1, 3, 5 and so on. */
export const requests = (path: string, count: number, from = 0): Buffer => {
  const headers = requestHeaders(path)
  const all = Array.from({ length: count }, (_, index) =>
    frame(frameType.headers, endStream | endHeaders, 2 * (from + index) + 1, headers),
  )
  return Buffer.concat(all)
}

/** A client that writes bytes and reads none until it is asked to; with TLS by default. */
export const rawPeer = async (port: number, tls = true): Promise<Socket> => {
  const socket = tls
    ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] })
    : connectTcp(port, '127.0.0.1')
  socket.on('error', () => undefined)
  await once(socket, tls ? 'secureConnect' : 'connect')
  socket.pause()
  return socket
}

/** Resolves when the kernel has accepted the written bytes. */
export const write = (socket: Socket, bytes: Uint8Array): Promise<void> =>
  new Promise((resolve) => {
    socket.write(bytes, () => {
      resolve()
    })
  })

export interface Frame {
  readonly type: number
  readonly payload: Buffer
}

const framesOf = (bytes: Buffer): readonly Frame[] => {
  const frames: Frame[] = []
  for (let rest = bytes; rest.length >= 9;) {
    const end = 9 + rest.readUIntBE(0, 3)
    if (rest.length < end) break
    frames.push({ type: rest.readUInt8(3), payload: rest.subarray(9, end) })
    rest = rest.subarray(end)
  }
  return frames
}

/** The received frames until `enough` accepts them, or until the connection ended. */
export const readFrames = (
  socket: Socket,
  isEnough: (frames: readonly Frame[]) => boolean = () => false,
): Promise<readonly Frame[]> =>
  new Promise((resolve) => {
    let bytes = Buffer.alloc(0)
    socket.on('data', (part: Buffer) => {
      bytes = Buffer.concat([bytes, part])
      const frames = framesOf(bytes)
      if (isEnough(frames)) resolve(frames)
    })
    const end = (): void => {
      resolve(framesOf(bytes))
    }
    if (socket.closed) end()
    else socket.once('close', end)
    socket.resume()
  })

export const ofType =
  (type: number) =>
  (frame: Frame): boolean =>
    frame.type === type

/** A PROXY protocol header, version 2, with any content. */
export const proxyHeader = (command: number, family: number, payload: Uint8Array): Buffer => {
  const head = Buffer.alloc(16)
  head.write('\r\n\r\n\0\r\nQUIT\n', 'latin1')
  head.writeUInt8(command, 12)
  head.writeUInt8(family, 13)
  head.writeUInt16BE(payload.length, 14)
  return Buffer.concat([head, payload])
}

/** The header of a client's TCP connection, from port 4711 to port 443 of the same address. */
export const proxyHeaderOf = (address: string): Buffer => {
  const ports = Buffer.from([0x12, 0x67, 0x01, 0xbb])
  if (!address.includes(':')) {
    const bytes = Buffer.from(address.split('.').map(Number))
    return proxyHeader(0x21, 0x11, Buffer.concat([bytes, bytes, ports]))
  }
  const [head = '', tail = ''] = address.split('::')
  const groups = (text: string): readonly string[] => text.split(':').filter((group) => group !== '')
  const zeros = Array<string>(8 - groups(head).length - groups(tail).length).fill('0')
  const bytes = Buffer.alloc(16)
  for (const [at, group] of [...groups(head), ...zeros, ...groups(tail)].entries()) {
    bytes.writeUInt16BE(Number.parseInt(group, 16), 2 * at)
  }
  return proxyHeader(0x21, 0x21, Buffer.concat([bytes, bytes, ports]))
}
