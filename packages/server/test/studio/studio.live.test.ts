import { mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { request as sendRequest } from 'node:http'
import { join } from 'node:path'
import { firstValueFrom } from 'rxjs'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { requestToken } from '../../../../src/auth/request-token.js'
import { startDevelopmentService, type DevelopmentService } from '../../../service/src/start/development-service.js'
import { startService } from '../../../service/src/start/service.js'
import { memoryClients } from '../../src/identity/clients/client.js'
import { openSocket } from '../../../service/test/interop/plain-socket-client.js'
import { plainSecret, plainService, recognizeOf, subscriptionOf } from '../../../service/test/plain-service.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

/** As typed, without the changes that `fetch` makes to a path and to headers. */
const send = (
  base: string,
  path: string,
  { method = 'GET', headers = {} }: { readonly method?: string; readonly headers?: Record<string, string> } = {},
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base)
    const request = sendRequest({ hostname, port, path, method, headers, agent: false }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (text: string) => (body += text))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }))
    })
    request.on('error', reject).end()
  })

const anyPort = { host: '127.0.0.1', port: 0 }
const models = { modelFolders: ['packages/service/test/faults/models'] }

const folder = temporaryFolder()
const studio = () => ({
  folder: join(folder, 'studio'),
  sampleCall: 'samples/call.wav',
  sampleModel: 'packages/service/test/faults/models/Default/call/1',
})
beforeAll(async () => {
  await mkdir(join(folder, 'studio/assets'), { recursive: true })
  await writeFile(join(folder, 'secret.txt'), 'secret')
  const files = {
    'index.html': '<!doctype html><title>studio</title>',
    'favicon.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
    'assets/index-DeadBeef1.js': 'export {}',
    'assets/index-DeadBeef1.css': 'body{}',
    '.hidden': 'hidden',
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, 'studio', name), text)
  await symlink(join(folder, 'secret.txt'), join(folder, 'studio/link.txt'))
})

