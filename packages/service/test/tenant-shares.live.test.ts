import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { natsIsSkipped, natsTitle, startNatsServer, type NatsServer } from '../../nats/test/connection/nats-server.js'
import { memoryClients } from '../../server/src/identity/clients/client.js'
import { rotateKeysFile } from '../../server/src/identity/keys/keys-file.js'
import { folderOfTest } from '../../../test/temporary-folder.js'
import { longIt } from '../../../test/thorough.js'
import type { ServiceOptions } from '../src/configuration/service-options.js'
import { openSocket, type PlainSocket } from './interop/plain-socket-client.js'
import { plainService, recognizeOf, subscriptionOf, type PlainService } from './plain-service.js'

/** Sessions of one machine. */
const places = 10
/** Each session lasts for so many rounds, in which one of eight ends. */
const lastsRounds = 8
const rounds = 48

interface Tenant {
  readonly token: string
  /** Its sessions, oldest first, and the round in which each ends. */
  sessions: readonly { readonly socket: PlainSocket; readonly endRound: number; readonly at: PlainService }[]
  asked: number
  refused: number
}

const tenantOf = (token: string): Tenant => ({ token, sessions: [], asked: 0, refused: 0 })

const ask = async (tenant: Tenant, service: PlainService | undefined, endRound: number): Promise<void> => {
  if (service === undefined) throw new Error('no service')
  tenant.asked += 1
  try {
    const socket = await openSocket(service, { token: tenant.token })
    socket.send(recognizeOf())
    expect(await socket.receive()).toMatchObject({ 'operation-result': 'Success' })
    tenant.sessions = [...tenant.sessions, { socket, endRound, at: service }]
  } catch (error) {
    expect(String(error)).toMatch(/HTTP 429: overloaded/)
    tenant.refused += 1
  }
}

/** Ends sessions, and waits until their services have counted that. */
const endSessions = async (tenant: Tenant, isOver: (endRound: number) => boolean = () => true): Promise<void> => {
  const over = tenant.sessions.filter(({ endRound }) => isOver(endRound))
  tenant.sessions = tenant.sessions.filter(({ endRound }) => !isOver(endRound))
  for (const { socket, at } of over) {
    const before = await sessionsOf(at)
    socket.close()
    await expect.poll(() => sessionsOf(at), { interval: 2 }).toBe(before - 1)
  }
}

const sessionsOf = async ({ started }: PlainService): Promise<number> => {
  const metrics = await (await fetch(`${started.operationsUrl ?? ''}/metrics`)).text()
  return [...metrics.matchAll(/^rxspeech_sessions{.*} (\d+)$/gm)].reduce((sum, [, value]) => sum + Number(value), 0)
}

/**
 * One tenant wants three times all sessions, and asks again in each round, before the other one. That wants a fifth of
 * them.
 */
const compete = async (large: Tenant, small: Tenant, services: readonly PlainService[]): Promise<void> => {
  const wanted = 3 * places * services.length
  const everyRounds = lastsRounds / (0.2 * places * services.length)
  for (let round = 0; round < rounds; round += 1) {
    for (const tenant of [large, small]) await endSessions(tenant, (endRound) => endRound <= round)
    for (let client = large.sessions.length; client < wanted; client += 1) {
      // The first ones end in different rounds, as if each had begun at another time.
      const endRound = round + (round === 0 ? 1 + (large.sessions.length % lastsRounds) : lastsRounds)
      await ask(large, services[client % services.length], endRound)
    }
    if (round % everyRounds === 0) await ask(small, services[small.asked % services.length], round + lastsRounds)
  }
}

const open = async (options: Partial<ServiceOptions>): Promise<PlainService> => {
  const clients = ['client', 'large', 'small'].map((name) =>
    subscriptionOf(name, { tenants: [name === 'small' ? 'Acme' : 'Default'] }),
  )
  return plainService({
    ...options,
    clients: memoryClients(await Promise.all(clients)),
    limits: { maxRequestsPerSecond: 1_000_000, requestBurst: 1_000_000, ...options.limits },
    operations: { host: '127.0.0.1', port: 0 },
  })
}
const tenantsOf = async (service: PlainService): Promise<readonly [large: Tenant, small: Tenant]> => [
  tenantOf(await service.newToken('large')),
  tenantOf(await service.newToken('small')),
]

describe('a tenant that wants a fifth of the sessions, beside one that wants three times all of them', () => {
  const competing = async (reservePercent: number): Promise<readonly [large: Tenant, small: Tenant]> => {
    const service = await open({ limits: { sessions: places, reservePercent } })
    const [large, small] = await tenantsOf(service)
    // It was there within the hour.
    await ask(small, service, 0)
    await endSessions(small)
    small.asked = 0
    await compete(large, small, [service])
    await service.close()
    return [large, small]
  }

  it('gets a session each time that it asks for one, and the other one nearly all of the rest', async () => {
    const [large, small] = await competing(10)
    expect([small.asked, small.refused]).toEqual([rounds / 4, 0])
    expect(large.sessions.length).toBeGreaterThanOrEqual(places - 3)
  })

  longIt('is refused most times without shares', async () => {
    const [, small] = await competing(0)
    expect(small.refused / small.asked).toBeGreaterThan(0.8)
  })
})

describe.skipIf(natsIsSkipped)(natsTitle('on two machines with one identity in NATS'), () => {
  let server: NatsServer
  let shared: Partial<ServiceOptions>
  const opened: PlainService[] = []
  const openShared = async (limits: Partial<ServiceOptions['limits']> = {}): Promise<PlainService> => {
    const service = await open({ ...shared, limits })
    opened.push(service)
    return service
  }
  beforeEach(async () => {
    const folder = folderOfTest()
    server = await startNatsServer({ config: `jetstream { store_dir: "${folder}/nats" }` })
    const keysFile = join(folder, 'keys.json')
    await rotateKeysFile({ path: keysFile, now: Date.now })
    shared = { issuer: 'https://speech.example.com', identity: { keysFile, nats: { servers: [server.url] } } }
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((service) => service.close()))
    await server.close()
  })

  longIt('it does, too, where it has asked only one of them before', async () => {
    const services = [await openShared({ sessions: places }), await openShared({ sessions: places })]
    const [one, two] = services
    if (one === undefined) throw new Error('no service')
    const [large, small] = await tenantsOf(one)
    await ask(small, one, 0)
    await endSessions(small)
    // The other machine knows of it once the last session there is not for the large tenant.
    await expect
      .poll(async () => {
        await endSessions(large)
        for (let client = 0; client < places; client += 1) await ask(large, two, 0)
        return large.sessions.length
      })
      .toBe(places - 1)
    await endSessions(large)
    small.asked = 0
    await compete(large, small, services)
    expect([small.asked, small.refused]).toEqual([rounds / 2, 0])
    expect(large.sessions.length).toBeGreaterThanOrEqual(2 * places - 6)
  })

  it('a token has the default limit of each, and a limit that is set once', async () => {
    const one = await openShared()
    const [large] = await tenantsOf(one)
    for (let count = 0; count <= 50; count += 1) await ask(large, one, 0)
    expect([large.sessions.length, large.refused]).toEqual([50, 1])
    await openShared({ sessionsPerToken: 50 })
    await expect
      .poll(async () => {
        await ask(large, one, 0)
        return large.sessions.length
      })
      .toBe(51)
    const set = await openShared({ sessionsPerToken: 50 })
    await expect
      .poll(async () => {
        const before = large.refused
        await ask(large, set, 0)
        return large.refused - before
      })
      .toBe(1)
    await endSessions(large)
  })
})
