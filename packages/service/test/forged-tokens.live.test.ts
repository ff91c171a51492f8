import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { importJWK, SignJWT, UnsecuredJWT, type CryptoKey, type JWK, type JWTHeaderParameters } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { converse } from './interop/plain-dataflow-client.js'
import { openSocket } from './interop/plain-socket-client.js'
import { plainService, recognizeOf, startOf, subscriptionOf, type PlainService } from './plain-service.js'
import { temporaryFolder } from '../../../test/temporary-folder.js'

type Claims = Readonly<Record<string, unknown>>
interface Forgery {
  readonly claims?: Claims
  readonly header?: Partial<JWTHeaderParameters>
  readonly key?: CryptoKey | KeyObject | Uint8Array
  /** How the signed token is modified. */
  readonly then?: (token: string) => string
}

/** Everything is signed with the key of the service itself, unless the forgery states otherwise. */
describe('forged tokens, on both interfaces of a service', () => {
  const stateFolder = temporaryFolder()
  let service: PlainService
  let own: { readonly jwk: JWK; readonly key: CryptoKey | Uint8Array }
  const strangers = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })

  beforeAll(async () => {
    const narrow = await subscriptionOf('narrow', { tenants: ['Acme'], projects: ['transcribe'], models: ['n'] })
    const over = await subscriptionOf('over', { cancelled: true })
    service = await plainService({ stateFolder }, [narrow, over])
    const file = await readFile(join(stateFolder, 'signing-keys.json'), 'utf8')
    const jwk = (JSON.parse(file) as { keys: { jwk: JWK }[] }).keys[0]?.jwk ?? {}
    own = { jwk, key: await importJWK(jwk, 'ES256') }
    await service.started.revoke('revoked')
  })
  afterAll(async () => {
    await service.close()
  })

  const nowS = (): number => Math.floor(Date.now() / 1000)
  const wholeClaims = (changes: Claims): Claims => ({
    iss: service.started.authUrl,
    aud: 'urn:rxspeech:service',
    sub: 'client',
    client_id: 'client',
    jti: 'forged',
    iat: nowS(),
    exp: nowS() + 60,
    scope: 'Ldm_Integration',
    tenants: ['*'],
    projects: ['*'],
    models: ['*'],
    ...changes,
  })
  const headerOf = (header: Partial<JWTHeaderParameters>): JWTHeaderParameters => ({
    alg: 'ES256',
    typ: 'at+jwt',
    ...(own.jwk.kid === undefined ? {} : { kid: own.jwk.kid }),
    ...header,
  })
  const forge = async ({
    claims = {},
    header = {},
    key = own.key,
    then = (token) => token,
  }: Forgery): Promise<string> =>
    then(await new SignJWT(wholeClaims(claims)).setProtectedHeader(headerOf(header)).sign(key, { crit: { x: true } }))

  /** The code with which each interface refuses, or `success`. */
  const codes = async (token: string, tenant = 'Default', model = 'm') => {
    const code = (result: unknown): string => String(result).toLowerCase().replace(/: .*/s, '')
    const { responses, status } = await converse(service, (stream) => {
      stream.request(startOf(token, { Tenant: tenant, Settings: { ModelName: model, ModelTenant: tenant } }))
      stream.end()
    })
    const socket = await openSocket(service, { token }).catch((error: unknown) => String(error))
    if (typeof socket === 'string') {
      expect(socket).not.toContain(token)
      return {
        grpc: code(responses[0]?.['operation-result']),
        status,
        socket: code(socket.replace(/^.*HTTP 401: /, '')),
      }
    }
    socket.send(recognizeOf({ 'model-name': model, 'model-tenant': tenant }))
    const answer = await socket.receive()
    socket.close()
    return { grpc: code(responses[0]?.['operation-result']), status, socket: code(answer['operation-result']) }
  }
  const unauthenticated = { grpc: 'unauthenticated', status: 'UNAUTHENTICATED', socket: 'unauthenticated' }

  it('are accepted when nothing is wrong with them, and slightly before their time', async () => {
    const success = { grpc: 'success', status: 'OK', socket: 'success' }
    expect(await codes(await forge({}))).toEqual(success)
    expect(await codes(await forge({ claims: { nbf: nowS() + 2 } }))).toEqual(success)
    expect(await codes(await forge({ claims: { client_id: 'narrow' } }), 'Acme', 'n')).toEqual(success)
  })

  it.each<[string, () => Forgery]>([
    ['a signature of another key with our key id', () => ({ key: strangers.privateKey })],
    [
      'a key in its own jwk',
      () => ({ key: strangers.privateKey, header: { jwk: strangers.publicKey.export({ format: 'jwk' }) } }),
    ],
    [
      'a key at another address in jku',
      () => ({ key: strangers.privateKey, header: { jku: 'http://127.0.0.1:9/jwks', kid: 'x' } }),
    ],
    [
      'a key at another address in x5u',
      () => ({ key: strangers.privateKey, header: { x5u: 'http://127.0.0.1:9/x', kid: 'x' } }),
    ],
    ['an unknown key id', () => ({ header: { kid: 'unknown' } })],
    ['RS256', () => ({ key: rsa.privateKey, header: { alg: 'RS256' } })],
    ['HS256 with our public key as the secret', () => ({ key: Buffer.from(publicPem()), header: { alg: 'HS256' } })],
    ['no signature', () => ({ then: (token) => token.replace(/\.[^.]*$/, '.') })],
    [
      'a changed claim',
      () => ({ then: (token) => `${token.slice(0, 120)}${token[120] === 'A' ? 'B' : 'A'}${token.slice(121)}` }),
    ],
    ['another audience', () => ({ claims: { aud: 'urn:elsewhere' } })],
    ['no audience', () => ({ claims: { aud: undefined } })],
    ['another issuer', () => ({ claims: { iss: 'http://elsewhere' } })],
    ['another scope', () => ({ claims: { scope: 'openid' } })],
    ['an additional scope', () => ({ claims: { scope: 'Ldm_Integration admin' } })],
    ['another type', () => ({ header: { typ: 'JWT' } })],
    ['an unknown critical header', () => ({ header: { crit: ['x'], x: 1 } })],
    ['an end that has been reached', () => ({ claims: { exp: nowS() } })],
    ['an end that has come a second ago', () => ({ claims: { exp: nowS() - 1 } })],
    ['no end', () => ({ claims: { exp: undefined } })],
    ['a beginning in the future', () => ({ claims: { nbf: nowS() + 70 } })],
    ['an issue time in the future', () => ({ claims: { iat: nowS() + 70 } })],
    ['no id', () => ({ claims: { jti: undefined } })],
    ['a revoked id', () => ({ claims: { jti: 'revoked' } })],
    ['an unknown subscription', () => ({ claims: { client_id: 'nobody' } })],
    ['a cancelled subscription', () => ({ claims: { client_id: 'over' } })],
    ['grants that are not a list', () => ({ claims: { tenants: '*' } })],
  ])('are refused with %s', async (_what, forgery) => {
    expect(await codes(await forge(forgery()))).toEqual(unauthenticated)
  })

  it('are refused unsigned, in any spelling of none', async () => {
    const unsigned = new UnsecuredJWT({ ...wholeClaims({}) }).encode()
    const [, payload = ''] = unsigned.split('.')
    for (const alg of ['none', 'None', 'NONE']) {
      const header = Buffer.from(JSON.stringify({ alg, typ: 'at+jwt', kid: own.jwk.kid })).toString('base64url')
      expect(await codes(`${header}.${payload}.`)).toEqual(unauthenticated)
    }
  })

  it.each<[string, Claims, string, string, Readonly<Record<string, string>>]>([
    ['a tenant', { tenants: ['Other'] }, 'Acme', 'n', { grpc: 'tenant-denied', socket: 'model-denied' }],
    [
      'a tenant that the subscription lacks',
      { client_id: 'narrow' },
      'Default',
      'm',
      { grpc: 'tenant-denied', socket: 'model-denied' },
    ],
    ['a project', { projects: ['other'] }, 'Acme', 'n', { grpc: 'project-denied', socket: 'success' }],
    ['a model', { models: ['other'] }, 'Acme', 'n', { grpc: 'model-denied', socket: 'model-denied' }],
  ])('do not reach %s that they do not grant', async (_what, claims, tenant, model, expected) => {
    expect(await codes(await forge({ claims }), tenant, model)).toMatchObject(expected)
  })

  const publicPem = (): string => {
    const { kty, crv, x, y } = own.jwk
    const key = createPublicKey({ key: { kty, crv, x, y } as never, format: 'jwk' })
    return key.export({ type: 'spki', format: 'pem' }).toString()
  }
})