describe('the page of a development service', () => {
  let service: DevelopmentService
  let page: string
  beforeAll(async () => {
    service = await startDevelopmentService({
      ...models,
      stateFolder: join(folder, 'state'),
      plainHttp: anyPort,
      studio: studio(),
    })
    page = service.plainUrl ?? ''
  })
  afterAll(() => service.close({ drainMs: 100 }))

  it.each([
    ['/', 'text/html; charset=utf-8', 'no-cache'],
    ['/?theme=dark', 'text/html; charset=utf-8', 'no-cache'],
    ['/studio', 'text/html; charset=utf-8', 'no-cache'],
    ['/studio/', 'text/html; charset=utf-8', 'no-cache'],
    ['/favicon.svg', 'image/svg+xml', 'no-cache'],
    ['/assets/index-DeadBeef1.js', 'text/javascript; charset=utf-8', 'public, max-age=31536000, immutable'],
    ['/studio/assets/index-DeadBeef1.css', 'text/css; charset=utf-8', 'public, max-age=31536000, immutable'],
    ['/studio/call.wav', 'audio/wav', 'no-cache'],
  ])('has %s as %s', async (path, type, caching) => {
    const { status, headers, body } = await send(page, path)
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([200, type, caching])
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(headers['content-security-policy']).toBe(
      "default-src 'self'; connect-src 'self'; img-src 'self' data:; media-src 'self' blob:; object-src 'none'; base-uri 'none'; " +
        "form-action 'none'; frame-ancestors 'none'",
    )
    expect(body.length).toBeGreaterThan(0)
    const head = await send(page, path, { method: 'HEAD' })
    expect([head.status, head.headers['content-length'], head.body]).toEqual([200, headers['content-length'], ''])
    const known = await send(page, path, { headers: { 'if-none-match': String(headers['etag']) } })
    expect([known.status, known.body]).toEqual([304, ''])
    expect((await send(page, path, { headers: { 'if-none-match': '"another"' } })).status).toBe(200)
    expect((await send(page, path, { method: 'POST' })).status).toBe(405)
  })

  it.each([
    '/../secret.txt',
    '/studio/../../secret.txt',
    '/assets/..%2f..%2fsecret.txt',
    '/%2e%2e/secret.txt',
    '/assets/..\\..\\secret.txt',
    '//etc/passwd',
    '/link.txt',
    '/.hidden',
    '/assets',
    '/assets/',
    '/__proto__',
    '/%00',
  ])('has nothing at %s', async (path) => {
    const { status, body } = await send(page, path)
    expect(status).toBe(404)
    expect(body).not.toMatch(/secret|root:/)
  })

  it('gets the addresses, models and projects of the service', async () => {
    const { status, headers, body } = await send(page, '/studio/config.json')
    expect([status, headers['cache-control']]).toEqual([200, 'no-store'])
    expect(headers['access-control-allow-origin']).toBeUndefined()
    expect(JSON.parse(body)).toEqual({
      ws: page.replace(/^http/, 'ws'),
      token: '/studio/token',
      models: [
        {
          ...{ name: 'call', version: '1', sampleRateHz: 8000, isSample: true },
          ...{ reads: 'sentences of phrases.txt', takesPhrases: true },
        },
      ],
      projects: ['transcribe'],
      sampleCall: '/studio/call.wav',
      metrics: '/metrics',
      operations: '/operations.json',
    })
    const localhost = `localhost:${new URL(page).port}`
    const byName = await send(page, '/studio/config.json', { headers: { host: localhost } })
    expect(JSON.parse(byName.body)).toMatchObject({ ws: `ws://${localhost}` })
  })

  it('gets a token without a secret, which only it can use', async () => {
    const { status, body } = await send(page, '/studio/token', { method: 'POST', headers: { origin: page } })
    const { access_token: token, expires_in } = JSON.parse(body) as Record<string, string>
    expect([status, expires_in]).toEqual([200, 600])
    expect(decodeJwt(token ?? '')).toMatchObject({ client_id: 'development', token_use: 'page', origin: page })
    const reachable = { service: { access: { wsUrl: page.replace(/^http/, 'ws'), grpc: '' } }, token: token ?? '' }
    const socket = await openSocket(reachable, { origin: page })
    socket.send(recognizeOf({ 'model-name': 'call' }))
    expect(await socket.receive()).toMatchObject({ 'operation-result': 'Success' })
    socket.raw.terminate()
    await expect(openSocket(reachable, { origin: 'http://localhost:1' })).rejects.toThrow('HTTP 401')
    await expect(openSocket(reachable)).rejects.toThrow('HTTP 401')
  })

  it.each<readonly [what: string, path: string, headers: Readonly<Record<string, string>>]>([
    ['no origin for a token', '/studio/token', {}],
    ['another origin', '/studio/token', { origin: 'http://evil.example' }],
    ['the origin null', '/studio/token', { origin: 'null' }],
    ['another port of this machine', '/studio/token', { origin: 'http://127.0.0.1:1' }],
    [
      'a name that leads here (DNS rebinding)',
      '/studio/token',
      { host: 'evil.example', origin: 'http://evil.example' },
    ],
    ['the same for the configuration', '/studio/config.json', { host: 'evil.example' }],
    ['the same for the page', '/', { host: 'evil.example' }],
    ['the same for the metrics', '/metrics', { host: 'evil.example' }],
    ['the same for the last hour', '/operations.json', { host: 'evil.example' }],
    ['a request from another site', '/studio/config.json', { 'sec-fetch-site': 'cross-site' }],
    ['a request from another port', '/metrics', { 'sec-fetch-site': 'same-site' }],
    ['another origin for the configuration', '/studio/config.json', { origin: 'http://evil.example' }],
  ])('refuses %s', async (_what, path, headers) => {
    const { port } = new URL(page)
    const host = headers['host'] === undefined ? {} : { host: `${headers['host']}:${port}` }
    const origin = headers['host'] === undefined ? {} : { origin: `http://${headers['host']}:${port}` }
    const method = path === '/studio/token' ? 'POST' : 'GET'
    const { status, body } = await send(page, path, {
      method,
      headers: { ...headers, ...host, ...(method === 'POST' && origin) },
    })
    expect(status).toBe(403)
    expect(body).not.toMatch(/eyJ|call|process_/)
  })

  it('opens from a link on another site', async () => {
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
    expect((await send(page, '/', { headers })).status).toBe(200)
  })

  it('has the metrics, which no other address of the service has', async () => {
    expect((await send(page, '/metrics')).body).toContain('rxspeech_sessions')
    const report = await send(page, '/operations.json')
    expect([report.headers['cache-control'], JSON.parse(report.body)]).toMatchObject(['no-store', { everyMs: 10_000 }])
    expect((await send(page, '/readyz')).status).toBe(404)
  })

  it('leaves the token endpoint and the socket as they are, also without TLS', async () => {
    const { clientId, clientSecret } = service.access
    const { accessToken } = await firstValueFrom(requestToken({ authUrl: page, clientId, clientSecret }))
    const reachable = { service: { access: { wsUrl: page.replace(/^http/, 'ws'), grpc: '' } }, token: accessToken }
    for (const path of ['/', '/recognizer']) (await openSocket(reachable, { path })).raw.terminate()
  })
})

