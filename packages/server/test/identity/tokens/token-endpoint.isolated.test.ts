import { connect, type Socket } from 'node:net'
import { VirtualTimeScheduler } from 'rxjs'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import type { ClientStore } from '../../../src/identity/clients/client.js'
import { issuer, open, storeOf, subscriber, tokenForm, tokenPath } from '../service-under-test.js'

type Service = Awaited<ReturnType<typeof open>>

const basic = (clientId: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(secret)}`).toString('base64')}`,
})

const withoutClient = { client_id: undefined, client_secret: undefined }

/** Sends a request without the end of its body, and waits until the service waits for it. */
const sendPart = async (port: number, scheduler: VirtualTimeScheduler): Promise<Socket> => {
  const socket = connect(port, '127.0.0.1')
  socket.write(`POST ${tokenPath} HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n`)
  socket.write('Content-Length: 100\r\n\r\nscope=')
  await vi.waitUntil(() => scheduler.actions.length > 0, { interval: 1, timeout: 60_000 })
  return socket
}

describe('token endpoint', () => {
  let service: Service
  beforeAll(async () => {
    const { client } = await subscriber()
    const clients = storeOf(
      client,
      { ...client, clientId: 'cancelled', cancelled: true },
      { ...client, clientId: 'over', validUntilMs: 1 },
      { ...client, clientId: 'early', validFromMs: Number.MAX_SAFE_INTEGER },
    )
    service = await open({ clients, development: true })
  })
  afterAll(() => service.close())

  it('answers with the four fields of the description and nothing else', async () => {
    const answer = await service.post(tokenForm())
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('pragma')).toBe('no-cache')
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
    expect(await answer.json()).toStrictEqual({
      access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/) as string,
      expires_in: 31_536_000,
      token_type: 'Bearer',
      scope: 'Ldm_Integration',
    })
  })

  it('issues a token of RFC 9068 with a key id and the grants', async () => {
    const { access_token: token } = (await (await service.post(tokenForm())).json()) as { access_token: string }
    const claims = decodeJwt(token)
    expect(decodeProtectedHeader(token)).toStrictEqual({
      alg: 'ES256',
      typ: 'at+jwt',
      kid: expect.any(String) as string,
    })
    expect(claims).toMatchObject({
      iss: issuer,
      aud: 'urn:rxspeech:service',
      sub: 'client-1',
      client_id: 'client-1',
      scope: 'Ldm_Integration',
      tenants: ['Acme'],
      projects: ['*'],
      models: ['English', 'Deutsch'],
    })
    expect(Number(claims.exp) - Number(claims.iat)).toBe(31_536_000)
    expect(claims.jti).toMatch(/^[\w-]{20,}$/)
  })

  it('accepts HTTP Basic instead of the form fields', async () => {
    const answer = await service.post(tokenForm(withoutClient), basic('client-1', 'correct horse battery staple'))
    expect(answer.status).toBe(200)
  })

  it.each([
    ['a wrong secret', { client_secret: 'wrong' }],
    ['an unknown client', { client_id: 'nobody' }],
    ['a malformed client id', { client_id: 'a b\u00e9' }],
    ['no secret for a known client', { client_secret: undefined }],
    ['no secret for an unknown client', { client_id: 'nobody', client_secret: undefined }],
    ['a wrong secret of a cancelled subscription', { client_id: 'cancelled', client_secret: 'wrong' }],
  ])('answers invalid_client with the same text for %s', async (_, changes) => {
    const answer = await service.post(tokenForm(changes))
    expect(answer.status).toBe(401)
    expect(answer.headers.get('www-authenticate')).toMatch(/^Basic realm="http:\/\/localhost"/)
    expect(await answer.json()).toStrictEqual({
      error: 'invalid_client',
      error_description: 'client authentication failed',
    })
  })

  it('answers invalid_client with a challenge when HTTP Basic has a wrong secret', async () => {
    const answer = await service.post(tokenForm(withoutClient), { ...basic('client-1', 'wrong'), accept: 'text/html' })
    expect(answer.status).toBe(401)
    expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /)
    expect(await answer.json()).toMatchObject({ error: 'invalid_client' })
  })

  it('takes empty fields of a client beside HTTP Basic as omitted', async () => {
    const answer = await service.post(
      tokenForm({ client_id: '', client_secret: '' }),
      basic('client-1', 'correct horse battery staple'),
    )
    expect(answer.status).toBe(200)
  })

  it.each([
    ['an unknown scope', 'invalid_scope', { scope: 'openid' }],
    ['an unknown scope in addition to the right one', 'invalid_scope', { scope: 'Ldm_Integration admin' }],
    ['the scope in another letter case', 'invalid_scope', { scope: 'ldm_integration' }],
    ['a scope of one space', 'invalid_scope', { scope: ' ' }],
    ['a missing scope of an expired subscription', 'unauthorized_client', { client_id: 'over', scope: undefined }],
    ['another grant type', 'unsupported_grant_type', { grant_type: 'password' }],
    ['a missing grant type', 'invalid_request', { grant_type: undefined }],
    ['no client at all', 'invalid_request', withoutClient],
    ['another resource', 'invalid_target', { resource: 'https://elsewhere.example' }],
    ['a cancelled subscription', 'unauthorized_client', { client_id: 'cancelled' }],
    ['an expired subscription', 'unauthorized_client', { client_id: 'over' }],
    ['a subscription whose begin is in the future', 'unauthorized_client', { client_id: 'early' }],
  ])('refuses %s with %s', async (_, error, changes) => {
    const answer = await service.post(tokenForm(changes))
    expect(answer.status).toBe(400)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(await answer.json()).toStrictEqual({ error, error_description: expect.any(String) as string })
  })

  it.each([
    ['no scope', { scope: undefined }],
    ['an empty scope', { scope: '' }],
    ['a misspelled field of the scope', { scope: undefined, scopes: 'Ldm_Integration' }],
  ])('grants the only scope to a request with %s, and states it', async (_, changes) => {
    const answer = await service.post(tokenForm(changes))
    const body = (await answer.json()) as { readonly access_token: string }
    expect(answer.status).toBe(200)
    expect(body).toMatchObject({ expires_in: 31_536_000, token_type: 'Bearer', scope: 'Ldm_Integration' })
    expect(decodeJwt(body.access_token)['scope']).toBe('Ldm_Integration')
    expect(await service.identity.verify(body.access_token)).toMatchObject({ clientId: 'client-1' })
  })

  it.each(['client_id', 'client_secret', 'grant_type', 'scope'])('refuses %s when it is repeated', async (name) => {
    const form = tokenForm()
    form.append(name, form.get(name) ?? '')
    const answer = await service.post(form)
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ error: 'invalid_request' })
  })

  it('refuses credentials that are both in the header and in the form', async () => {
    const answer = await service.post(tokenForm(), basic('client-1', 'correct horse battery staple'))
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ error: 'invalid_request' })
  })

  it('ignores the query', async () => {
    const answer = await fetch(`${service.url}${tokenPath}?${tokenForm()}`, {
      method: 'POST',
      body: tokenForm(withoutClient),
    })
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ error: 'invalid_request' })
  })

  it.each(['GET', 'PUT', 'DELETE', 'OPTIONS', 'HEAD'])('answers 405 with Allow to %s', async (method) => {
    const answer = await fetch(service.url + tokenPath, { method })
    expect(answer.status).toBe(405)
    expect(answer.headers.get('allow')).toBe('POST')
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  it.each(['application/json', 'text/plain', 'multipart/form-data; boundary=x', 'application/x-www-form-urlencodedx'])(
    'answers 415 to the content type %s',
    async (contentType) => {
      const answer = await service.post(tokenForm().toString(), { 'content-type': contentType })
      expect(answer.status).toBe(415)
      expect(await answer.json()).toMatchObject({ error: 'invalid_request' })
    },
  )

  it('answers 415 to a compressed form', async () => {
    const answer = await service.post(tokenForm(), { 'content-encoding': 'gzip' })
    expect(answer.status).toBe(415)
  })

  it('accepts a form with a charset', async () => {
    const answer = await service.post(tokenForm(), {
      'content-type': 'Application/X-WWW-Form-Urlencoded; charset=UTF-8',
    })
    expect(answer.status).toBe(200)
  })

  it('accepts a body of 16 KiB and answers 413 to one byte more', async () => {
    const form = `${tokenForm().toString()}&padding=`
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const whole = await service.post(form.padEnd(16_384, 'x'), headers)
    const tooBig = await service.post(form.padEnd(16_385, 'x'), headers)
    expect([whole.status, tooBig.status]).toStrictEqual([200, 413])
    expect(await tooBig.json()).toMatchObject({ error: 'invalid_request' })
  })

  it('stops reading a body that never ends, and closes', async () => {
    const socket = connect(service.port, '127.0.0.1')
    let responseText = ''
    socket.setEncoding('utf8').on('data', (text: string) => (responseText += text))
    const closed = new Promise((resolve) => socket.on('close', resolve).on('error', resolve))
    socket.write(`POST ${tokenPath} HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n`)
    socket.write('Transfer-Encoding: chunked\r\n\r\n')
    const block = `4000\r\n${'x'.repeat(16_384)}\r\n`
    for (let sent = 0; sent < 80; sent += 1) socket.write(block)
    await closed
    socket.destroy()
    expect(responseText).toMatch(/^HTTP\/1\.1 413 /)
    expect(responseText).toMatch(/connection: close/i)
  })

  it('leaves every other path to other handlers', async () => {
    const paths = ['/', '/token', '/connect/token/', '/auth', '/me', '/session/end', '//connect/token', '/reg']
    const answers = await Promise.all(paths.map((path) => fetch(service.url + path)))
    expect(answers.map(({ status }) => status)).toStrictEqual(paths.map(() => 404))
  })

  it('publishes only the public keys', async () => {
    const answer = await fetch(`${service.url}/jwks`)
    const { keys } = (await answer.json()) as { keys: Record<string, string>[] }
    expect(answer.status).toBe(200)
    expect(keys.map((key) => Object.keys(key).sort())).toStrictEqual([['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']])
  })

  it.each(['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'])(
    'describes itself at %s',
    async (path) => {
      expect(await (await fetch(service.url + path)).json()).toMatchObject({
        issuer,
        token_endpoint: `${issuer}/connect/token`,
        jwks_uri: `${issuer}/jwks`,
        grant_types_supported: ['client_credentials'],
      })
    },
  )

  it('answers 405 to a POST at the path of the keys', async () => {
    const answer = await fetch(`${service.url}/jwks`, { method: 'POST' })
    expect([answer.status, answer.headers.get('allow')]).toStrictEqual([405, 'GET, HEAD'])
  })
})

