import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Identity } from '../../../src/identity/identity.js'
import { memoryClients, type ClientRegistration } from '../../../src/identity/clients/client.js'
import { parseOrigin } from '../../../src/identity/tokens/page-tokens.js'
import { open, storeOf, subscriber, tokenForm, tokenFrom } from '../service-under-test.js'

type Fields = readonly (readonly [name: string, value: string])[]

interface Answer {
  readonly access_token: string
  readonly expires_in: number
  readonly token_type: string
  readonly scope: string
  readonly error: string
  readonly error_description: string
}

const request = async (url: string, token: string | undefined, fields: Fields = []) => {
  const response = await fetch(`${url}/connect/page-token`, {
    method: 'POST',
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    body: new URLSearchParams(fields.map(([name, value]) => [name, value])),
  })
  return { status: response.status, headers: response.headers, body: (await response.json()) as Answer }
}

describe('POST /connect/page-token', () => {
  let service: Awaited<ReturnType<typeof open>>
  let token = ''
  const refusals: string[] = []
  beforeAll(async () => {
    const { client } = await subscriber({ tenants: ['Acme', 'Beta'], projects: ['calls', 'notes'] })
    service = await open({
      clients: storeOf(client),
      bruteForce: { failuresPerMinute: 1_000 },
      onRefusal: (error) => refusals.push(error),
    })
    token = await tokenFrom(service)
  })
  afterAll(() => service.close())

  it('issues a token with exactly the requested rights, for ten minutes', async () => {
    const { status, headers, body } = await request(service.url, token, [
      ['tenant', 'Acme'],
      ['project', 'calls'],
      ['model', 'English'],
      ['model', 'Deutsch'],
      ['origin', 'https://www.example.com'],
    ])
    expect(status).toBe(200)
    expect(body).toMatchObject({ expires_in: 600, token_type: 'Bearer', scope: 'Ldm_Integration' })
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.has('access-control-allow-origin')).toBe(false)
    const claims = decodeJwt(body.access_token)
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(600)
    expect(await service.identity.verify(body.access_token)).toEqual({
      clientId: 'client-1',
      tokenId: claims.jti,
      tenants: ['Acme'],
      projects: ['calls'],
      models: ['English', 'Deutsch'],
      expiresAtMs: (claims.exp ?? 0) * 1000,
      isForPage: true,
      origin: 'https://www.example.com',
      parentId: decodeJwt(token).jti,
    })
  })

  it('narrows nothing that the request does not name', async () => {
    const { body } = await request(service.url, token)
    const grant = await service.identity.verify(body.access_token)
    expect(grant).toMatchObject({
      tenants: ['Acme', 'Beta'],
      projects: ['calls', 'notes'],
      models: ['English', 'Deutsch'],
    })
    expect(grant.origin).toBeUndefined()
  })

  it.each([60, 3_600])('can be valid for %i seconds', async (seconds) => {
    const { body } = await request(service.url, token, [['lifetime', String(seconds)]])
    expect(body.expires_in).toBe(seconds)
  })

  it.each<readonly [what: string, Fields, status: number, error: string, words: string]>([
    ['another tenant', [['tenant', 'Gamma']], 400, 'invalid_scope', 'tenant'],
    ['every tenant', [['tenant', '*']], 400, 'invalid_scope', 'tenant'],
    [
      'another project',
      [
        ['project', 'calls'],
        ['project', 'other'],
      ],
      400,
      'invalid_scope',
      'project',
    ],
    ['every project', [['project', '*']], 400, 'invalid_scope', 'project'],
    ['another model', [['model', 'Français']], 400, 'invalid_scope', 'model'],
    ['every model', [['model', '*']], 400, 'invalid_scope', 'model'],
    ['a life of 59 s', [['lifetime', '59']], 400, 'invalid_request', 'from 60 to 3600'],
    ['a life of more than an hour', [['lifetime', '3601']], 400, 'invalid_request', 'from 60 to 3600'],
    ['a life that is no number', [['lifetime', '1e3']], 400, 'invalid_request', 'whole number'],
    ['an origin with a path', [['origin', 'https://a.example/x']], 400, 'invalid_request', 'scheme://host'],
    ['the origin null', [['origin', 'null']], 400, 'invalid_request', 'scheme://host'],
    ['an origin with a wildcard', [['origin', 'https://*.example']], 400, 'invalid_request', 'scheme://host'],
    [
      'two origins',
      [
        ['origin', 'https://a.example'],
        ['origin', 'https://b.example'],
      ],
      400,
      'invalid_request',
      'repeated',
    ],
    [
      'two tenants',
      [
        ['tenant', 'Acme'],
        ['tenant', 'Beta'],
      ],
      400,
      'invalid_request',
      'repeated',
    ],
    ['an empty field', [['model', '']], 400, 'invalid_request', 'empty'],
    ['an unknown field', [['models', 'English']], 400, 'invalid_request', 'there is no other'],
  ])('refuses %s', async (_what, fields, status, error, words) => {
    const answer = await request(service.url, token, fields)
    expect([answer.status, answer.body.error]).toEqual([status, error])
    expect(answer.body.error_description).toContain(words)
    expect(answer.body.access_token).toBeUndefined()
    if (error === 'invalid_scope') expect(refusals.at(-1)).toBe('invalid_scope')
  })

  it('refuses a request without a token, and with one that is not valid, with a challenge', async () => {
    for (const presented of [undefined, 'x', `${token.slice(0, -4)}AAAA`, 'a.b.c']) {
      const { status, headers, body } = await request(service.url, presented)
      expect([status, body.error]).toEqual([401, 'invalid_token'])
      expect(headers.get('www-authenticate')).toMatch(/^Bearer realm="/)
      expect(JSON.stringify(body)).not.toContain(presented === 'x' ? 'eyJ' : (presented ?? 'eyJ'))
    }
  })

  it('refuses the secret of the client in place of its token', async () => {
    const answer = await fetch(`${service.url}/connect/page-token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa('client-1:correct horse battery staple')}` },
      body: new URLSearchParams(),
    })
    expect(answer.status).toBe(401)
  })

  it('refuses to issue a token for the token of a page', async () => {
    const { body } = await request(service.url, token)
    const again = await request(service.url, body.access_token)
    expect([again.status, again.body.error]).toEqual([403, 'insufficient_scope'])
    expect(again.body.error_description).toContain('cannot be exchanged')
  })

  it('is not for pages: no CORS, no other method, no other content type', async () => {
    const url = `${service.url}/connect/page-token`
    const preflight = await fetch(url, {
      method: 'OPTIONS',
      headers: { origin: 'https://www.example.com', 'access-control-request-method': 'POST' },
    })
    const json = await fetch(url, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } })
    expect([preflight.status, (await fetch(url)).status, json.status]).toEqual([405, 405, 415])
    expect(preflight.headers.has('access-control-allow-origin')).toBe(false)
  })

  it('is named in the metadata', async () => {
    const answer = await fetch(`${service.url}/.well-known/oauth-authorization-server`)
    expect(await answer.json()).toMatchObject({ page_token_endpoint: 'http://localhost/connect/page-token' })
  })

  it('is introspected with its origin', async () => {
    const { body } = await request(service.url, token, [['origin', 'https://www.example.com']])
    const introspected = await fetch(`${service.url}/connect/introspect`, {
      method: 'POST',
      body: new URLSearchParams({
        token: body.access_token,
        client_id: 'client-1',
        client_secret: 'correct horse battery staple',
      }),
    })
    expect(await introspected.json()).toMatchObject({ active: true, origin: 'https://www.example.com' })
  })

  it('limits wrong tokens also from an address where a client has succeeded, and never a right one', async () => {
    const limited = await open({ bruteForce: { failuresPerMinute: 1 } })
    const right = await tokenFrom(limited)
    for (let count = 0; count < 5; count += 1) expect((await request(limited.url, 'x')).status).toBe(401)
    expect((await request(limited.url, 'x')).status).toBe(429)
    expect((await request(limited.url, right)).status).toBe(200)
    expect((await limited.post(tokenForm())).status).toBe(200)
    await limited.close()
  })

  it('counts wrong tokens by address together with wrong secrets', async () => {
    const limited = await open({ bruteForce: { failuresPerMinute: 1 } })
    for (let count = 0; count < 5; count += 1) expect((await request(limited.url, 'x')).status).toBe(401)
    const { status, headers } = await request(limited.url, 'x')
    expect(status).toBe(429)
    expect(headers.has('retry-after')).toBe(true)
    expect((await limited.post(tokenForm())).status).toBe(429)
    await limited.close()
  })
})

