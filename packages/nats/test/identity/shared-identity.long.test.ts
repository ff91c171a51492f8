import { setTimeout as delay } from 'node:timers/promises'
import { asyncScheduler } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectSharedIdentity, type ConnectedIdentity } from '../../src/identity/connect.js'
import { startNatsCluster, type NatsCluster } from '../connection/nats-cluster.js'
import { natsIsSkipped, natsTitle } from '../connection/nats-server.js'

describe.skipIf(natsIsSkipped)(natsTitle('a shared identity over a cluster of NATS'), () => {
  let cluster: NatsCluster
  const opened: ConnectedIdentity[] = []
  const faults: unknown[] = []

  const connect = (
    servers: readonly string[],
    options: { readonly openWithinMs?: number } = {},
  ): Promise<ConnectedIdentity> =>
    connectSharedIdentity(
      { servers, bucket: 'test', replicas: 3 },
      { name: 'test', scheduler: asyncScheduler, onFault: (error) => faults.push(error), ...options },
    )
  const open = async (servers: readonly string[]): Promise<ConnectedIdentity> => {
    const identity = await connect(servers)
    opened.push(identity)
    return identity
  }
  beforeAll(async () => {
    cluster = await startNatsCluster()
  })
  afterAll(async () => {
    for (const { close } of opened) await close()
    await cluster.close()
  })

  it('opens while servers that have just started, or lost two of three, elect a leader', async () => {
    const [first, second, third] = cluster.servers
    if (first === undefined || second === undefined || third === undefined) throw new Error('no cluster')
    await open([first.url])
    await Promise.all([second.kill(), third.kill()])
    const impatient = () =>
      connect([first.url], { openWithinMs: 0 }).then(
        ({ close }) => close().then(() => 'open'),
        (error: unknown) => String(error),
      )
    // A leader that is left alone notices it only after some seconds.
    await expect
      .poll(impatient, { timeout: 60_000 })
      .toMatch(/The bucket test cannot be opened \((timeout|.*unavailable.*)\)\.$/)
    const opening = open([first.url])
    await Promise.all([second.restart(), third.restart()])
    await opening
  }, 120_000)

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
