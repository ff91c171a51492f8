import { chmod, copyFile, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rotateKeysFile } from '../../server/src/identity/keys/keys-file.js'
import { stringify } from 'yaml'
import type { ServiceOptions } from '../src/configuration/service-options.js'
import { startService } from '../src/start/service.js'
import { runInProcess } from './cli/in-process.js'
import { openSocket } from './interop/plain-socket-client.js'
import { natsIsSkipped, natsTitle, startNatsServer, type NatsServer } from '../../nats/test/connection/nats-server.js'
import { plainService, recognizeOf, type PlainService } from './plain-service.js'
import { longIt } from '../../../test/thorough.js'

const issuer = 'https://speech.example.com'

describe('two services with state folders of their own', () => {
  let folder: string
  let keysFile: string
  let one: PlainService
  let two: PlainService
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'machines-'))
    keysFile = join(folder, 'keys.json')
    await rotateKeysFile({ path: keysFile, now: Date.now })
    one = await plainService({ stateFolder: join(folder, 'one'), issuer, identity: { keysFile } })
    two = await plainService({ stateFolder: join(folder, 'two'), issuer, identity: { keysFile } })
  })
  afterAll(async () => {
    await Promise.all([one.close(), two.close()])
    await rm(folder, { recursive: true })
  })

  const isAccepted = (service: PlainService, token: string): Promise<boolean> =>
    openSocket(service, { token }).then(
      (socket) => {
        socket.close()
        return true
      },
      (error: unknown) => {
        expect(String(error)).toContain('HTTP 401')
        return false
      },
    )
  /** How each service answers the tokens of both. */
  const answers = (tokens: readonly string[]): Promise<readonly boolean[]> =>
    Promise.all(tokens.flatMap((token) => [isAccepted(one, token), isAccepted(two, token)]))

  it('accept the tokens of each other with one file of keys, and with none after its keys were replaced', async () => {
    const earlier = [await one.newToken(), await two.newToken()]
    expect(await answers(earlier)).toEqual([true, true, true, true])

    // As a mounted secret changes: atomically, on each machine.
    const copy = join(folder, 'copy.json')
    await copyFile(keysFile, copy)
    await chmod(copy, 0o600)
    const { kid } = await rotateKeysFile({ path: copy, now: Date.now }, { discardOthers: true })
    await rename(copy, keysFile)
    expect(await answers(earlier)).toEqual([false, false, false, false])
    const later = [await one.newToken(), await two.newToken()]
    expect(JSON.parse(Buffer.from(later[0]?.split('.')[0] ?? '', 'base64url').toString())).toMatchObject({ kid })
    expect(await answers(later)).toEqual([true, true, true, true])
  })

  it('never write the file of keys, and keep none in their folders', async () => {
    const before = await readFile(keysFile, 'utf8')
    await one.newToken()
    expect(await readFile(keysFile, 'utf8')).toBe(before)
    await expect(readFile(join(folder, 'one', 'signing-keys.json'))).rejects.toThrow('ENOENT')
  })

  it('do not start with NATS and keys of their own', async () => {
    const identity = { nats: { servers: ['nats://127.0.0.1:1'] } }
    await expect(startService({ modelFolders: [], issuer, identity })).rejects.toMatchObject({
      code: 'invalid-options',
      message: expect.stringContaining('identity.nats needs identity.keysFile') as string,
    })
  })

  it('do not start without an issuer, which would differ between them', async () => {
    const options = { modelFolders: [], stateFolder: join(folder, 'three'), identity: { keysFile } }
    await expect(startService(options)).rejects.toMatchObject({
      code: 'invalid-options',
      message: expect.stringContaining('needs an issuer') as string,
    })
  })
})