describe('a page that is not built', () => {
  it('is a 404 that says what is missing', async () => {
    const stateFolder = join(folder, 'unbuilt-state')
    const service = await startDevelopmentService({
      ...models,
      ...{ stateFolder, plainHttp: anyPort, studio: { folder: join(folder, 'missing') } },
    })
    const page = service.plainUrl ?? ''
    for (const path of ['/', '/studio']) {
      const { status, headers, body } = await send(page, path)
      expect([status, headers['content-type']]).toEqual([404, 'text/plain; charset=utf-8'])
      expect(body).toContain('packages/studio/dist/index.html is missing')
    }
    expect((await send(page, '/studio/call.wav')).status).toBe(404)
    expect(JSON.parse((await send(page, '/studio/config.json')).body)).toMatchObject({ sampleCall: null })
    await service.close({ drainMs: 100 })
  })
})

describe('the page of a service for others', () => {
  it('is off by default', async () => {
    const service = await plainService()
    for (const path of ['/recognizer', '/recognizer?ModelName=call']) {
      const { status, headers, body } = await send(service.started.authUrl, path)
      expect([status, headers['upgrade']]).toEqual([426, 'websocket'])
      expect(body).toMatch(/^refused: .*a proxy in between must pass on Upgrade/)
    }
    for (const path of ['/', '/studio', '/studio/config.json', '/studio/token', '/metrics', '/operations.json']) {
      expect(await send(service.started.authUrl, path)).toMatchObject({ status: 404, body: 'Not found.\n' })
    }
    await service.close()
  })

  it('shows what a token grants, and issues none', async () => {
    const service = await startService({
      modelFolders: ['packages/service/test/faults/models'],
      clients: memoryClients([await subscriptionOf('client'), await subscriptionOf('other', { models: ['none'] })]),
      studio: studio(),
    })
    const url = service.authUrl
    const config = async (token?: string) => {
      const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
      const { status, body } = await send(url, '/studio/config.json', { headers })
      return { status, body: JSON.parse(body) as unknown }
    }
    const nothing = {
      token: null,
      models: [],
      projects: [],
      metrics: null,
      operations: null,
      ws: url.replace(/^http/, 'ws'),
    }
    expect(await config()).toMatchObject({ status: 200, body: nothing })
    expect(await config('x.y.z')).toMatchObject({ status: 401, body: { error: 'invalid_token' } })
    const tokenOf = (clientId: string) =>
      firstValueFrom(requestToken({ authUrl: url, clientId, clientSecret: plainSecret }))
    const granted = await config((await tokenOf('client')).accessToken)
    expect(granted).toMatchObject({
      status: 200,
      body: {
        token: null,
        models: [{ name: 'call' }],
        projects: ['transcribe'],
        metrics: null,
        operations: null,
        sampleCall: '/studio/call.wav',
      },
    })
    const other = await config((await tokenOf('other')).accessToken)
    // Without its model the call is not offered.
    expect(other).toMatchObject({ body: { models: [], projects: ['transcribe'], sampleCall: null } })
    for (const path of ['/studio/token', '/metrics', '/operations.json']) {
      expect((await send(url, path, { method: 'POST', headers: { origin: url } })).status).toBe(404)
    }
    const forwarded = await send(url, '/studio/config.json', { headers: { 'x-forwarded-proto': 'https' } })
    expect(JSON.parse(forwarded.body)).toMatchObject({ ws: url.replace(/^http/, 'wss') })
    await service.close({ drainMs: 100 })
  })
})

describe('startDevelopmentService', () => {
  it('keeps the secret of its client in a file that only its owner can read', async () => {
    const stateFolder = join(folder, 'kept')
    const restarted = async () => {
      const service = await startDevelopmentService({ ...models, stateFolder })
      const { access } = service
      const file = await readFile(access.credentials, 'utf8')
      expect(JSON.parse(file)).toEqual(access)
      expect((await stat(access.credentials)).mode & 0o777).toBe(0o600)
      await service.close({ drainMs: 100 })
      return access
    }
    const first = await restarted()
    expect((await restarted()).clientSecret).toBe(first.clientSecret)
    await writeFile(first.credentials, 'damaged')
    expect((await restarted()).clientSecret).not.toBe(first.clientSecret)
  })

  it('refuses plain text for other machines', async () => {
    const options = { ...models, stateFolder: join(folder, 'plain'), plainHttp: { host: '0.0.0.0', port: 0 } }
    await expect(startDevelopmentService(options)).rejects.toMatchObject({ code: 'invalid-options' })
    await expect(startDevelopmentService({ ...options, workers: 2 })).rejects.toMatchObject({ code: 'invalid-options' })
  })
})
