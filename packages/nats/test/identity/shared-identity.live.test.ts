import { asyncScheduler } from 'rxjs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { hashSecret } from '../../../server/src/identity/clients/client-secret.js'
import type { StoredClient } from '../../../server/src/identity/clients/client.js'
import { connectSharedIdentity, type ConnectedIdentity } from '../../src/identity/connect.js'
import { connectNats } from '../../src/connection/connection.js'
import { natsIsSkipped, natsTitle, startNatsServer, type NatsServer } from '../connection/nats-server.js'
import { longIt } from '../../../../test/thorough.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

let secretHash: string
beforeAll(async () => {
  secretHash = await hashSecret('correct horse battery staple')
})

const client = (clientId: string): StoredClient => ({
  clientId,
  secretHash,
  tenants: ['*'],
  projects: ['*'],
  models: ['*'],
  validFromMs: 0,
  validUntilMs: Infinity,
  cancelled: false,
  mayIntrospect: false,
  createdAtMs: 0,
})

describe.skipIf(natsIsSkipped)(natsTitle('a shared identity over NATS'), () => {
  const folder = temporaryFolder()
  let server: NatsServer
  beforeAll(async () => {
    server = await startNatsServer({ config: `jetstream { store_dir: "${folder}" }` })
  })
  afterAll(async () => {
    await server.close()
  })
  const opened: ConnectedIdentity[] = []
  afterEach(async () => {
    for (const { close } of opened.splice(0)) await close()
    expect(faults.splice(0)).toEqual([])
  })

  const faults: unknown[] = []
  let bucket = ''
  let buckets = 0
  const nextBucket = (): void => {
    bucket = `test-${(buckets += 1)}`
  }
  const open = async (): Promise<ConnectedIdentity> => {
    const shared = await connectSharedIdentity(
      { servers: [server.url], bucket },
      { name: 'test', scheduler: asyncScheduler, onFault: (error) => faults.push(error) },
    )
    opened.push(shared)
    return shared
  }

  it('brings a revocation to every machine at once, and to those that start later', async () => {
    nextBucket()
    const [{ identity: one }, { identity: two }] = [await open(), await open()]
    await one.add(client('acme@example.com'))
    const takenMs: number[] = []
    for (let count = 0; count < 50; count += 1) {
      const tokenId = `token-${count}`
      const seen = new Promise<void>((resolve) => {
        const watching = two.changed$.subscribe(() => {
          if (!two.isRevoked(tokenId)) return
          watching.unsubscribe()
          resolve()
        })
      })
      const startMs = performance.now()
      await Promise.all([one.revoke(tokenId), seen])
      takenMs.push(performance.now() - startMs)
    }
    // Milliseconds each; a busy machine delays some of them.
    expect(takenMs.toSorted((a, b) => a - b)[25]).toBeLessThan(1_000)
    const { identity: later } = await open()
    expect([later.revoked().size, later.find('acme@example.com')]).toEqual([50, client('acme@example.com')])
  })

  it('sends what it has withdrawn as messages too, and takes those of others, but no junk', async () => {
    nextBucket()
    const { identity } = await open()
    await identity.add(client('acme'))
    const connection = await connectNats({ servers: [server.url] }, { name: 'test' })
    const subject = `rxspeech.identity.${bucket}.withdrawn`
    const sent: unknown[] = []
    connection.subscribe(subject, { max: 1, callback: (_error, message) => void sent.push(message.json()) })
    await connection.flush()
    await identity.revoke('t1', 9e12)
    await expect.poll(() => sent).toEqual([{ v: 1, tokenId: 't1', untilMs: 9e12 }])
    const tooLong = { v: 1, tokenId: 't'.repeat(1_025), untilMs: 9e12 }
    for (const text of ['junk', '{"v":2,"clientId":"acme"}', '{"v":1,"tokenId":"t2"}', JSON.stringify(tooLong)])
      connection.publish(subject, text)
    expect(identity.find('acme')?.cancelled).toBe(false)
    connection.publish(subject, '{"v":1,"clientId":"acme"}')
    await expect.poll(() => identity.find('acme')?.cancelled).toBe(true)
    expect([identity.isRevoked('t2'), identity.isRevoked(tooLong.tokenId)]).toEqual([false, false])
    await connection.close()
  })

  it('makes one of two changes at the same time, and reports the other', async () => {
    nextBucket()
    const all = [await open(), await open(), await open()]
    const results = await Promise.allSettled(all.map(({ identity }) => identity.add(client('acme'))))
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected', 'rejected'])
    const seconds = [60, 120, 180]
    await Promise.all(all.map(({ identity }, index) => identity.setTokenLifetime('acme', seconds[index])))
    await Promise.all([all[0]?.identity.cancel('acme'), all[1]?.identity.setTokenLifetime('acme', 240)])
    for (const { identity } of all) {
      await expect.poll(() => identity.find('acme')).toMatchObject({ cancelled: true, tokenLifetimeSeconds: 240 })
    }
  })

  it('continues from memory while the server is away, refuses changes, and misses none afterwards', async () => {
    nextBucket()
    const [{ identity: one }, { identity: two, bus }] = [await open(), await open()]
    await one.add(client('acme'))
    await one.revoke('before')
    await expect.poll(() => two.isRevoked('before')).toBe(true)
    await server.kill()
    await expect.poll(() => bus.isUp).toBe(false)
    expect([two.isRevoked('before'), two.find('acme')]).toEqual([true, client('acme')])
    const later = new Promise<string>((resolve) => setImmediate(resolve, 'later'))
    // At once, and not after the time of a request without an answer.
    expect(await Promise.race([two.revoke('during').catch((error: unknown) => error), later])).toMatchObject({
      code: 'overloaded',
      message: expect.stringContaining('cannot be reached') as string,
    })
    await server.restart()
    await expect
      .poll(() =>
        one.revoke('after').then(
          () => true,
          () => false,
        ),
      )
      .toBe(true)
    await expect
      .poll(() => [two.isRevoked('after'), two.isRevoked('before'), two.find('acme') !== undefined])
      .toEqual([true, true, true])
    await expect.poll(() => two.ageMs()).toBeLessThan(1_500)
  })

  longIt('notices that the server hangs, by its age', async () => {
    nextBucket()
    const { identity } = await open()
    server.suspend()
    await expect.poll(() => identity.ageMs()).toBeGreaterThan(2_500)
    server.resume()
    await expect.poll(() => identity.ageMs()).toBeLessThan(1_500)
  })

  it('removes revocations of expired tokens from the bucket', async () => {
    nextBucket()
    const { identity } = await open()
    await identity.revoke('old', Date.now() - 1)
    await identity.revoke('new')
    const { identity: later } = await open()
    expect([...later.revoked().keys()]).toEqual(['new'])
  })

  longIt('reads 20,000 revocations', async () => {
    nextBucket()
    await open()
    const connection = await connectNats({ servers: [server.url] }, { name: 'test' })
    for (let count = 0; count < 20_000; count += 1) {
      connection.publish(`$KV.${bucket}.revoked.t${count}`, '{"v":1,"untilMs":9000000000000}')
      if (count % 2_000 === 0) await connection.flush()
    }
    await connection.flush()
    await connection.close()
    const { identity } = await open()
    // At once: a service must not accept a revoked token when it has just started.
    expect(identity.revoked().size).toBe(20_000)
  })
})

describe.skipIf(natsIsSkipped)(natsTitle('a NATS server'), () => {
  it('refuses a server without JetStream, and names the reason', async () => {
    const server = await startNatsServer()
    const opening = connectSharedIdentity({ servers: [server.url] }, { name: 'test', onFault: () => undefined })
    await expect(opening).rejects.toMatchObject({
      code: 'invalid-options',
      message: expect.stringMatching(/needs JetStream/) as string,
    })
    await server.close()
  })
})
