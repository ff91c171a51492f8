import { X509Certificate } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { credentials, loadPackageDefinition, type Client } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { protoPath } from 'grpc-health-check'
import { afterEach, describe, expect, it } from 'vitest'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import type { Engine } from '../../../engines/src/engine.js'
import { developmentCertificates } from '../../src/identity/keys/development-certificates.js'
import { EngineMeter } from '../../src/operations/engine-meter.js'
import { openSpeechMetrics, type ExpiringCertificate } from '../../src/operations/metrics.js'
import { openJsonLogger } from '../../src/operations/logger.js'
import { processIdentity } from '../../src/operations/process-identity.js'
import type { OperationsReport } from '../../src/operations/operations.js'
import type { ServiceOptions } from '../../../service/src/configuration/service-options.js'
import { scriptedEngine } from '../../../service/src/testing/scripted-engine.js'
import { converse, openStream, plainClient } from '../../../service/test/interop/plain-dataflow-client.js'
import { openSocket } from '../../../service/test/interop/plain-socket-client.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'
import { spoken } from '../sessions/spoken.js'
import {
  plainService,
  recognizeOf,
  startOf,
  subscriptionOf,
  type PlainService,
} from '../../../service/test/plain-service.js'

const open: PlainService[] = []
const operations = { host: '127.0.0.1', port: 0 }
const started = async (options: Partial<ServiceOptions> = {}, engine?: Engine): Promise<PlainService> => {
  const service = await plainService({ operations, ...options }, [], ...(engine === undefined ? [] : [engine]))
  open.push(service)
  return service
}
afterEach(async () => {
  for (const service of open.splice(0)) await service.close()
})

const get = async ({ started: { operationsUrl = '' } }: PlainService, path: string) => {
  const response = await fetch(operationsUrl + path)
  return { status: response.status, type: response.headers.get('content-type'), body: await response.text() }
}

/** The value of a metric with these labels, whatever other labels it has. */
const valueOf = (metrics: string, line: string): number | undefined => {
  const found = metrics.split('\n').find((item) => item.startsWith(`${line} `))
  return found === undefined ? undefined : Number(found.slice(line.length + 1))
}

/** Polls until it holds: the tested changes happen asynchronously. */
const until = async (holds: () => Promise<boolean>): Promise<void> => {
  while (!(await holds())) await new Promise(setImmediate)
}

const oneCall = async (service: PlainService, audio: Uint8Array, start = startOf(service.token)) =>
  converse(
    service,
    ({ request }) => request(start),
    (response, stream) => {
      if (response['MessageName'] !== 'StartResponse') return
      for (let at = 0; at < audio.length; at += 320) {
        stream.write({ message: { binary_content: audio.subarray(at, at + 320), content_type: 0 } })
      }
      stream.end()
    },
  )

describe('the operations listener', () => {
  it('does not exist by default', async () => {
    const service = await plainService()
    open.push(service)
    expect(service.started.operationsUrl).toBeUndefined()
  })

  it('answers /livez, and /readyz when the first engine is loaded', async () => {
    const service = await started()
    expect(await get(service, '/livez')).toMatchObject({ status: 200, body: 'alive\n' })
    await until(async () => (await get(service, '/readyz')).status === 200)
    expect(await get(service, '/readyz')).toMatchObject({ status: 200, body: 'ready\n' })
    expect(await get(service, '/absent')).toMatchObject({
      status: 404,
      body: expect.stringContaining('/ for a browser'),
    })
    expect((await fetch(`${service.started.operationsUrl ?? ''}/livez`, { method: 'POST' })).status).toBe(405)
  })

  it('is not ready while no model can be loaded, and logs that once for each', async () => {
    const lines: string[] = []
    const logger = await openJsonLogger({ write: (line) => lines.push(line) }, 'info')
    const broken = { name: 'scripted', open: () => Promise.reject(new SpeechError('invalid-model', 'No such file.')) }
    const service = await started({ engines: [broken], logger })
    await until(async () => (await get(service, '/readyz')).body.startsWith('without-engine'))
    expect(await get(service, '/readyz')).toMatchObject({ status: 503 })
    expect(lines.filter((line) => line.includes('No such file.'))).toHaveLength(service.started.models.list().length)
    const ofReadiness = lines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => /ready/i.test(String(msg)))
    expect(ofReadiness).toMatchObject([
      {
        level: 'warn',
        msg: 'Not ready: new sessions are refused',
        reason: expect.stringContaining('no model can be loaded') as string,
      },
    ])
  })

  it('reports drain on /readyz and to watchers of grpc.health.v1, while a session continues', async () => {
    const service = await started()
    const health = healthClient(service)
    const statuses: string[] = []
    const watch = health.Watch({ service: 'dataflow' })
    const metric = new Promise<void>((resolve) => {
      watch.on('data', ({ status }) => {
        statuses.push(status)
        if (statuses.at(-1) === 'NOT_SERVING' && statuses.includes('SERVING')) resolve()
      })
      watch.on('error', () => undefined)
    })
    await until(async () => (await get(service, '/readyz')).status === 200)
    expect(await health.checked('')).toBe('SERVING')
    expect(await health.checked('dataflow')).toBe('SERVING')

    const client = plainClient(service)
    const session = openStream(client)
    session.request(startOf(service.token))
    await session.answered
    const closing = service.started.close({ drainMs: 2_000 })
    expect(await get(service, '/readyz')).toMatchObject({ status: 503, body: expect.stringMatching(/^draining/) })
    expect(await get(service, '/livez')).toMatchObject({ status: 200 })
    await metric
    expect(await session.ended).toMatchObject({ status: 'OK', events: [{ Name: 'SR Final' }] })
    watch.cancel()
    health.client.close()
    client.close()
    await closing
    await expect(get(service, '/livez')).rejects.toThrow()
  })
})

