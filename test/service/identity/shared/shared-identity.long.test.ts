import { setTimeout as delay } from 'node:timers/promises'
import { asyncScheduler } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectSharedIdentity, type ConnectedIdentity } from '../../../../src/service/identity/shared/connect.js'
import { startNatsCluster, type NatsCluster } from '../../nats/nats-cluster.js'
import { natsIsSkipped, natsTitle } from '../../nats/nats-server.js'

describe.skipIf(natsIsSkipped)(natsTitle('a shared identity over a cluster of NATS'), () => {
  let cluster: NatsCluster
  const opened: ConnectedIdentity[] = []
  const faults: unknown[] = []

  const connect = (servers: readonly string[]): Promise<ConnectedIdentity> =>
    connectSharedIdentity(
      { servers, bucket: 'test', replicas: 3 },
      { name: 'test', scheduler: asyncScheduler, onFault: (error) => faults.push(error) },
    )
  /** Servers that have just started have no leader yet. */
  const open = async (servers: readonly string[]): Promise<ConnectedIdentity> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const identity = await connect(servers)
        opened.push(identity)
        return identity
      } catch (error) {
        if (attempt === 20) throw error
        await delay(500)
      }
    }
  }
  beforeAll(async () => {
    cluster = await startNatsCluster()
  })
  afterAll(async () => {
    for (const { close } of opened) await close()
    await cluster.close()
  })

  it('brings every confirmed revocation to every machine after servers had lost each other', async () => {
    const machines: ConnectedIdentity[] = []
    for (const { url } of cluster.servers) machines.push(await open([url]), await open([url]))
    const confirmed: string[] = []
    let count = 0
    const revoke = async ({ identity }: ConnectedIdentity): Promise<void> => {
      const tokenId = `t${(count += 1)}`
      // A server without the others cannot confirm it.
      await identity.revoke(tokenId).then(
        () => confirmed.push(tokenId),
        () => undefined,
      )
    }
    for (const index of cluster.servers.keys()) {
      cluster.cut(index)
      const untilMs = Date.now() + 8_000
      while (Date.now() < untilMs) await Promise.all([...machines.map(revoke), delay(100)])
      cluster.mend()
      await Promise.all(machines.map(revoke))
    }
    const lacking = (): readonly number[] =>
      machines.map(({ identity }) => confirmed.filter((tokenId) => !identity.isRevoked(tokenId)).length)
    // An audit every 10 s brings what is missing, once the servers have a leader again.
    await expect.poll(lacking, { timeout: 150_000, interval: 500 }).toEqual(machines.map(() => 0))
    expect(confirmed.length).toBeGreaterThan(0)
    const [server] = cluster.servers
    const later = await open(server === undefined ? [] : [server.url])
    await expect
      .poll(() => confirmed.filter((tokenId) => !later.identity.isRevoked(tokenId)), { timeout: 60_000 })
      .toEqual([])
  }, 300_000)
})
