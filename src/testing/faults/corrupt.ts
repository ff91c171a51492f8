/** A copy of the bytes with every bit of some of them turned over. */
export const corruptBytes = (bytes: Uint8Array, from: number, count: number): Uint8Array => {
  const copy = Uint8Array.from(bytes)
  for (let at = from; at < Math.min(from + count, copy.length); at += 1) copy[at] = (copy[at] ?? 0) ^ 0xff
  return copy
}

const corruptText = (text: string): string => {
  const middle = Math.floor(text.length / 2)
  return `${text.slice(0, middle)}\u0000${text.slice(middle + 1)}`
}

/** A message with one character or byte in its middle broken: of a text, of bytes, or of the fields that hold either. */
export const corrupted = <T>(message: T): T => corruptAny(message) as T

const corruptAny = (message: unknown): unknown => {
  if (typeof message === 'string') return corruptText(message)
  if (message instanceof Uint8Array) return corruptBytes(message, Math.floor(message.length / 2), 1)
  if (typeof message !== 'object' || message === null) return message
  const fields = Object.entries(message).map(([name, value]: [string, unknown]) => {
    const isContent = typeof value === 'string' || value instanceof Uint8Array
    return [name, isContent && value.length > 0 ? corruptAny(value) : value]
  })
  return Object.fromEntries(fields) as unknown
}
