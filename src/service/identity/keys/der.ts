/** Writers of the Distinguished Encoding Rules (ITU-T X.690), as far as a certificate needs them. */

const length = (bytes: number): readonly number[] => {
  if (bytes < 0x80) return [bytes]
  return bytes < 0x100 ? [0x81, bytes] : [0x82, bytes >> 8, bytes & 0xff]
}

/** One value with its tag and length; the content has at most 65 535 bytes. */
export const der = (tag: number, ...content: readonly Uint8Array[]): Buffer => {
  const value = Buffer.concat(content)
  if (value.length > 0xffff) throw new RangeError('A DER value has at most 65535 bytes here.')
  return Buffer.concat([Buffer.from([tag, ...length(value.length)]), value])
}

export const sequence = (...items: readonly Uint8Array[]): Buffer => der(0x30, ...items)
export const set = (...items: readonly Uint8Array[]): Buffer => der(0x31, ...items)
export const octetString = (bytes: Uint8Array): Buffer => der(0x04, bytes)
export const utf8String = (text: string): Buffer => der(0x0c, Buffer.from(text, 'utf8'))
export const boolean = (value: boolean): Buffer => der(0x01, Buffer.from([value ? 0xff : 0x00]))

/** `[number]` with the value inside (explicit) or its content (implicit primitive). */
export const explicit = (number: number, value: Uint8Array): Buffer => der(0xa0 + number, value)
export const implicit = (number: number, content: Uint8Array): Buffer => der(0x80 + number, content)

/** A non-negative integer from its big-endian bytes; DER wants the fewest bytes and a clear sign bit. */
export const integer = (bigEndian: Uint8Array): Buffer => {
  const firstSet = bigEndian.findIndex((byte) => byte !== 0)
  const digits = firstSet < 0 ? Buffer.from([0]) : bigEndian.subarray(firstSet)
  const needsSign = (digits[0] ?? 0) >= 0x80
  return der(0x02, needsSign ? Buffer.from([0]) : Buffer.alloc(0), digits)
}

/** `unusedBits` of the last byte do not count. */
export const bitString = (bytes: Uint8Array, unusedBits = 0): Buffer => der(0x03, Buffer.from([unusedBits]), bytes)

const base128 = (value: number): readonly number[] => {
  const bytes = [value & 0x7f]
  for (let rest = value >> 7; rest > 0; rest >>= 7) bytes.unshift((rest & 0x7f) | 0x80)
  return bytes
}

/** An object identifier from its dotted form. */
export const objectIdentifier = (dotted: string): Buffer => {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return der(0x06, Buffer.from([first * 40 + second, ...rest].flatMap(base128)))
}

/** A time to the second: two-digit years through 2049, four digits from then on (RFC 5280 section 4.1.2.5). */
export const time = (atMs: number): Buffer => {
  const digits = new Date(atMs).toISOString().replace(/\.\d+/, '').replace(/[-:T]/g, '')
  return Number(digits.slice(0, 4)) < 2050
    ? der(0x17, Buffer.from(digits.slice(2), 'ascii'))
    : der(0x18, Buffer.from(digits, 'ascii'))
}
