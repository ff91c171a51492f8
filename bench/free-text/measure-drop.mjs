import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { recordingOf } from './free-text-recordings.mjs'
import { startMeasuredService } from './service-under-test.mjs'

/** A way to the service that can be cut. */
const openRelay = async (port) => {
  const sockets = new Set()
  const server = createServer((socket) => {
    const other = connect(port, '127.0.0.1')
    for (const end of [socket, other]) {
      sockets.add(end)
      end.on('error', () => undefined)
      end.once('close', () => {
        sockets.delete(end)
        socket.destroy()
        other.destroy()
      })
    }
    socket.pipe(other).pipe(socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: server.address().port,
    cut: () => {
      for (const socket of sockets) socket.destroy()
    },
    close: () => server.close(),
  }
}

/** The words of a recording in one connection, and with the connection cut three times. */
export const measureDrop = async () => {
  const human = recordingOf('human52')
  if (human === undefined) {
    console.log('LEFT OUT: the recordings are not there.')
    return
  }
  const service = await startMeasuredService({ partials: 'off' })
  const url = new URL(service.access.wsUrl)
  const relay = await openRelay(Number(url.port))
  try {
    url.port = String(relay.port)
    const whole = await service.play(human, { isPaced: false })
    const cuts = [4300, 16_700, 33_100].map((atMs) => setTimeout(relay.cut, atMs))
    const cut = await service.play(human, { url: url.href })
    for (const timer of cuts) clearTimeout(timer)
    const lost = whole.text === cut.text ? 'the same text' : `other text:\n  ${whole.text}\n  ${cut.text}`
    console.log(
      `${cut.reconnects} reconnects: ${(100 * cut.wrong.share).toFixed(1)} % of the words wrong, ${(100 * whole.wrong.share).toFixed(1)} % without; ${lost}`,
    )
  } finally {
    relay.close()
    await service.close()
  }
}
