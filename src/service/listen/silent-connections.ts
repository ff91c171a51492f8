import type { Socket } from 'node:net'

export interface SilenceLimit {
  /** Without a byte for longer than this, in milliseconds, a connection counts as gone. */
  readonly silentMs: number
  /** How often the connections are checked, in milliseconds. */
  readonly everyMs: number
}

interface LastByte {
  readonly bytesRead: number
  readonly atMs: number
}

/**
 * Destroys the sockets of a set that receive nothing for `silentMs`, until the returned function is called. It compares
 * counters of the system's sockets, so it needs no event of theirs.
 */
export const destroySilent = (sockets: Iterable<Socket>, { silentMs, everyMs }: SilenceLimit): (() => void) => {
  const lastBytes = new WeakMap<Socket, LastByte>()
  const timer = setInterval(() => {
    const nowMs = performance.now()
    for (const socket of sockets) {
      const { bytesRead } = socket
      const last = lastBytes.get(socket)
      if (last?.bytesRead !== bytesRead) lastBytes.set(socket, { bytesRead, atMs: nowMs })
      else if (nowMs - last.atMs > silentMs) socket.destroy()
    }
  }, everyMs)
  timer.unref()
  return () => {
    clearInterval(timer)
  }
}
