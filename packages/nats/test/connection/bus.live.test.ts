import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { filter, firstValueFrom, ReplaySubject, type Subscription } from 'rxjs'
import { afterEach, describe, expect, it } from 'vitest'
import { createBus, reportRefused, type BusMessage, type MessageBus } from '../../src/connection/bus.js'
import { connectNats } from '../../src/connection/connection.js'
import type { NatsOptions } from '../../src/connection/nats-options.js'
import { natsIsSkipped, natsTitle, startNatsServer, type NatsServer, type NatsServerOptions } from './nats-server.js'

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const startServer = async (options?: NatsServerOptions): Promise<NatsServer> => {
  const server = await startNatsServer(options)
  cleanups.push(server.close)
  return server
}

const openBus = async (server: NatsServer, options: Partial<NatsOptions> = {}): Promise<MessageBus> => {
  const bus = createBus(await connectNats({ servers: [server.url], ...options }, { name: 'test' }))
  cleanups.push(() => bus.close())
  return bus
}

/** What a subject receives; its payloads are copied. */
const received = (bus: MessageBus, subject: string): ReplaySubject<BusMessage> => {
  const message$ = new ReplaySubject<BusMessage>(10)
  const subscription: Subscription = bus.messages(subject).subscribe({
    next: (message) => message$.next({ ...message, payload: message.payload.slice() }),
    error: (error: unknown) => message$.error(error),
  })
  cleanups.push(() => {
    subscription.unsubscribe()
    return Promise.resolve()
  })
  return message$
}

const becomes = (bus: MessageBus, isUp: boolean): Promise<boolean> =>
  firstValueFrom(bus.isUp$.pipe(filter((value) => value === isUp)))

const textOf = ({ payload }: BusMessage): string => new TextDecoder().decode(payload)

/** Resolves when the server has processed all that this bus asked of it. */
const settled = async (bus: MessageBus): Promise<void> => {
  const echo$ = received(bus, 'settled')
  bus.publish('settled', '')
  await firstValueFrom(echo$)
}

