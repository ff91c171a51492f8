import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeJwt } from 'jose'
import { issuer, open, storeOf, subscriber, tokenForm, tokenFrom } from '../service-under-test.js'

const secret = 'correct horse battery staple'
const basic = (clientId: string, password = secret) => ({
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(password)}`).toString('base64')}`,
})
const routes = ['introspect', 'revocation'] as const

describe('introspection and revocation', () => {
  let service: Awaited<ReturnType<typeof open>>
  beforeAll(async () => {
    const { client } = await subscriber()
    const clients = storeOf(
      client,
      { ...client, clientId: 'client-2' },
      { ...client, clientId: 'gateway', mayIntrospect: true },
      { ...client, clientId: 'cancelled', cancelled: true },
    )
    service = await open({ clients, development: true })
  })
  afterAll(() => service.close())

  const ask = async (
    route: (typeof routes)[number],
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
  ) => {
    const answer = await fetch(`${service.url}/connect/${route}`, {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers,
    })
    expect(answer.headers.get('cache-control')).toBe('no-store')
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> }
  }

  it("describe a client's own token to it, every token to a gateway, and nothing to another client", async () => {
    const token = await tokenFrom(service)
    const claims = decodeJwt(token)
    const own = await ask('introspect', { token, client_id: 'client-1', client_secret: secret, token_type_hint: 'x' })
    expect([own.status, own.body]).toEqual([
      200,
      {
        active: true,
        token_type: 'Bearer',
        client_id: 'client-1',
        sub: 'client-1',
        scope: 'Ldm_Integration',
        iss: issuer,
        aud: 'urn:rxspeech:service',
        iat: claims.iat,
        exp: claims.exp,
        jti: claims.jti,
        tenants: ['Acme'],
        projects: ['*'],
        models: ['English', 'Deutsch'],
      },
    ])
    expect((await ask('introspect', { token }, basic('gateway'))).body).toEqual(own.body)
    expect((await ask('introspect', { token }, basic('client-2'))).body).toEqual({ active: false })
    for (const none of ['x', `${token}x`, 'a.b.c']) {
      expect((await ask('introspect', { token: none }, basic('gateway'))).body).toEqual({ active: false })
    }
  })

  it('revoke a token of the requesting client, repeatedly, and no other', async () => {
    const [token, other] = [await tokenFrom(service), await tokenFrom(service)]
    const stolen = await ask('revocation', { token }, basic('client-2'))
    expect([stolen.status, stolen.body['error']]).toEqual([400, 'unauthorized_client'])
    expect(await service.identity.verify(token)).toMatchObject({ clientId: 'client-1' })
    const before = service.identity.version()
    for (const item of [token, token, 'no token at all']) {
      expect(await ask('revocation', { token: item }, basic('client-1'))).toMatchObject({ status: 200, body: {} })
    }
    expect(service.identity.version()).not.toBe(before)
    await expect(service.identity.verify(token)).rejects.toMatchObject({ code: 'unauthenticated' })
    expect((await ask('introspect', { token }, basic('client-1'))).body).toEqual({ active: false })
    expect(await service.identity.verify(other)).toMatchObject({ clientId: 'client-1' })
  })

  describe.each(routes)('%s', (route) => {
    it.each<[string, number, string, Readonly<Record<string, string>>, Readonly<Record<string, string>>]>([
      ['no client', 401, 'invalid_client', { token: 'x' }, {}],
      ['a wrong secret', 401, 'invalid_client', { token: 'x' }, basic('client-1', 'wrong')],
      ['a secret with a NUL', 401, 'invalid_client', { token: 'x' }, basic('client-1', `${secret}\0`)],
      ['an unknown client', 401, 'invalid_client', { token: 'x', client_id: 'nobody', client_secret: secret }, {}],
      ['a cancelled one', 400, 'unauthorized_client', { token: 'x' }, basic('cancelled')],
      ['no token', 400, 'invalid_request', {}, basic('client-1')],
      [
        'two authentication methods together',
        400,
        'invalid_request',
        { token: 'x', client_secret: secret },
        basic('client-1'),
      ],
      ['two clients', 400, 'invalid_request', { token: 'x', client_id: 'client-2' }, basic('client-1')],
      ['a broken escape', 400, 'invalid_request', { token: 'x' }, { authorization: `Basic ${btoa('a%zz:b')}` }],
      ['another scheme', 400, 'invalid_request', { token: 'x' }, { authorization: 'Bearer x' }],
    ])('refuse %s with %i %s', async (_what, status, error, fields, headers) => {
      const refused = await ask(route, fields, headers)
      expect([refused.status, refused.body['error']]).toEqual([status, error])
      expect(refused.headers.has('www-authenticate')).toBe(status === 401)
    })

    it('refuse a repeated field, another method and another content type', async () => {
      const url = `${service.url}/connect/${route}`
      const twice = await fetch(url, {
        method: 'POST',
        body: new URLSearchParams('token=a&token=a'),
        headers: basic('client-1'),
      })
      const get = await fetch(url)
      const json = await fetch(url, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } })
      expect([twice.status, get.status, json.status]).toEqual([400, 405, 415])
    })
  })

  it('count wrong secrets together with those of the token endpoint', async () => {
    const { client } = await subscriber()
    const limited = await open({ clients: storeOf(client), bruteForce: { failuresPerMinute: 2 } })
    for (const route of routes) {
      const body = new URLSearchParams({ token: 'x' })
      const guess = { method: 'POST', body, headers: basic('client-1', 'wrong') }
      expect((await fetch(`${limited.url}/connect/${route}`, guess)).status).toBe(401)
    }
    expect((await limited.post(tokenForm())).status).toBe(429)
    await limited.close()
  })

  it('are named in the metadata', async () => {
    const answer = await fetch(`${service.url}/.well-known/oauth-authorization-server`)
    expect(await answer.json()).toMatchObject({
      introspection_endpoint: `${issuer}/connect/introspect`,
      revocation_endpoint: `${issuer}/connect/revocation`,
    })
  })
})
