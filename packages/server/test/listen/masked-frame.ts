/** A frame of a WebSocket client with a mask of zeros (RFC 6455 section 5.2). */
export const maskedFrame = (first: number, payload: Uint8Array = new Uint8Array(0)): Buffer => {
  const { length } = payload
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10)
  head[0] = first
  if (length < 126) head[1] = 0x80 + length
  else if (length < 65_536) {
    head[1] = 0x80 + 126
    head.writeUInt16BE(length, 2)
  } else {
    head[1] = 0x80 + 127
    head.writeBigUInt64BE(BigInt(length), 2)
  }
  return Buffer.concat([head, Buffer.alloc(4), payload])
}