describe.skipIf(natsIsSkipped)(natsTitle('a bus over NATS'), () => {
  it('carries messages to the subscribers of a subject', async () => {
    const server = await startServer()
    const [here, there] = [await openBus(server), await openBus(server)]
    const message$ = received(there, 'a.*.c')
    await settled(there)
    expect(here.publish('a.b.c', 'hello', 'back')).toBe(true)
    const message = await firstValueFrom(message$)
    expect(message).toMatchObject({ subject: 'a.b.c', replyTo: 'back', hasNoReceiver: false })
    expect(textOf(message)).toBe('hello')
  })

  it('does not send a message that is too large for the server', async () => {
    const bus = await openBus(await startServer({ config: 'max_payload: 1000' }))
    const message$ = received(bus, 'a')
    await settled(bus)
    const sizes = [1001, 'ä'.repeat(501), 1000].map((size) => (typeof size === 'string' ? size : new Uint8Array(size)))
    expect(sizes.map((payload) => bus.publish('a', payload))).toEqual([false, false, true])
    expect((await firstValueFrom(message$)).payload).toHaveLength(1000)
    expect(bus.isUp).toBe(true)
  })

  it('returns a message that no process receives', async () => {
    const bus = await openBus(await startServer())
    const answer$ = received(bus, 'answers.1')
    bus.publish('no.receiver', 'hello', 'answers.1')
    expect(await firstValueFrom(answer$)).toMatchObject({ subject: 'answers.1', hasNoReceiver: true })
  })

  it('publishes nothing while the server is away, and continues when it is back', async () => {
    const server = await startServer()
    const [here, there] = [await openBus(server), await openBus(server)]
    const message$ = received(there, 'audio')
    await settled(there)
    await server.kill()
    await Promise.all([becomes(here, false), becomes(there, false)])
    expect(here.publish('audio', 'lost')).toBe(false)
    await server.restart()
    await Promise.all([becomes(here, true), becomes(there, true)])
    await settled(there)
    expect(here.publish('audio', 'later')).toBe(true)
    expect(textOf(await firstValueFrom(message$))).toBe('later')
  })

  it('notices a server that hangs', async () => {
    const server = await startServer()
    const bus = await openBus(server)
    server.suspend()
    const startMs = Date.now()
    await becomes(bus, false)
    expect(Date.now() - startMs).toBeLessThan(6_000)
    server.resume()
    await becomes(bus, true)
  })

  it('fails a subscription that the server does not allow', async () => {
    const config = 'authorization { users: [{ user: u, password: p, permissions: { subscribe: ["mine.>"] } }] }'
    const bus = await openBus(await startServer({ config }), { user: 'u', password: 'p' })
    await expect(firstValueFrom(received(bus, 'other'))).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringContaining('other') as string,
    })
  })

  it('reports each kind of message that the server does not accept, once', async () => {
    const config =
      'authorization { users: [{ user: u, password: p, permissions: { publish: ["mine.>", "settled"] } }] }'
    const bus = await openBus(await startServer({ config }), { user: 'u', password: 'p' })
    const subjects: string[] = []
    const faults: unknown[] = []
    const subscription = bus.refused$.subscribe((subject) => subjects.push(subject))
    subscription.add(reportRefused(bus, (error) => faults.push(error)))
    cleanups.push(() => {
      subscription.unsubscribe()
      return Promise.resolve()
    })
    for (const subject of ['mine.1', 'a.b.c.1', 'a.b.c.2', 'a.b.d.1']) bus.publish(subject, 'hello')
    await expect.poll(() => subjects).toEqual(['a.b.c.1', 'a.b.c.2', 'a.b.d.1'])
    expect(bus.refusedCount).toBe(3)
    expect(faults).toMatchObject([
      {
        code: 'refused',
        message:
          'The NATS server does not allow this user to send a.b.c.1; check its permissions, and the name of this process.',
      },
      { code: 'refused', message: expect.stringContaining('a.b.d.1') as string },
    ])
  })

  it('does not connect with a wrong password, and does not repeat it', async () => {
    const server = await startServer({ config: 'authorization { user: u, password: p }' })
    const wrong = openBus(server, { user: 'u', password: 'hunter2' })
    await expect(wrong).rejects.toMatchObject({ code: 'unauthenticated' })
    await expect(wrong).rejects.not.toThrow('hunter2')
  })

  it('reports that a server refuses the user after its password was changed, once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'nats-bus-'))
    const configFile = join(folder, 'nats.conf')
    const setPassword = (password: string): Promise<void> =>
      writeFile(configFile, `authorization { user: u, password: ${password} }`)
    await setPassword('hunter2')
    const server = await startServer({ configFile })
    cleanups.push(() => rm(folder, { recursive: true }))
    const bus = await openBus(server, { user: 'u', password: 'hunter2' })
    const faults: unknown[] = []
    const reporting = reportRefused(bus, (error) => faults.push(error))
    cleanups.push(() => {
      reporting.unsubscribe()
      return Promise.resolve()
    })
    await setPassword('hunter3')
    await server.kill()
    await server.restart()
    // Each attempt is refused, and one is reported.
    await expect.poll(() => bus.refusedCount).toBeGreaterThan(2)
    expect(faults).toMatchObject([
      { code: 'unauthenticated', message: expect.stringContaining('no longer accepts this user') as string },
    ])
    expect(String(faults)).not.toContain('hunter')
    await setPassword('hunter2')
    await server.kill()
    await server.restart()
    await becomes(bus, true)
  })

  it('waits for a server that starts later, and not for ever', async () => {
    const server = await startServer()
    await server.kill()
    const options = { servers: [server.url] }
    const early = connectNats(options, { name: 'early' })
    await expect(connectNats(options, { name: 'hasty', connectWithinMs: 300 })).rejects.toMatchObject({
      code: 'connection-failed',
      message: expect.stringContaining(server.url) as string,
    })
    await server.restart()
    const connection = await early
    await connection.close()
  })

  it('publishes nothing after it was closed', async () => {
    const bus = await openBus(await startServer())
    await bus.close()
    await bus.close()
    expect(bus.isUp).toBe(false)
    expect(bus.publish('a', 'b')).toBe(false)
  })
})
