import { connect, createServer, type Server, type Socket } from 'node:net'
import { lastValueFrom, toArray } from 'rxjs'
import { afterEach, describe, expect, it } from 'vitest'
import { recognize } from '../../src/client/recognizer/recognize.js'
import { expectNoHandles } from '../../src/testing/open-handles.js'
import { positionAudio } from '../../src/testing/verifying/position-audio.js'
import { verifyingService } from '../../src/testing/verifying/verifying-service.js'
import { listen, stop } from '../transport/tcp-proxy.js'

const opened: (() => unknown)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

const soon = { withinMs: 30 }
/** A task that closes everything in the end. */
const atLast = { withinMs: 20_000 }

describe('expectNoHandles', () => {
  it('returns the result of the task when everything is closed, even if a little later', async () => {
    const work = async () => {
      const server = createServer()
      await listen(server)
      setTimeout(() => server.close(), 50)
      return 'done'
    }
    await expect(expectNoHandles(work, atLast)).resolves.toBe('done')
  })

  it('fails on a timer, even on one that does not keep the process alive', async () => {
    const leak = () => {
      const timer = setTimeout(() => undefined, 60_000).unref()
      opened.push(() => clearTimeout(timer))
    }
    await expect(expectNoHandles(leak, soon)).rejects.toThrow(
      /^1 Timeout still open after 30 ms\.[^]*open-handles\.isolated\.test/,
    )
  })

  it('fails on a server and on both ends of a connection', async () => {
    let server: Server | undefined
    let socket: Socket | undefined
    opened.push(() => socket?.destroy())
    const leak = async () => {
      server = createServer()
      const port = await listen(server)
      opened.push(() => server && stop(server))
      socket = connect(port, '127.0.0.1')
      await new Promise((resolve) => server?.once('connection', (peer) => resolve(opened.push(() => peer.destroy()))))
    }
    await expect(expectNoHandles(leak, soon)).rejects.toThrow(/1 TCPSERVERWRAP, 2 TCPWRAP|2 TCPWRAP, 1 TCPSERVERWRAP/)
  })

  it('ignores what was open before, and what is excluded', async () => {
    const before = setInterval(() => undefined, 60_000)
    opened.push(() => clearInterval(before))
    const leak = () => {
      const timer = setTimeout(() => undefined, 60_000)
      opened.push(() => clearTimeout(timer))
    }
    await expectNoHandles(() => undefined, atLast)
    await expectNoHandles(leak, { ...atLast, ignore: /open-handles\.isolated\.test/ })
  })

  it('passes on the failure of the task', async () => {
    await expect(expectNoHandles(() => Promise.reject(new Error('first')), soon)).rejects.toThrow('first')
  })

  it('finds nothing after a session that ended, and after one that was unsubscribed', async () => {
    const service = verifyingService()
    const listening = await service.listen()
    opened.push(() => listening.close())
    const session = recognize({
      url: listening.url,
      token: 'any',
      model: 'any',
      format: { encoding: 'pcm', sampleRateHz: 8000, channels: 1 },
    })
    await expectNoHandles(() => lastValueFrom(session([positionAudio(0, 1_600)]).pipe(toArray())), atLast)
    await expectNoHandles(async () => {
      const subscription = session([positionAudio(0, 1_600)]).subscribe()
      await expect.poll(() => service.connections.length).toBe(2)
      subscription.unsubscribe()
    }, atLast)
  })
})
