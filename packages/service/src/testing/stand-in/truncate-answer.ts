import type { ServerResponse } from 'node:http'

/** Makes an answer end in the middle of its body: after half of the only part, or after the first one of several. */
export const truncateAnswer = (response: ServerResponse): void => {
  const write = response.write.bind(response) as (part: string | Uint8Array) => boolean
  const cut = (): void => {
    response.socket?.destroySoon()
  }
  let hasBegun = false
  response.write = (part: unknown): boolean => {
    if (hasBegun) {
      cut()
      return false
    }
    hasBegun = true
    return write(bytesOf(part))
  }
  response.end = (part?: unknown): ServerResponse => {
    const bytes = bytesOf(part)
    if (!hasBegun) write(bytes.subarray(0, Math.ceil(bytes.length / 2)))
    cut()
    return response
  }
}

const bytesOf = (part: unknown): Uint8Array =>
  typeof part === 'string' ? Buffer.from(part) : part instanceof Uint8Array ? part : Buffer.alloc(0)
