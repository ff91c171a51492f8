import { request as httpRequest, type IncomingMessage } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { asyncScheduler, Subject } from 'rxjs'
import { afterEach, describe, expect, it } from 'vitest'
import { memoryClients } from '../../server/src/identity/clients/client.js'
import { resolveServiceLimits, type ServiceOptions } from '../src/configuration/service-options.js'
import { startService } from '../src/start/service.js'
import { scriptedEngine } from '../src/testing/scripted-engine.js'
import { converse, openStream, plainClient } from './interop/plain-dataflow-client.js'
import { openSocket } from './interop/plain-socket-client.js'
import { freePort } from '../../../test/transport/tcp-proxy.js'
import { plainService, recognizeOf, startOf, subscriptionOf, type PlainService } from './plain-service.js'

const open: PlainService[] = []
const started = async (...given: Parameters<typeof plainService>): Promise<PlainService> => {
  const service = await plainService(...given)
  open.push(service)
  return service
}
afterEach(async () => {
  for (const service of open.splice(0)) await service.close()
})

const bare = (options: Partial<ServiceOptions>): ReturnType<typeof startService> =>
  startService({ clients: memoryClients([]), modelFolders: [], ...options })

/** The answer to an upgrade without a token. */
const refusedUpgrade = async (wsUrl: string): Promise<{ readonly headers: Headers }> => {
  const headers = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  }
  const asked = httpRequest(`${wsUrl.replace(/^ws/, 'http')}/recognizer`, { headers })
  asked.end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  answer.resume()
  return { headers: new Headers(answer.headers as Record<string, string>) }
}

const connects = async (url: string): Promise<boolean> =>
  fetch(url).then(
    () => true,
    () => false,
  )

describe('starting', () => {
  it('opens nothing when a port is taken, and names it', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const address = { host: '127.0.0.1', port }
    const httpPort = await freePort()
    for (const options of [{ http: address }, { grpc: address, http: { host: '127.0.0.1', port: httpPort } }]) {
      await expect(bare(options)).rejects.toMatchObject({
        code: 'listen-failed',
        message: `Cannot listen on 127.0.0.1:${port}: the port is in use.`,
      })
    }
    expect(await connects(`http://127.0.0.1:${httpPort}`)).toBe(false)
    await new Promise((resolve) => taken.close(resolve))
  })

  it('rejects plain text beyond loopback on either interface', async () => {
    const everywhere = { host: '0.0.0.0', port: 0 }
    for (const options of [{ http: everywhere }, { grpc: everywhere }]) {
      await expect(bare(options)).rejects.toMatchObject({ code: 'invalid-options' })
    }
  })

  it('rejects an unknown default model, and an invalid certificate', async () => {
    await expect(bare({ defaultModel: 'nope' })).rejects.toMatchObject({ code: 'invalid-options' })
    await expect(bare({ certificate: { certificate: 'x', key: 'y' } })).rejects.toMatchObject({
      code: 'invalid-options',
    })
  })

  it.each<readonly [string, Partial<ServiceOptions>]>([
    ['limits.sessions', { limits: { sessions: 0 } }],
    ['limits.sessionsPerToken', { limits: { sessionsPerToken: 1.5 } }],
    ['limits.sessionsPerTenant', { limits: { sessionsPerTenant: 0 } }],
    ['limits.connections', { limits: { connections: 0 } }],
    ['limits.connectionsPerAddress', { limits: { connectionsPerAddress: 0 } }],
    ['limits.unstarted', { limits: { unstarted: -1 } }],
    ['limits.maxPacePercent', { limits: { maxPacePercent: -1 } }],
    ['limits.idleMs', { limits: { idleMs: -1 } }],
    ['limits.startWithinMs', { limits: { startWithinMs: 0 } }],
    ['limits.maxSessionMs', { limits: { maxSessionMs: 2 ** 31 } }],
    ['limits.maxPendingAudioMs', { limits: { maxPendingAudioMs: 100 } }],
    ['maxMessageBytes', { maxMessageBytes: 0 }],
    ['maxMessageBytes', { maxMessageBytes: NaN }],
  ])('rejects %s which nothing could meet', async (name, options) => {
    await expect(bare(options)).rejects.toMatchObject({
      code: 'invalid-options',
      message: expect.stringContaining(`${name} must be`) as unknown,
    })
  })

  it('has the limits of the protocol, and more generous ones for development', () => {
    const options = { clients: memoryClients([]), modelFolders: [] }
    expect(resolveServiceLimits(options)).toEqual({
      startWithinMs: 10_000,
      openWithinMs: 30_000,
      flushWithinMs: 60_000,
      maxSessionMs: 14_400_000,
      idleMs: 30_000,
      maxPendingAudioMs: 10_000,
      maxLoadPercent: 85,
      maxLoopDelayMs: 100,
      maxEngineDelayMs: 1_000,
      maxPacePercent: 125,
      paceBurstMs: 5_000,
      maxRequestsPerSecond: 20,
      requestBurst: 100,
      sessions: 200,
      sessionsPerTenant: 200,
      sessionsPerToken: 50,
      reservePercent: 10,
      connections: 5_000,
      connectionsPerAddress: 2_500,
      unstarted: 2_500,
      unstartedPerAddress: 250,
      streamsPerConnection: 100,
      connectionAgeMs: 3_600_000,
      connectionGraceMs: 14_460_000,
      maxMessageBytes: 1_048_576,
    })
    const limits = { sessions: 7 }
    expect(resolveServiceLimits({ ...options, development: true, limits })).toMatchObject({
      sessions: 7,
      sessionsPerToken: 4_000,
      maxLoadPercent: 0,
      maxLoopDelayMs: 1_000,
      maxEngineDelayMs: 0,
      maxPacePercent: 0,
    })
  })

  it('listens on IPv6 loopback', async () => {
    const host = '::1'
    const service = await started({ http: { host, port: 0 }, grpc: { host, port: 0 } })
    expect(service.started.wsUrl).toMatch(/^ws:\/\/\[::1\]:\d+$/)
    expect(service.started.grpcAddress).toMatch(/^\[::1\]:\d+$/)
    const socket = await openSocket(service)
    socket.close()
    const { status } = await converse(service, (stream) => {
      stream.request(startOf(service.token))
      stream.end()
    })
    expect(status).toBe('OK')
  })
})

