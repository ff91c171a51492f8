import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { asyncScheduler, type SchedulerLike } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { callThrough, LiveFleet, wordsOf } from '../../nats/test/engines/live-fleet.js'
import { natsIsSkipped, natsTitle } from '../../nats/test/connection/nats-server.js'
import { rotateKeysFile } from '../../server/src/identity/keys/keys-file.js'
import { temporaryFolder } from '../../../test/temporary-folder.js'
import { longIt } from '../../../test/thorough.js'
import type { ServiceOptions } from '../src/configuration/service-options.js'
import { runInProcess } from './cli/in-process.js'
import { openSocket } from './interop/plain-socket-client.js'
import { plainService, recognizeOf, type PlainService } from './plain-service.js'

/** The clock of a machine that is ahead of this one, or behind it. */
const clockAhead = (aheadMs: number): SchedulerLike =>
  Object.create(asyncScheduler, { now: { value: () => Date.now() + aheadMs } }) as SchedulerLike

// Real sockets and processes. Only the clock of a service is another one.
describe.skipIf(natsIsSkipped)(natsTitle('machines whose clocks differ by 50 s'), () => {
  let fleet: LiveFleet
  let configuration: string
  let services: readonly PlainService[]
  const start = (aheadMs: number, options: Partial<ServiceOptions>): Promise<PlainService> =>
    plainService({ ...options, scheduler: clockAhead(aheadMs) })
  const folder = temporaryFolder()

  beforeAll(async () => {
    fleet = await LiveFleet.start({ config: `jetstream { store_dir: "${folder}/nats" }` })
    const keysFile = join(folder, 'keys.json')
    await rotateKeysFile({ path: keysFile, now: Date.now })
    const issuer = 'https://speech.example.com'
    const nats = { servers: [fleet.nats.url] }
    configuration = join(folder, 'service.yaml')
    await writeFile(configuration, stringify({ identity: { issuer, keysFile, nats } }))
    const options = { issuer, identity: { keysFile, nats }, limits: { sessionsPerToken: 4 } }
    services = await Promise.all([0, 50_000, 70_000].map((aheadMs) => start(aheadMs, options)))
  })
  afterAll(async () => {
    await Promise.all(services.map((service) => service.close()))
    await fleet.close()
  })

  interface Subscriber {
    readonly clientId: string
    readonly clientSecret: string
  }
  const post = ({ started }: PlainService, path: string, subscriber: Subscriber, form: object): Promise<Response> => {
    const { clientId: client_id, clientSecret: client_secret } = subscriber
    const body = new URLSearchParams({ client_id, client_secret, ...form })
    return fetch(`${started.authUrl}/connect/${path}`, { method: 'POST', body })
  }
  const subscribe = async (): Promise<Subscriber> => {
    const { stdout } = await runInProcess(['subscription', 'create', '--json', '--config', configuration])
    return JSON.parse(stdout) as Subscriber
  }
  const tokenOf = async (service: PlainService, subscriber: Subscriber): Promise<string> => {
    const answer = await post(service, 'token', subscriber, { grant_type: 'client_credentials' })
    return ((await answer.json()) as { readonly access_token?: string }).access_token ?? ''
  }
  const session = async (service: PlainService, token: string) => {
    const socket = await openSocket(service, { token })
    socket.send(recognizeOf())
    expect(await socket.receive()).toMatchObject({ 'operation-result': 'Success' })
    return socket
  }

  it('accept a new subscription and the tokens of each other at once, and end the sessions of a revoked one', async () => {
    const near = services.slice(0, 2)
    const subscriber = await subscribe()
    for (const service of near) await expect.poll(() => tokenOf(service, subscriber)).not.toBe('')
    for (const issuing of near) {
      const token = await tokenOf(issuing, subscriber)
      const sockets = await Promise.all(near.map((service) => session(service, token)))
      expect((await post(issuing, 'revocation', subscriber, { token })).status).toBe(200)
      for (const socket of sockets) {
        expect(await socket.receive()).toMatchObject({ 'operation-result': expect.stringMatching(/revoked/) as string })
        socket.close()
      }
    }
  })

  it('refuse a token of a machine that is ahead by more than 60 s', async () => {
    const [near, , ahead] = services
    if (near === undefined || ahead === undefined) throw new Error('no services')
    const subscriber = await subscribe()
    await expect.poll(() => tokenOf(ahead, subscriber)).not.toBe('')
    const token = await tokenOf(ahead, subscriber)
    await expect(openSocket(near, { token })).rejects.toThrow(/HTTP 401/)
  })

  it('count the sessions of a token together', async () => {
    const [one, two] = services
    if (one === undefined || two === undefined) throw new Error('no services')
    const subscriber = await subscribe()
    await expect.poll(() => tokenOf(one, subscriber)).not.toBe('')
    const token = await tokenOf(one, subscriber)
    const sockets = await Promise.all([one, one, two, two].map((service) => session(service, token)))
    const another = (): Promise<unknown> => openSocket(one, { token }).then((socket) => socket.close(), String)
    await expect.poll(another).toMatch(/its limit/)
    for (const socket of sockets) socket.close()
  })

  longIt(
    'recognize a call with the words and times of one with a clock that is right, and report more than 60 s',
    async () => {
      await fleet.startEngine()
      const lines: string[] = []
      const heard = [0, 50_000, -50_000, 70_000].map(async (aheadMs) => {
        const service = await fleet.startService({
          scheduler: clockAhead(aheadMs),
          logger: {
            log: (_level, sentence) => {
              if (sentence.startsWith('The clock')) lines.push(`${aheadMs} ${sentence}`)
            },
          },
        })
        return wordsOf(await callThrough(service, { speed: 5 }))
      })
      const [right, ...others] = await Promise.all(heard)
      expect(right?.length).toBeGreaterThan(10)
      for (const other of others) expect(other).toEqual(right)
      expect(lines).toEqual([expect.stringMatching(/^70000 The clock of an engine process differs/)])
      expect(fleet.faults).toEqual([])
    },
  )
})