describe('a token for a page', () => {
  const openWith = async (changes: Partial<ClientRegistration>) => {
    const { client } = await subscriber(changes)
    let current = client
    const clients = { find: (id: string) => (id === 'client-1' ? current : undefined) }
    const service = await open({ clients })
    return { service, change: (next: Partial<ClientRegistration>) => (current = { ...current, ...next }) }
  }
  const ends = (identity: Identity, token: string) =>
    expect(identity.verify(token)).rejects.toMatchObject({ code: 'unauthenticated' })

  it('ends with the token that it was issued for, and alone', async () => {
    const { service } = await openWith({})
    const token = await tokenFrom(service)
    const [first, second] = [await request(service.url, token), await request(service.url, token)]
    const grant = await service.identity.verify(second.body.access_token)
    await service.identity.revoke(decodeJwt(first.body.access_token).jti ?? '')
    await ends(service.identity, first.body.access_token)
    expect(service.identity.endOf(grant)).toBeUndefined()
    await service.identity.revoke(decodeJwt(token).jti ?? '')
    expect(service.identity.endOf(grant)).toMatchObject({ code: 'unauthenticated' })
    await ends(service.identity, second.body.access_token)
    expect((await request(service.url, token)).status).toBe(401)
    await service.close()
  })

  it('ends with the subscription, and loses what the subscription loses', async () => {
    const { service, change } = await openWith({})
    const { body } = await request(service.url, await tokenFrom(service))
    change({ models: ['Deutsch', 'Français'] })
    expect(await service.identity.verify(body.access_token)).toMatchObject({ models: ['Deutsch'] })
    change({ cancelled: true })
    await ends(service.identity, body.access_token)
    await service.close()
  })

  it('does not outlive the token that it was issued for', async () => {
    const { service } = await openWith({ tokenLifetimeSeconds: 300 })
    const { body } = await request(service.url, await tokenFrom(service), [['lifetime', '3600']])
    expect(body.expires_in).toBeGreaterThan(295)
    expect(body.expires_in).toBeLessThanOrEqual(300)
    await service.close()
  })
})

