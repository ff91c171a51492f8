import type { Socket } from 'node:net'
import { plainAddress } from './trusted-proxies.js'

/** The first bytes of a PROXY protocol header, version 2 (HAProxy's specification, section 2.2). */
const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')

const fixedBytes = 16
/** Addresses have at most 36 bytes; the rest is for additions of balancers, which are ignored. */
const maxBytes = fixedBytes + 2_048

export type ProxyHeader =
  | { readonly type: 'incomplete' }
  /** The connection does not begin with a header. */
  | { readonly type: 'absent' }
  | { readonly type: 'malformed' }
  /** The proxy connects for itself, such as for a health check, or does not know the address of its client. */
  | { readonly type: 'local'; readonly lengthBytes: number }
  | { readonly type: 'client'; readonly address: string; readonly lengthBytes: number }

/** Version and command (section 2.2): version 2, LOCAL or PROXY. */
const local = 0x20
const proxied = 0x21

/** Address family and transport protocol. */
const unspecified = 0x00
const tcpOverIPv4 = 0x11
const tcpOverIPv6 = 0x21
const unixStream = 0x31

const ipv6Text = (bytes: Buffer): string =>
  Array.from({ length: 8 }, (_, group) => bytes.readUInt16BE(2 * group).toString(16)).join(':')

/** Reads the header from the bytes that have arrived. */
export const readProxyHeader = (bytes: Buffer): ProxyHeader => {
  const compared = Math.min(bytes.length, signature.length)
  if (!bytes.subarray(0, compared).equals(signature.subarray(0, compared))) return { type: 'absent' }
  if (bytes.length < fixedBytes) return { type: 'incomplete' }
  const command = bytes.readUInt8(12)
  const family = bytes.readUInt8(13)
  const lengthBytes = fixedBytes + bytes.readUInt16BE(14)
  if ((command !== local && command !== proxied) || lengthBytes > maxBytes) return { type: 'malformed' }
  if (bytes.length < lengthBytes) return { type: 'incomplete' }
  // The family of a LOCAL header has to be ignored.
  if (command === local || family === unspecified || family === unixStream) return { type: 'local', lengthBytes }
  const addressBytes = bytes.subarray(fixedBytes, lengthBytes)
  if (family === tcpOverIPv4 && addressBytes.length >= 12) {
    return { type: 'client', address: addressBytes.subarray(0, 4).join('.'), lengthBytes }
  }
  if (family === tcpOverIPv6 && addressBytes.length >= 36) {
    return { type: 'client', address: ipv6Text(addressBytes), lengthBytes }
  }
  return { type: 'malformed' }
}

/**
 * Reads the PROXY header from the start of a connection and puts the bytes after it back. Calls `onHeader` with the
 * client's address, or with undefined if the proxy names none or sends no header. Destroys the socket if the header is
 * malformed, late, or missing although required.
 */
export const takeProxyHeader = (
  socket: Socket,
  { isRequired, withinMs }: { readonly isRequired: boolean; readonly withinMs: number },
  onHeader: (address: string | undefined) => void,
): void => {
  let bytes = Buffer.alloc(0)
  const refuse = (): void => {
    socket.destroy()
  }
  const deadline = setTimeout(refuse, withinMs)
  const proceed = (headerBytes: number, address: string | undefined): void => {
    socket.off('close', stop)
    stop()
    if (headerBytes < bytes.length) socket.unshift(bytes.subarray(headerBytes))
    onHeader(address)
  }
  const onReadable = (): void => {
    const part = socket.read() as Buffer | null
    if (part === null) return
    bytes = Buffer.concat([bytes, part])
    const header = readProxyHeader(bytes)
    if (header.type === 'client') proceed(header.lengthBytes, plainAddress(header.address))
    else if (header.type === 'local') proceed(header.lengthBytes, undefined)
    else if (header.type === 'absent' && !isRequired) proceed(0, undefined)
    else if (header.type !== 'incomplete') refuse()
  }
  const stop = (): void => {
    clearTimeout(deadline)
    socket.off('readable', onReadable)
    socket.off('end', refuse)
  }
  socket.on('readable', onReadable)
  socket.once('end', refuse)
  socket.once('close', stop)
}
