import { connect, createServer, type Socket } from 'node:net'
import { listen, stop } from '../../transport/tcp-proxy.js'

/** A TCP service that records what it receives, and echoes it unless configured otherwise. */
export const echoService = async ({ echo = true, read = true } = {}) => {
  const sockets: Socket[] = []
  const chunks: Buffer[][] = []
  const ends: string[] = []
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const own: Buffer[] = []
    sockets.push(socket)
    chunks.push(own)
    if (!read) socket.pause()
    else
      socket.on('data', (bytes: Buffer) => {
        own.push(bytes)
        if (echo) socket.write(bytes)
      })
    socket.on('end', () => {
      ends.push('end')
      socket.end()
    })
    socket.on('error', () => ends.push('reset'))
  })
  const port = await listen(server)
  return {
    port,
    sockets,
    ends,
    chunks,
    received: (connection = 0): Buffer => Buffer.concat(chunks[connection] ?? []),
    close: () => {
      sockets.forEach((socket) => socket.destroy())
      return stop(server)
    },
  }
}

/** A client of the service, which records how its connection ended. */
export const plainClient = async (port: number) => {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const chunks: Buffer[] = []
  const ends: string[] = []
  socket.on('data', (bytes: Buffer) => chunks.push(bytes))
  socket.on('end', () => ends.push('end'))
  socket.on('error', (error: NodeJS.ErrnoException) => ends.push(error.code ?? 'error'))
  socket.on('close', () => ends.push('close'))
  await new Promise<void>((resolve) => {
    socket.once('connect', resolve)
    socket.once('close', () => resolve())
  })
  return { socket, chunks, ends, received: () => Buffer.concat(chunks) }
}
