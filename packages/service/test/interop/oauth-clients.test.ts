import { readFile } from 'node:fs/promises'
import { request as httpsRequest } from 'node:https'
import { join } from 'node:path'
import * as oauth from 'oauth4webapi'
import * as client from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashSecret } from '../../../server/src/identity/clients/client-secret.js'
import { developmentCertificates } from '../../../server/src/identity/keys/development-certificates.js'
import { memoryClients, type ClientRegistration } from '../../../server/src/identity/clients/client.js'
import type { Service } from '../../src/start/running-service.js'
import { noLoadLimits } from '../plain-service.js'
import { startService } from '../../src/start/service.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

// Characters that each of the two ways to authenticate encodes differently.
const secret = 'a secret: 100% of + & = ~!'
const audience = 'urn:rxspeech:service'
const scope = 'Ldm_Integration'
const yearS = 31_536_000

const stateFolder = temporaryFolder()
let service: Service
let ca: Buffer
beforeAll(async () => {
  const { certificate, key, caPath } = await developmentCertificates(join(stateFolder, 'certificates'))
  ca = await readFile(caPath)
  const good: ClientRegistration = {
    clientId: 'acme',
    secretHash: await hashSecret(secret),
    tenants: ['Acme'],
    projects: ['*'],
    models: ['*'],
    validFromMs: 0,
    validUntilMs: Infinity,
    cancelled: false,
  }
  service = await startService({
    certificate: { certificate, key },
    stateFolder,
    modelFolders: [],
    limits: noLoadLimits,
    clients: memoryClients([
      good,
      { ...good, clientId: 'over', validUntilMs: 1 },
      { ...good, clientId: 'auditor', mayIntrospect: true },
    ]),
  })
})
afterAll(async () => {
  await service.close({ drainMs: 0 })
})

type Sent = Pick<client.CustomFetchOptions, 'method' | 'headers' | 'body'>

/** Node's own `fetch` accepts no CA in Node 20. */
const fetchWithCa = (url: string, init: Sent): Promise<Response> =>
  new Promise((resolve, reject) => {
    const { method, body } = init
    const headers = Object.fromEntries(new Headers(init.headers))
    const sent = httpsRequest(url, { method, headers, ca, agent: false }, (answer) => {
      const parts: Buffer[] = []
      answer.on('data', (part: Buffer) => parts.push(part))
      answer.on('error', reject)
      answer.on('end', () => {
        const pairs = Object.entries(answer.headers).map(([name, value]) => [name, [value].flat().join(', ')] as const)
        resolve(
          new Response(Buffer.concat(parts), {
            status: answer.statusCode ?? 0,
            headers: [...pairs] as [string, string][],
          }),
        )
      })
    })
    sent.on('error', reject)
    sent.end(body instanceof URLSearchParams ? body.toString() : undefined)
  })

/** The refusal of a request that must be refused. */
const refusalOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'granted',
    (error: unknown) => error,
  )

