import { createHash, randomBytes } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { faultProxy, type FaultProxy, type FaultProxyOptions } from '../../../src/testing/faults/fault-proxy.js'
import { echoService, plainClient } from './echo-service.js'

const opened: (() => unknown)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

const serve = async (options: Parameters<typeof echoService>[0] = {}) => {
  const service = await echoService(options)
  opened.push(service.close)
  return service
}

const stand = async (options: FaultProxyOptions): Promise<FaultProxy> => {
  const proxy = await faultProxy(options)
  opened.push(() => proxy.close())
  return proxy
}

const dial = async (port: number) => {
  const client = await plainClient(port)
  opened.push(() => void client.socket.destroy())
  return client
}

const hash = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const soon = { interval: 5 }

describe('a fault proxy', () => {
  it('passes every byte in both directions, and the ends separately', async () => {
    const service = await serve()
    const proxy = await stand({ target: service.port })
    const client = await dial(proxy.port)
    const sent = randomBytes(3_000_000)
    client.socket.end(sent)
    await expect.poll(() => client.ends, soon).toEqual(['end', 'close'])
    expect(hash(client.received())).toBe(hash(sent))
    expect(hash(service.received())).toBe(hash(sent))
    await expect.poll(() => proxy.open, soon).toBe(0)
  })

  it('resets after an exact number of bytes of one connection', async () => {
    const service = await serve({ echo: false })
    const proxy = await stand({
      target: service.port,
      script: [{ at: { when: 'bytes', direction: 'to-service', count: 1_234, connection: 2 }, fault: { do: 'reset' } }],
    })
    const first = await dial(proxy.port)
    first.socket.write(randomBytes(2_000))
    await expect.poll(() => service.received(0).length, soon).toBe(2_000)
    const second = await dial(proxy.port)
    second.socket.write(randomBytes(2_000))
    await expect.poll(() => second.ends, soon).toEqual(['ECONNRESET', 'close'])
    await expect.poll(() => service.ends.length, soon).toBe(2)
    expect(service.received(1).length).toBe(1_234)
    expect(proxy.applied).toMatchObject([{ fault: { do: 'reset' } }])
  })

  it.each(['reset', 'refuse'] as const)(
    'accepts no connection during an outage by %s, then every connection again',
    async (by) => {
      const service = await serve()
      const proxy = await stand({ target: service.port })
      const client = await dial(proxy.port)
      proxy.apply({ do: 'outage', by })
      await expect.poll(() => client.ends, soon).toEqual(['ECONNRESET', 'close'])
      const during = await dial(proxy.port)
      await expect.poll(() => during.ends, soon).toContain('close')
      expect(during.ends[0]).toBe(by === 'refuse' ? 'ECONNREFUSED' : 'ECONNRESET')
      proxy.restore()
      await expect
        .poll(async () => {
          const after = await dial(proxy.port)
          after.socket.write('again')
          return new Promise((resolve) => {
            after.socket.once('data', (bytes) => resolve(String(bytes)))
            after.socket.once('close', () => resolve('closed'))
          })
        }, soon)
        .toBe('again')
    },
  )

  it('rejects the given number of connections', async () => {
    const service = await serve()
    const proxy = await stand({
      target: service.port,
      script: [{ at: { when: 'connection', number: 1 }, fault: { do: 'refuse', connections: 2 } }],
    })
    for (const outcome of ['closed', 'closed', 'open']) {
      const client = await dial(proxy.port)
      client.socket.write('x')
      await expect
        .poll(() => (client.ends.length > 0 ? 'closed' : client.received().length > 0 ? 'open' : ''), soon)
        .toBe(outcome)
    }
    expect(proxy.connections).toBe(3)
  })

  it('discards both directions when half-open, without an end, and resets after its time', async () => {
    const service = await serve()
    const proxy = await stand({ target: service.port })
    const client = await dial(proxy.port)
    client.socket.write('one')
    await expect.poll(() => client.received().toString(), soon).toBe('one')
    proxy.halfOpen()
    client.socket.write(randomBytes(8_000_000))
    // All data is accepted: the sender notices nothing.
    await expect.poll(() => client.socket.writableLength, soon).toBe(0)
    service.sockets[0]?.end('bye')
    expect(service.received().toString()).toBe('one')
    const other = await dial(proxy.port)
    other.socket.write('two')
    await expect.poll(() => other.received().toString(), soon).toBe('two')
    expect(client.ends).toEqual([])
    expect(client.received().toString()).toBe('one')
    proxy.apply({ do: 'half-open', forMs: 20 })
    await expect.poll(() => client.ends, soon).toEqual(['ECONNRESET', 'close'])
  })

  it('discards only one direction as a black hole', async () => {
    const service = await serve()
    const proxy = await stand({
      target: service.port,
      script: [{ at: { when: 'signal', name: 'now' }, fault: { do: 'black-hole', direction: 'to-client' } }],
    })
    const client = await dial(proxy.port)
    client.socket.write('one')
    await expect.poll(() => client.received().toString(), soon).toBe('one')
    proxy.signal('now')
    client.socket.write('two')
    await expect.poll(() => service.received().toString(), soon).toBe('onetwo')
    expect(client.received().toString()).toBe('one')
  })

  it('makes the sender wait during a stall, buffers little, and delivers everything afterwards', async () => {
    const service = await serve({ echo: false })
    const proxy = await stand({
      target: service.port,
      script: [
        { at: { when: 'bytes', direction: 'to-service', count: 1 }, fault: { do: 'stall', direction: 'to-service' } },
      ],
    })
    const client = await dial(proxy.port)
    const sent = randomBytes(20_000_000)
    const rssBefore = process.memoryUsage().rss
    client.socket.write(sent)
    await expect.poll(() => service.received().length, soon).toBe(1)
    let waiting = 0
    // The buffers of the system fill up, and then no more data is accepted.
    await expect
      .poll(() => waiting === (waiting = client.socket.bytesWritten - client.socket.writableLength), {
        interval: 100,
      })
      .toBe(true)
    expect(client.socket.writableLength).toBeGreaterThan(0)
    expect(service.received().length).toBe(1)
    expect(process.memoryUsage().rss - rssBefore).toBeLessThan(15_000_000)
    proxy.restore()
    await expect.poll(() => service.received().length, { interval: 20 }).toBe(sent.length)
    expect(hash(service.received())).toBe(hash(sent))
  })

  it('delays in order with any jitter', async () => {
    const service = await serve()
    const proxy = await stand({ target: service.port })
    proxy.apply({ do: 'delay', delayMs: 60, jitterMs: 40, direction: 'to-service' })
    const client = await dial(proxy.port)
    const startedMs = performance.now()
    const lines = Array.from({ length: 200 }, (_, line) => `${line}\n`)
    for (const line of lines) client.socket.write(line)
    await expect.poll(() => client.received().toString(), soon).toBe(lines.join(''))
    expect(performance.now() - startedMs).toBeGreaterThan(55)
  })

  it('slices, coalesces and limits the bandwidth', async () => {
    const service = await serve({ echo: false })
    const proxy = await stand({ target: service.port })
    proxy.apply({ do: 'slice', bytes: 7 })
    const sliced = await dial(proxy.port)
    sliced.socket.write(randomBytes(700))
    await expect.poll(() => service.received(0).length, soon).toBe(700)
    expect(service.chunks[0]?.length).toBeGreaterThan(10)
    proxy.restore()

    proxy.apply({ do: 'coalesce', everyMs: 500 })
    const joined = await dial(proxy.port)
    for (let count = 0; count < 20; count += 1) {
      joined.socket.write(randomBytes(10))
      await new Promise((resolve) => setImmediate(resolve))
    }
    await expect.poll(() => service.received(1).length, soon).toBe(200)
    expect(service.chunks[1]?.length).toBeLessThanOrEqual(2)
    proxy.restore()

    proxy.apply({ do: 'bandwidth', bytesPerSecond: 100_000 })
    const slow = await dial(proxy.port)
    const startedMs = performance.now()
    slow.socket.write(randomBytes(20_000))
    await expect.poll(() => service.received(2).length, soon).toBe(20_000)
    expect(performance.now() - startedMs).toBeGreaterThan(180)
  })

  it('inverts the bits of the given number of bytes', async () => {
    const service = await serve({ echo: false })
    const proxy = await stand({
      target: service.port,
      script: [
        {
          at: { when: 'bytes', direction: 'to-service', count: 4 },
          fault: { do: 'corrupt', direction: 'to-service', bytes: 3 },
        },
      ],
    })
    const client = await dial(proxy.port)
    client.socket.write(Buffer.alloc(4))
    await expect.poll(() => service.received().length, soon).toBe(4)
    client.socket.write(Buffer.alloc(6))
    await expect.poll(() => service.received().length, soon).toBe(10)
    expect([...service.received()]).toEqual([0, 0, 0, 0, 255, 255, 255, 0, 0, 0])
  })

  it('ends normally, and leaves nothing open after close', async () => {
    const service = await serve()
    const proxy = await stand({ target: service.port })
    const client = await dial(proxy.port)
    proxy.apply({ do: 'end' })
    await expect.poll(() => client.ends[0], soon).toBe('end')
    await expect.poll(() => service.ends, soon).toEqual(['end'])
    const open = await dial(proxy.port)
    proxy.apply({ do: 'outage', forMs: 60_000 })
    proxy.apply({ do: 'stall', direction: 'to-client', forMs: 60_000 })
    await Promise.all([proxy.close(), proxy.close()])
    await expect.poll(() => open.ends.at(-1), soon).toBe('close')
    expect((await dial(proxy.port)).ends[0]).toBe('ECONNREFUSED')
  })

  it('rejects invalid options before it listens', async () => {
    await expect(faultProxy({ target: 'nowhere' })).rejects.toMatchObject({ code: 'invalid-options' })
    await expect(faultProxy({ target: 0 })).rejects.toMatchObject({ code: 'invalid-options' })
    const script = [
      { at: { when: 'elapsed', ms: 1 }, fault: { do: 'reset' } },
      { at: { when: 'elapsed', ms: 1 }, fault: { do: 'duplicate', direction: 'to-client' } },
    ] as const
    await expect(faultProxy({ target: 1, script })).rejects.toMatchObject({
      code: 'invalid-options',
      message: expect.stringContaining('Step 2') as unknown,
    })
  })

  it('closes the connection of the client when the service fails or is not reachable', async () => {
    const service = await serve()
    const proxy = await stand({ target: service.port })
    const client = await dial(proxy.port)
    client.socket.write('x')
    await expect.poll(() => service.sockets.length, soon).toBe(1)
    service.sockets[0]?.resetAndDestroy()
    await expect.poll(() => client.ends, soon).toEqual(['ECONNRESET', 'close'])
    await service.close()
    const late = await dial(proxy.port)
    await expect.poll(() => late.ends, soon).toContain('close')
  })
})
