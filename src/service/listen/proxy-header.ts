/** The first bytes of a PROXY protocol header, version 2 (HAProxy's specification, section 2.2). */
const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')

const fixedBytes = 16
/** An address has 36 bytes; the rest is for what balancers add, of which nothing is read. */
const maxBytes = fixedBytes + 2_048

export type ProxyHeader =
  | { readonly type: 'incomplete' }
  /** The bytes are something else. */
  | { readonly type: 'absent' }
  | { readonly type: 'malformed' }
  /** The proxy speaks for itself, such as to see whether the service is there, or does not know its client's address. */
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

/** Reads the header at the start of a connection from as many bytes of it as have come. */
export const readProxyHeader = (bytes: Buffer): ProxyHeader => {
  const compared = Math.min(bytes.length, signature.length)
  if (!bytes.subarray(0, compared).equals(signature.subarray(0, compared))) return { type: 'absent' }
  if (bytes.length < fixedBytes) return { type: 'incomplete' }
  const command = bytes.readUInt8(12)
  const family = bytes.readUInt8(13)
  const lengthBytes = fixedBytes + bytes.readUInt16BE(14)
  if ((command !== local && command !== proxied) || lengthBytes > maxBytes) return { type: 'malformed' }
  if (bytes.length < lengthBytes) return { type: 'incomplete' }
  // Whatever family a LOCAL header names is to be ignored.
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