describe.skipIf(natsIsSkipped)(natsTitle('two services with one identity in NATS'), () => {
  let folder: string
  let server: NatsServer
  let configuration: string
  let one: PlainService
  let two: PlainService
  const lines: string[] = []
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'machines-'))
    server = await startNatsServer({ config: `jetstream { store_dir: "${folder}/nats" }` })
    const keysFile = join(folder, 'keys.json')
    await rotateKeysFile({ path: keysFile, now: Date.now })
    const nats = { servers: [server.url] }
    configuration = join(folder, 'service.yaml')
    await writeFile(configuration, stringify({ identity: { issuer, keysFile, nats } }))
    const options: Partial<ServiceOptions> = {
      issuer,
      identity: { keysFile, nats, bruteForce: { failuresPerMinute: 10 } },
      limits: { sessionsPerToken: 4 },
      operations: { host: '127.0.0.1', port: 0 },
      logger: { log: (level, message) => lines.push(`${level} ${message}`) },
    }
    one = await plainService(options)
    two = await plainService(options)
  })
  afterAll(async () => {
    await Promise.all([one.close(), two.close()])
    await server.close()
    await rm(folder, { recursive: true })
  })

  const subscription = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await runInProcess(['subscription', ...args, '--config', configuration])
    expect([code, stderr]).toEqual([0, ''])
    return stdout
  }
  interface Subscriber {
    readonly clientId: string
    readonly clientSecret: string
  }
  const subscribe = async (): Promise<Subscriber> => JSON.parse(await subscription('create', '--json')) as Subscriber
  const post = (service: PlainService, path: string, { clientId, clientSecret }: Subscriber, form: object) =>
    fetch(`${service.started.authUrl}/connect/${path}`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: clientId, client_secret: clientSecret, ...form }),
    })
  const tokenOf = async (service: PlainService, subscriber: Subscriber): Promise<string | undefined> => {
    const answer = await post(service, 'token', subscriber, { grant_type: 'client_credentials' })
    return ((await answer.json()) as { readonly access_token?: string }).access_token
  }
  const newToken = async (service: PlainService, subscriber: Subscriber): Promise<string> => {
    await expect.poll(() => tokenOf(service, subscriber)).toBeTypeOf('string')
    return (await tokenOf(service, subscriber)) ?? ''
  }
  const runningSession = async (service: PlainService, token: string) => {
    const socket = await openSocket(service, { token })
    socket.send(recognizeOf())
    expect(await socket.receive()).toMatchObject({ 'operation-result': 'Success' })
    return socket
  }
  const metricOf = async ({ started }: PlainService, name: string): Promise<number> => {
    const body = await (await fetch(`${started.operationsUrl ?? ''}/metrics`)).text()
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(body)?.[1])
  }

  it('know a new subscription on both, and end the sessions of its revoked token on both at once', async () => {
    const subscriber = await subscribe()
    const token = await newToken(one, subscriber)
    const sockets = [await runningSession(one, token), await runningSession(two, token)]
    expect((await post(two, 'revocation', subscriber, { token })).status).toBe(200)
    for (const socket of sockets) {
      expect(await socket.receive()).toMatchObject({
        'operation-result': expect.stringMatching(/was revoked/) as string,
      })
      expect(await socket.receive()).toMatchObject({ close: 4401 })
    }
    await expect(openSocket(one, { token })).rejects.toThrow(/HTTP 401: unauthenticated: The token was revoked/)
  })

  it('end the sessions of a subscription that a command cancels, and give it no tokens', async () => {
    const subscriber = await subscribe()
    const token = await newToken(two, subscriber)
    const sockets = [await runningSession(one, token), await runningSession(two, token)]
    expect(await subscription('cancel', subscriber.clientId)).toBe(
      `The subscription "${subscriber.clientId}" is cancelled.\n`,
    )
    for (const socket of sockets) {
      expect(await socket.receive()).toMatchObject({ 'message-name': 'final-result' })
      expect(await socket.receive()).toMatchObject({ close: 4401 })
    }
    expect(await tokenOf(one, subscriber)).toBeUndefined()
    expect(await subscription('list')).toMatch(new RegExp(`${subscriber.clientId}.*cancelled`))
  })

  it('count the sessions of a token together', async () => {
    const subscriber = await subscribe()
    const token = await newToken(one, subscriber)
    const sockets = [await runningSession(one, token), await runningSession(one, token)]
    sockets.push(await openSocket(two, { token }), await openSocket(two, { token }))
    // Within a second or two each machine knows of the sessions of the other.
    await expect.poll(() => openSocket(one, { token }).then((socket) => socket.close(), String)).toMatch(/its limit/)
    for (const socket of sockets) socket.close()
  })

  it('count wrong secrets together', async () => {
    const subscriber = await subscribe()
    await newToken(two, subscriber)
    const wrong = { clientId: `${subscriber.clientId}x`, clientSecret: 'a wrong secret' }
    const statuses: number[] = []
    for (let guess = 0; guess < 16; guess += 1) {
      const service = guess % 2 === 0 ? one : two
      statuses.push((await post(service, 'token', wrong, { grant_type: 'client_credentials' })).status)
    }
    // One more for each guess whose message was under way.
    expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(12)
    expect(statuses.slice(-2)).toEqual([429, 429])
    expect(await tokenOf(two, subscriber)).toBeTypeOf('string')
  })

  longIt(
    'go on while NATS is away: tokens and sessions are valid, revocations are refused, the log and a metric say so',
    async () => {
      const subscriber = await subscribe()
      const token = await newToken(one, subscriber)
      const running = await runningSession(two, token)
      await server.kill()
      await expect.poll(() => lines.filter((line) => line === 'warn Shared identity is stale').length).toBe(2)
      expect(await metricOf(one, 'rxspeech_identity_age_seconds')).toBeGreaterThan(5)
      expect(await tokenOf(two, subscriber)).toBeTypeOf('string')
      const other = await runningSession(one, token)
      const refused = await post(one, 'revocation', subscriber, { token })
      expect([refused.status, refused.headers.has('Retry-After')]).toEqual([503, true])
      const { code, stderr } = await runInProcess(['subscription', 'list', '--config', configuration])
      expect([code, stderr]).toEqual([1, expect.stringMatching(/^rxspeech: No NATS server answers at /) as string])

      await server.restart()
      await expect.poll(() => lines.filter((line) => line.startsWith('info Shared identity is current')).length).toBe(2)
      await expect.poll(() => metricOf(one, 'rxspeech_identity_age_seconds')).toBeLessThan(2)
      expect((await post(one, 'revocation', subscriber, { token })).status).toBe(200)
      for (const socket of [running, other]) {
        expect(await socket.receive()).toMatchObject({
          'operation-result': expect.stringMatching(/was revoked/) as string,
        })
      }
    },
  )
})