/** The result on both interfaces for a token and names: the code of the refusal, or `success`. */
const askedOf = async (
  service: PlainService,
  token: string,
  model: { readonly name: string; readonly tenant?: string },
  tenant = 'Default',
  project = 'transcribe',
): Promise<{ readonly grpc: string; readonly socket: string }> => {
  const settings = { ModelName: model.name, ...(model.tenant && { ModelTenant: model.tenant }) }
  const { responses } = await converse(service, (stream) => {
    stream.request(startOf(token, { Tenant: tenant, ProjectName: project, Settings: settings }))
    stream.end()
  })
  const code = (result: unknown): string => String(result).toLowerCase().replace(/: .*/s, '')
  const over = async (): Promise<string> => {
    const socket = await openSocket(service, { token }).catch((error: unknown) => String(error))
    if (typeof socket === 'string') return socket.replace(/^Error: HTTP \d+: /, '').replace(/: .*/s, '')
    socket.send(recognizeOf({ 'model-name': model.name, ...(model.tenant && { 'model-tenant': model.tenant }) }))
    const answer = await socket.receive()
    socket.close()
    await socket.receive()
    return code(answer['operation-result'])
  }
  return { grpc: code(responses[0]?.['operation-result']), socket: await over() }
}

describe('answers over HTTP', () => {
  it('are not taken for another type than they state, on every listener', async () => {
    const { started: service } = await started({ operations: { host: '127.0.0.1', port: 0 } })
    // A body that nobody reads keeps its connection open.
    const read = async (...request: Parameters<typeof fetch>): Promise<Response> => {
      const answer = await fetch(...request)
      await answer.arrayBuffer()
      return answer
    }
    const answers = await Promise.all([
      ...['/livez', '/readyz', '/metrics', '/nothing'].map((path) => read(`${service.operationsUrl ?? ''}${path}`)),
      ...['/connect/token', '/connect/introspect', '/nothing'].map((path) =>
        read(`${service.authUrl}${path}`, { method: 'POST' }),
      ),
      ...['/.well-known/openid-configuration', '/jwks', '/nothing'].map((path) => read(`${service.authUrl}${path}`)),
      refusedUpgrade(service.wsUrl),
    ])
    for (const { headers } of answers) expect(headers.get('x-content-type-options')).toBe('nosniff')
  })
})