describe.each([
  ['client_secret_post', client.ClientSecretPost],
  ['client_secret_basic', client.ClientSecretBasic],
] as const)('openid-client over TLS, with %s', (_name, authenticate) => {
  const discovered = (clientId = 'acme', given = secret, algorithm: 'oidc' | 'oauth2' = 'oauth2') =>
    client.discovery(new URL(service.authUrl), clientId, undefined, authenticate(given), {
      algorithm,
      [client.customFetch]: fetchWithCa,
    })

  it.each(['oidc', 'oauth2'] as const)('discovers the endpoints with the metadata of %s', async (algorithm) => {
    const metadata = (await discovered('acme', secret, algorithm)).serverMetadata()
    expect(metadata).toMatchObject({
      issuer: service.authUrl,
      token_endpoint: `${service.authUrl}/connect/token`,
      jwks_uri: `${service.authUrl}/jwks`,
      scopes_supported: [scope],
    })
    expect(metadata.token_endpoint_auth_methods_supported).toContain(_name)
  })

  it.each([
    ['the scope', { scope }],
    ['no scope', {}],
    ['an empty scope', { scope: '' }],
  ])('gets a token with %s', async (_what, parameters) => {
    const answer = await client.clientCredentialsGrant(await discovered(), parameters)
    expect(answer).toMatchObject({ token_type: 'bearer', expires_in: yearS, scope })
    expect(answer.access_token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/)
  })

  it('is refused another scope with invalid_scope', async () => {
    const refusal = await refusalOf(client.clientCredentialsGrant(await discovered(), { scope: 'openid' }))
    expect(refusal).toMatchObject({ error: 'invalid_scope', status: 400 })
  })

  it.each([
    ['a wrong secret', 'acme', `${secret}x`],
    ['an unknown client', 'nobody', secret],
  ])('is refused %s with a challenge', async (_what, clientId, given) => {
    const refusal = await refusalOf(client.clientCredentialsGrant(await discovered(clientId, given), { scope }))
    expect(refusal).toBeInstanceOf(client.WWWAuthenticateChallengeError)
    expect(refusal).toMatchObject({ status: 401, cause: [{ scheme: 'basic' }] })
    expect(JSON.stringify(refusal)).not.toContain(given)
  })

  it('is refused an expired subscription with unauthorized_client', async () => {
    const refusal = await refusalOf(client.clientCredentialsGrant(await discovered('over'), { scope }))
    expect(refusal).toMatchObject({ error: 'unauthorized_client', status: 400 })
  })

  it('requests the status of a token, revokes it, and requests the status again', async () => {
    const acme = await discovered()
    const auditor = await discovered('auditor')
    const { access_token: token } = await client.clientCredentialsGrant(acme)
    for (const asking of [acme, auditor]) {
      expect(await client.tokenIntrospection(asking, token)).toMatchObject({
        active: true,
        client_id: 'acme',
        scope,
        iss: service.authUrl,
        aud: audience,
        tenants: ['Acme'],
      })
    }
    const others = refusalOf(client.tokenRevocation(auditor, token))
    expect(await others).toMatchObject({ error: 'unauthorized_client', status: 400 })
    await client.tokenRevocation(acme, token)
    expect(await client.tokenIntrospection(auditor, token)).toEqual({ active: false })
  })
})

describe('oauth4webapi over TLS', () => {
  const options = { [oauth.customFetch]: fetchWithCa }
  const acme: oauth.Client = { client_id: 'acme' }
  const server = async (): Promise<oauth.AuthorizationServer> => {
    const issuer = new URL(service.authUrl)
    const answer = await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' })
    return oauth.processDiscoveryResponse(issuer, answer)
  }
  const granted = async (as: oauth.AuthorizationServer): Promise<string> => {
    const authenticate = oauth.ClientSecretPost(secret)
    const answer = await oauth.clientCredentialsGrantRequest(as, acme, authenticate, {}, options)
    return (await oauth.processClientCredentialsResponse(as, acme, answer)).access_token
  }
  const presenting = (token: string): Request =>
    new Request('https://speech.example/recognizer', { headers: { authorization: `Bearer ${token}` } })

  it('validates a token according to RFC 9068, with the published keys', async () => {
    const as = await server()
    const claims = await oauth.validateJwtAccessToken(as, presenting(await granted(as)), audience, options)
    expect(claims).toMatchObject({ iss: service.authUrl, aud: audience, client_id: 'acme', sub: 'acme', scope })
    expect(claims.exp - claims.iat).toBe(yearS)
  })

  it('rejects a token of ours for another audience, a modified one, and one without a signature', async () => {
    const as = await server()
    const token = await granted(as)
    const [header = '', payload = '', signature = ''] = token.split('.')
    const other = Buffer.from(
      JSON.stringify({ ...JSON.parse(Buffer.from(payload, 'base64url').toString()), tenants: ['*'] }),
    )
    const changed = [header, other.toString('base64url'), signature].join('.')
    const unsigned = [Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url'), payload, ''].join('.')
    for (const [presented, wanted] of [
      [token, 'urn:another:service'],
      [changed, audience],
      [unsigned, audience],
    ] as const) {
      const refusal = await refusalOf(oauth.validateJwtAccessToken(as, presenting(presented), wanted, options))
      expect(refusal).toBeInstanceOf(Error)
    }
  })
})