describe('tokenLifetimeSeconds', () => {
  it('is the life of the tokens of this client, and of no other', async () => {
    const { client } = await subscriber({ tokenLifetimeSeconds: 120 })
    const service = await open({
      clients: storeOf(client, { ...client, clientId: 'client-2', tokenLifetimeSeconds: undefined }),
    })
    const lives = await Promise.all(
      ['client-1', 'client-2'].map(async (id) => {
        const answer = (await (await service.post(tokenForm({ client_id: id }))).json()) as Answer
        const { iat = 0, exp = 0 } = decodeJwt(answer.access_token)
        return [answer.expires_in, exp - iat]
      }),
    )
    expect(lives).toEqual([
      [120, 120],
      [31_536_000, 31_536_000],
    ])
    await service.close()
  })

  it.each([0, 59, 31_536_001, 100.5, NaN])('cannot be %s', async (tokenLifetimeSeconds) => {
    const { client } = await subscriber({ tokenLifetimeSeconds })
    expect(() => memoryClients([client])).toThrow('tokenLifetimeSeconds must be a whole number from 60 to 31536000')
  })
})

describe('parseOrigin', () => {
  it.each([
    ['https://www.example.com', 'https://www.example.com'],
    ['HTTPS://WWW.Example.COM:443', 'https://www.example.com'],
    ['http://localhost:5173', 'http://localhost:5173'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
    ['capacitor://localhost', 'capacitor://localhost'],
    ['https://www.example.com/', undefined],
    ['https://user@www.example.com', undefined],
    ['https://', undefined],
    ['www.example.com', undefined],
    ['null', undefined],
    ['*', undefined],
    ['file://', undefined],
    ['data:text/html,x', undefined],
  ])('reads %s as %s', (text, origin) => {
    expect(parseOrigin(text)).toBe(origin)
  })
})