describe('what a token grants', () => {
  const both = (code: string) => ({ grpc: code, socket: code })

  it('is enforced on both interfaces', async () => {
    const limited = await subscriptionOf('limited', { tenants: ['Acme'], models: ['n'], projects: ['transcribe'] })
    const projectless = await subscriptionOf('projectless', { projects: ['other'] })
    const service = await started({}, [limited, projectless])
    const token = await service.newToken('limited')
    expect(await askedOf(service, token, { name: 'n', tenant: 'Acme' }, 'Acme')).toEqual(both('success'))
    expect(await askedOf(service, token, { name: 'm' }, 'Acme')).toEqual(both('model-denied'))
    expect(await askedOf(service, token, { name: 'n' }, 'Acme')).toEqual(both('model-denied'))
    expect((await askedOf(service, token, { name: 'n', tenant: 'Acme' }, 'Default')).grpc).toBe('tenant-denied')
    expect((await askedOf(service, token, { name: 'n', tenant: 'Acme' }, 'Acme', 'x')).grpc).toBe('project-denied')
    const other = await service.newToken('projectless')
    expect((await askedOf(service, other, { name: 'm' })).grpc).toBe('project-denied')
    expect(await askedOf(service, service.token, { name: 'broken' })).toEqual(both('engine-failed'))
    expect(await askedOf(service, service.token, { name: '../m' })).toEqual(both('model-denied'))
  })

  it('is nothing if the token is foreign, unsigned, changed, or for another audience, and none is repeated', async () => {
    const service = await started()
    const foreign = await started()
    const [head = '', body = '', signature = ''] = service.token.split('.')
    const unsigned = Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as object
    const changed = Buffer.from(JSON.stringify({ ...claims, aud: 'urn:other' })).toString('base64url')
    const tokens = [
      foreign.token,
      `${unsigned}.${body}.`,
      `${head}.${changed}.${signature}`,
      `${head}.${body}.`,
      'x',
      'a.b.c',
    ]
    for (const token of tokens) {
      expect(await askedOf(service, token, { name: 'm' })).toEqual(both('unauthenticated'))
      const { details } = await converse(service, (stream) => {
        stream.request(startOf(token))
      })
      expect(details).toMatch(/^unauthenticated: [A-Z][^.]*\.$/)
      if (token.length > 10) expect(details).not.toContain(token.slice(0, 10))
    }
    expect(service.faults).toEqual([])
  })

  it('is nothing more when the token has expired', async () => {
    let nowMs = Date.now()
    const scheduler = Object.assign(Object.create(asyncScheduler) as typeof asyncScheduler, { now: () => nowMs })
    const service = await started({ scheduler })
    expect(await askedOf(service, service.token, { name: 'm' })).toEqual(both('success'))
    nowMs += 366 * 86_400_000
    expect(await askedOf(service, service.token, { name: 'm' })).toEqual(both('unauthenticated'))
  })
})

describe('closing', () => {
  it('lets running sessions send their finals, then ends them, and accepts no more', async () => {
    const service = await plainService()
    const socket = await openSocket(service)
    socket.send(recognizeOf())
    await socket.receive()
    socket.audio(new Uint8Array(1_600))
    const idle = await openSocket(service)
    const client = plainClient(service)
    const stream = openStream(client)
    stream.request(startOf(service.token))
    await stream.answered
    stream.raw({ binary_content: new Uint8Array(1_600), content_type: 0 })
    const unstarted = openStream(client)
    unstarted.raw({})
    await unstarted.answered
    const closed = Promise.all([service.started.close({ drainMs: 5_000 }), service.close()])
    expect(await socket.receive()).toMatchObject({ 'message-name': 'final-result', 'operation-result': 'Success' })
    expect(await socket.receive()).toMatchObject({
      close: 1001,
      reason: expect.stringMatching(/^going-away: /) as unknown,
    })
    expect(await idle.receive()).toMatchObject({ close: 1001 })
    const { status, events } = await stream.ended
    expect({ status, names: events.map((event) => event['Name']) }).toEqual({ status: 'OK', names: ['SR Final'] })
    await closed
    client.close()
    expect(await connects(service.started.authUrl)).toBe(false)
    await expect(openSocket(service)).rejects.toThrow(/ECONNREFUSED/)
    expect((await converse(service, (item) => item.request(startOf(service.token)))).status).toBe('UNAVAILABLE')
  })

  it('ends sessions that do not finish in time, and reports that', async () => {
    const stuck = { ...scriptedEngine({ texts: [] }), recognize: () => () => new Subject<never>() }
    const service = await plainService({}, [], stuck)
    const socket = await openSocket(service)
    socket.send(recognizeOf())
    await socket.receive()
    const client = plainClient(service)
    const stream = openStream(client)
    stream.request(startOf(service.token))
    await stream.answered
    const closed = service.started.close({ drainMs: 1 })
    expect(await socket.receive()).toMatchObject({ close: 1001 })
    expect(await stream.ended).toMatchObject({
      status: 'UNAVAILABLE',
      details: expect.stringMatching(/^going-away: /) as unknown,
    })
    await closed
    client.close()
    await service.close()
  })

  it('does not wait for a client that reads nothing', async () => {
    const service = await plainService()
    const socket = await openSocket(service)
    socket.raw.pause()
    await service.started.close({ drainMs: 1 })
    socket.raw.terminate()
    await service.close()
  })
})