describe('/operations.json', () => {
  it('has the sessions that run, with what finds them, and no text of them', async () => {
    const service = await started({}, scriptedEngine({ texts: ['hello world'] }))
    const socket = await openSocket(service)
    socket.send(recognizeOf())
    expect(await socket.receive()).toMatchObject({ 'operation-result': 'Success' })
    socket.audio((await spoken(3_000)).subarray(0, 48_000))
    let message = await socket.receive()
    while (message?.['message-name'] !== 'milestone-result') message = await socket.receive()
    const { status, type, body } = await get(service, '/operations.json')
    expect([status, type]).toEqual([200, 'application/json'])
    const { sessions, ...history } = JSON.parse(body) as OperationsReport
    expect(history).toEqual({ everyMs: 10_000, atMs: [], charts: { running: {}, audio: {}, lag: {}, refusals: {} } })
    expect(sessions).toEqual([
      expect.objectContaining({ interface: 'websocket', tenant: 'Default', model: 'm', isRunning: true }),
    ])
    // The scripted engine answers at once.
    const { startedAtMs = NaN, worstAtMs = NaN, worstLagMs = NaN } = sessions[0] ?? {}
    expect(worstLagMs).toBeGreaterThanOrEqual(0)
    expect(worstAtMs).toBeGreaterThan(startedAtMs)
    expect(body).not.toContain('hello')
    expect(body).not.toContain(service.token)
    expect(
      valueOf((await get(service, '/metrics')).body, 'rxspeech_running_sessions{tenant="Default",model="m"}'),
    ).toBe(1)
    socket.raw.terminate()
    await until(async () => (await get(service, '/operations.json')).body.includes('"isRunning":false'))
    expect((await get(service, '/metrics')).body).not.toContain('rxspeech_running_sessions{')
  })
})