describe('token endpoint, with a separate service', () => {
  let service: Service | undefined
  afterEach(async () => {
    await service?.close()
    service = undefined
    vi.restoreAllMocks()
  })

  it('reveals no internals when the store of subscriptions fails, and reports to onFault', async () => {
    const faults: unknown[] = []
    const fault = new Error('/var/lib/subscriptions is gone')
    const clients: ClientStore = {
      find: () => {
        throw fault
      },
    }
    service = await open({ clients, onFault: (error) => faults.push(error) })
    const answer = await service.post(tokenForm())
    const text = await answer.text()
    expect(answer.status).toBe(500)
    expect(JSON.parse(text)).toMatchObject({ error: 'server_error' })
    expect(text).not.toMatch(/subscriptions|stack|\.js|battery/)
    expect(faults).toStrictEqual([fault])
  })

  it('prints nothing, at start, in use and on faults', async () => {
    const written: unknown[] = []
    const record = (text: unknown): boolean => {
      written.push(text)
      return true
    }
    vi.spyOn(process.stdout, 'write').mockImplementation(record)
    vi.spyOn(process.stderr, 'write').mockImplementation(record)
    for (const method of ['log', 'info', 'warn', 'error'] as const) vi.spyOn(console, method).mockImplementation(record)
    vi.resetModules()
    const { open: openAgain } = await import('../service-under-test.js')
    service = await openAgain()
    await service.post(tokenForm(), { origin: 'https://elsewhere.example', accept: 'text/html' })
    await service.post(tokenForm({ client_secret: 'wrong' }))
    await service.close()
    const find = (): never => {
      throw new Error('The store failed.')
    }
    service = await openAgain({ clients: { find } })
    expect((await service.post(tokenForm())).status).toBe(500)
    expect(written).toStrictEqual([])
  })

  it('answers 408 to a body that does not arrive', async () => {
    const scheduler = new VirtualTimeScheduler()
    service = await open({ scheduler })
    const socket = await sendPart(service.port, scheduler)
    scheduler.flush()
    const responseText = await new Promise<string>((resolve) =>
      socket.once('data', (bytes) => resolve(bytes.toString())),
    )
    socket.destroy()
    expect(responseText).toMatch(/^HTTP\/1\.1 408 /)
    expect(scheduler.frame).toBe(10_000)
  })

  it('discards a request whose client has disconnected', async () => {
    const scheduler = new VirtualTimeScheduler()
    service = await open({ scheduler })
    const socket = await sendPart(service.port, scheduler)
    socket.destroy()
    await vi.waitUntil(() => scheduler.actions.every(({ closed }) => closed), { interval: 1, timeout: 60_000 })
    expect((await service.post(tokenForm())).status).toBe(200)
  })

  it('serves below the path of its issuer', async () => {
    service = await open({ issuer: 'https://speech.example/identity/' })
    const [above, below, keys] = await Promise.all([
      service.post(tokenForm()),
      fetch(`${service.url}/identity${tokenPath}`, { method: 'POST', body: tokenForm() }),
      fetch(`${service.url}/identity/jwks`),
    ])
    expect([above.status, below.status, keys.status]).toStrictEqual([404, 200, 200])
  })

  it('answers 503 once closed, and still verifies', async () => {
    service = await open()
    const { access_token: token } = (await (await service.post(tokenForm())).json()) as { access_token: string }
    await service.identity.close()
    const answer = await service.post(tokenForm())
    expect([answer.status, answer.headers.get('retry-after')]).toStrictEqual([503, expect.stringMatching(/^[567]$/)])
    expect(await service.identity.verify(token)).toMatchObject({ clientId: 'client-1' })
  })

  it.each([
    ['issuer', { issuer: 'speech.example' }],
    ['issuer', { issuer: 'https://speech.example/?tenant=1' }],
    ['issuer', { issuer: 'ftp://speech.example' }],
    ['audience', { audience: 'speech' }],
    ['bruteForce.failuresPerMinute', { bruteForce: { failuresPerMinute: 0 } }],
    ['rotateKeysAfterMs', { rotateKeysAfterMs: 1000 }],
  ])('does not open with an invalid %s', async (name, options) => {
    await expect(open(options)).rejects.toMatchObject({
      code: 'invalid-options',
      message: expect.stringContaining(name) as string,
    })
  })
})