describe('/metrics', () => {
  it('counts the sessions of both interfaces', async () => {
    const worked = { ms: 0 }
    const service = await started(
      {},
      {
        ...scriptedEngine({ texts: ['hello world'] }),
        busyMs: () => (worked.ms += 250),
        memoryBytes: () => 12_345_678,
      },
    )
    const audio = await spoken(3_000)
    expect((await oneCall(service, audio)).status).toBe('OK')
    const socket = await openSocket(service)
    socket.send(recognizeOf())
    expect(await socket.receive()).toMatchObject({ 'operation-result': 'Success' })
    socket.audio(audio.subarray(0, 16_000))
    const during = (await get(service, '/metrics')).body
    expect(valueOf(during, 'rxspeech_sessions{interface="websocket",state="running"}')).toBe(1)
    expect(valueOf(during, 'rxspeech_sessions{interface="grpc",state="running"}')).toBe(0)
    socket.send({ 'message-name': 'finalize-recognition' })
    let message = await socket.receive()
    while (message['message-name'] !== 'final-result') message = await socket.receive()
    socket.close()
    expect(await socket.receive()).toMatchObject({ close: 1005 })
    await until(async () =>
      /^rxspeech_sessions_ended_total{interface="websocket",.*} 1$/m.test((await get(service, '/metrics')).body),
    )

    const { body, type } = await get(service, '/metrics')
    expect(type).toContain('text/plain; version=0.0.4')
    const metric = (line: string): number | undefined => valueOf(body, line)
    expect(metric('rxspeech_ready')).toBe(1)
    expect(metric('rxspeech_sessions_started_total{interface="grpc",tenant="Default",model="m",version="1"}')).toBe(1)
    expect(
      metric('rxspeech_sessions_started_total{interface="websocket",tenant="Default",model="m",version="1"}'),
    ).toBe(1)
    expect(metric('rxspeech_sessions_ended_total{interface="grpc",outcome="completed"}')).toBe(1)
    expect(metric('rxspeech_audio_seconds_total{interface="grpc",tenant="Default",model="m"}')).toBeCloseTo(3, 5)
    expect(metric('rxspeech_audio_seconds_total{interface="websocket",tenant="Default",model="m"}')).toBeCloseTo(1, 5)
    expect(metric('rxspeech_chunk_lag_seconds_count{interface="grpc"}')).toBeGreaterThanOrEqual(2)
    expect(metric('rxspeech_first_partial_seconds_count{interface="grpc",model="m",version="1"}')).toBeGreaterThan(0)
    expect(metric('rxspeech_milestone_seconds_count{interface="grpc",model="m",version="1"}')).toBeGreaterThan(0)
    expect(metric('rxspeech_engine_audio_seconds_total{model="Default/m/1"}')).toBeGreaterThan(0)
    // A scrape each time, each of which finds a quarter of a second more
    expect(metric('rxspeech_engine_busy_seconds_total{model="Default/m/1"}')).toBe(worked.ms / 1000)
    expect(metric('rxspeech_engine_memory_bytes{model="Default/m/1"}')).toBe(12_345_678)
    expect(metric('rxspeech_engine_thinned_seconds_total{model="Default/m/1"}')).toBe(0)
    const { host, process: number, version } = processIdentity()
    const { node } = process.versions
    expect(metric(`rxspeech_build_info{host="${host}",process="${number}",version="${version}",node="${node}"}`)).toBe(
      1,
    )
    expect(metric('rxspeech_engine_queued_seconds{model="Default/m/1"}')).toBe(0)
    expect(metric('rxspeech_engine_segments{model="Default/m/1"}')).toBe(0)
    expect(metric('rxspeech_engine_channels{model="Default/m/1"}')).toBe(0)
    expect(metric('nodejs_eventloop_lag_p99_seconds')).toBeDefined()
    expect(body).not.toContain(service.token)
  })

  it('counts refusals by code and rejected clients by reason', async () => {
    const lines: string[] = []
    const logger = await openJsonLogger({ write: (line) => lines.push(line) }, 'info')
    const service = await started({ logger, limits: { sessionsPerToken: 1 } })
    expect((await converse(service, ({ request }) => request(startOf('a.b.c')))).status).toBe('UNAUTHENTICATED')
    expect((await converse(service, ({ request }) => request(startOf(service.token, { Tenant: 'No' })))).status).toBe(
      'PERMISSION_DENIED',
    )
    await expect(openSocket(service, { withoutHeader: true })).rejects.toThrow('401')
    await expect(openSocket(service, { token: 'x' })).rejects.toThrow('401')
    const socket = await openSocket(service)
    await expect(openSocket(service)).rejects.toThrow('429')
    for (const name of ['broken', 'unknown']) {
      socket.send(recognizeOf({ 'model-name': name }))
      expect(await socket.receive()).not.toMatchObject({ 'operation-result': 'Success' })
    }
    socket.close()
    const wrong = {
      client_id: 'client',
      client_secret: 'wrong',
      grant_type: 'client_credentials',
      scope: 'Ldm_Integration',
    }
    const answer = await fetch(`${service.started.authUrl}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams(wrong),
    })
    expect(answer.status).toBe(401)
    const { body } = await get(service, '/metrics')
    const metric = (line: string): number | undefined => valueOf(body, line)
    expect(metric('rxspeech_refusals_total{interface="grpc",code="unauthenticated"}')).toBe(1)
    expect(metric('rxspeech_refusals_total{interface="grpc",code="tenant-denied"}')).toBe(1)
    expect(metric('rxspeech_refusals_total{interface="websocket",code="unauthenticated"}')).toBe(2)
    const ofTenants = body.split('\n').filter((line) => line.startsWith('rxspeech_tenant_refusals_total{'))
    expect(ofTenants).toEqual([
      'rxspeech_tenant_refusals_total{tenant="Default",model="",code="overloaded"} 1',
      'rxspeech_tenant_refusals_total{tenant="Default",model="broken",code="engine-failed"} 1',
    ])
    expect(lines.map((line) => JSON.parse(line) as unknown)).toContainEqual(
      expect.objectContaining({
        msg: 'A tenant is refused a session',
        tenant: 'Default',
        code: 'overloaded',
        reason: 'The token has 1 sessions, its limit; end one or try again later.',
      }),
    )
    expect(metric('rxspeech_auth_failures_total{at="grpc",reason="invalid-token"}')).toBe(1)
    expect(metric('rxspeech_auth_failures_total{at="websocket",reason="missing-token"}')).toBe(1)
    expect(metric('rxspeech_auth_failures_total{at="websocket",reason="invalid-token"}')).toBe(1)
    expect(metric('rxspeech_auth_failures_total{at="token-endpoint",reason="invalid-client"}')).toBe(1)
    expect(metric('rxspeech_sessions_ended_total{interface="grpc",outcome="refused"}')).toBe(2)
  })
})

describe('/metrics of projects', () => {
  const lossy = `version: 1
nodes:
  in: entry
  reco: recognizer
  slow: reporter
  gone: { node: exits, onFault: bypass }
  out: publisher
wires:
  - in -> reco
  - { from: reco, to: slow, capacity: 2 items, whenFull: dropNewest }
  - reco -> gone
  - slow -> out
  - gone -> out
`

  it('counts the drops of full wires and failed nodes, by type of node and fixed labels', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'rxspeech-metrics-'))
    await mkdir(join(folder, 'Default', 'a-name-of-the-tenant'), { recursive: true })
    await writeFile(join(folder, 'Default', 'a-name-of-the-tenant', '1.yaml'), lossy)
    const from = join(__dirname, '../custom-nodes/fixtures')
    const service = await started({ projectFolders: [folder], customNodes: [{ from, file: 'bad-nodes.mjs' }] })
    const request = startOf(service.token, { ProjectName: 'a-name-of-the-tenant' })
    expect(service.started.projects.problems().map(({ message }) => message)).toEqual([])
    const { events, status } = await oneCall(service, await spoken(3_000), request)
    expect(status).toBe('OK')
    expect(events.map(({ Name }) => Name)).toContain('Wire Dropped')
    const { body } = await get(service, '/metrics')
    expect(valueOf(body, 'rxspeech_dropped_events_total{node="reporter",policy="dropNewest"}')).toBeGreaterThan(0)
    expect(valueOf(body, 'rxspeech_node_faults_total{node="exits",cause="threw",action="bypassed"}')).toBe(1)
    expect(body).not.toMatch(/(?<!outcome)="(gone|slow|reco|a-name-of-the-tenant)/)
    await rm(folder, { recursive: true })
  })
})

describe('the log', () => {
  it('has a line at the start and one at the end of a session, without transcripts, tokens or secrets', async () => {
    const lines: string[] = []
    const logger = await openJsonLogger({ write: (line) => lines.push(line) }, 'debug')
    const service = await started({ logger })
    expect(JSON.stringify((await oneCall(service, await spoken(3_000))).events)).toContain('hello world')
    await converse(service, ({ request }) => request(startOf(`${service.token}x`)))
    const log = lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
    const facts = { interface: 'grpc', tenant: 'Default', project: 'transcribe', model: 'm', clientId: 'client' }
    const begun = log.find(({ msg }) => msg === 'Session started')
    expect(begun).toMatchObject({ level: 'info', ...facts, peer: '127.0.0.1', sessionId: expect.any(String) })
    expect(log.find(({ msg }) => msg === 'Session ended')).toMatchObject({
      ...facts,
      sessionId: begun?.['sessionId'],
      outcome: 'completed',
      audioMs: 3_000,
      durationMs: expect.any(Number),
    })
    expect(log.find(({ msg }) => msg === 'Client rejected')).toMatchObject({ reason: 'invalid-token', at: 'grpc' })
    expect(log.find(({ msg }) => msg === 'Session refused')).toMatchObject({ code: 'unauthenticated' })
    const whole = lines.join('')
    for (const secret of ['hello', 'world', 'correct horse', service.token, ...service.token.split('.')]) {
      expect(whole).not.toContain(secret)
    }
  })
})

describe('the tenant of a session on the WebSocket', () => {
  it('is that of its client in the metrics and the log, whatever model it uses', async () => {
    const lines: string[] = []
    const logger = await openJsonLogger({ write: (line) => lines.push(line) }, 'info')
    const service = await plainService({ logger, operations }, [await subscriptionOf('acme', { tenants: ['Acme'] })])
    const token = await service.newToken('acme')
    for (const change of [{}, { 'model-name': 'n', 'model-tenant': 'Acme' }]) {
      const socket = await openSocket(service, { token })
      socket.send(recognizeOf(change))
      expect(await socket.receive()).toMatchObject({ 'operation-result': 'Success' })
      socket.close()
      await socket.receive()
    }
    const started = lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
    expect(started.filter(({ msg }) => msg === 'Session started')).toMatchObject([
      { tenant: 'Acme', model: 'm', modelVersion: '1', clientId: 'acme' },
      { tenant: 'Acme', model: 'n', modelVersion: '1', clientId: 'acme' },
    ])
    const body = await (await fetch(`${service.started.operationsUrl ?? ''}/metrics`)).text()
    expect(body).toContain(
      'rxspeech_sessions_started_total{interface="websocket",tenant="Acme",model="m",version="1"} 1',
    )
    await service.close()
  })
})

describe('server reflection', () => {
  const listed = (service: PlainService): Promise<readonly string[]> => {
    const { grpc } = packageOf('packages/server/test/operations/reflection.proto') as unknown as {
      grpc: { reflection: { v1: { ServerReflection: ReflectionClient } } }
    }
    const client = new grpc.reflection.v1.ServerReflection(service.service.access.grpc, credentials.createInsecure())
    const call = client.ServerReflectionInfo()
    return new Promise<readonly string[]>((resolve, reject) => {
      call.on('data', ({ list_services_response: list }) => resolve(list.service.map(({ name }) => name)))
      call.on('error', reject)
      call.write({ list_services: '' })
    }).finally(() => {
      call.end()
      client.close()
    })
  }

  it('names the services to a client without their definitions', async () => {
    const names = await listed(await started({ reflection: true }))
    expect(names).toEqual(expect.arrayContaining(['dataflow', 'grpc.health.v1.Health']))
  })

  it('is off by default', async () => {
    await expect(listed(await started())).rejects.toMatchObject({
      details: expect.stringMatching(/unimplemented|does not implement/i),
    })
  })
})

type Emitter<Message> = {
  on(name: 'data', metric: (message: Message) => void): unknown
  on(name: 'error', metric: (error: unknown) => void): unknown
}
type ReflectionClient = new (...args: ConstructorParameters<typeof Client>) => Client & {
  ServerReflectionInfo(): Emitter<{ list_services_response: { service: readonly { name: string }[] } }> & {
    write(request: object): void
    end(): void
  }
}
type Status = { readonly status: string }
type HealthStub = Client & {
  Check(request: object, done: (error: Error | null, answer?: Status) => void): void
  Watch(request: object): Emitter<Status> & { cancel(): void }
}

const packageOf = (path: string) =>
  loadPackageDefinition(loadSync(path, { keepCase: true, enums: String, defaults: true }))

const healthClient = ({ service }: PlainService) => {
  const { grpc } = packageOf(protoPath) as unknown as {
    grpc: { health: { v1: { Health: new (...args: ConstructorParameters<typeof Client>) => HealthStub } } }
  }
  const client = new grpc.health.v1.Health(service.access.grpc, credentials.createInsecure())
  return {
    client,
    Watch: (request: object) => client.Watch(request),
    checked: (service: string) =>
      new Promise<string>((resolve, reject) => {
        client.Check({ service }, (error, answer) => (error === null ? resolve(answer?.status ?? '') : reject(error)))
      }),
  }
}

describe('rxspeech_certificate_expiry_seconds', () => {
  const folder = temporaryFolder()

  it('is the time to the end of the certificate, and absent without one', async () => {
    const pair = await developmentCertificates(folder)
    const scraped = async (expiring?: ExpiringCertificate): Promise<string> => {
      const engines = new EngineMeter({ changed: () => undefined, suspected: () => undefined }, () => 0)
      const load = { load: 0, loopDelayMs: 0, partialIntervalMs: 0 }
      const metrics = await openSpeechMetrics({ engines, load, isReady: () => true, expiring })
      const { body } = await metrics.scrape()
      metrics.close()
      return body
    }
    const body = await scraped({ listener: 'service', certificate: pair })
    const expiry = valueOf(body, 'rxspeech_certificate_expiry_seconds{listener="service"}') ?? NaN
    const endMs = Date.parse(new X509Certificate(pair.certificate).validTo)
    expect(Math.abs(endMs - Date.now() - expiry * 1_000)).toBeLessThan(60_000)
    expect(await scraped()).not.toContain('rxspeech_certificate_expiry_seconds{')
  })
})
