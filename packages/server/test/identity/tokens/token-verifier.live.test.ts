import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { importJWK, SignJWT, UnsecuredJWT, type JWTPayload } from 'jose'
import { VirtualTimeScheduler } from 'rxjs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { IdentityOptions } from '../../../src/identity/identity.js'
import { clockToleranceMs, publishAheadMs } from '../../../src/identity/keys/key-list.js'
import type { ClientRegistration } from '../../../src/identity/clients/client.js'
import { issuer, open, subscriber, tokenFrom } from '../service-under-test.js'
import { everyNth } from '../../../../../test/thorough.js'
import { folderOfTest } from '../../../../../test/temporary-folder.js'

const yearMs = 31_536_000_000
const startMs = Date.UTC(2026, 0, 1)

describe('verify', () => {
  let folder: string
  let service: Awaited<ReturnType<typeof open>> | undefined
  let current: ClientRegistration
  const scheduler = new VirtualTimeScheduler()

  beforeEach(async () => {
    folder = folderOfTest()
    current = (await subscriber()).client
    scheduler.frame = startMs
  })
  afterEach(async () => {
    await service?.close()
    service = undefined
  })

  const openHere = async (more: Partial<IdentityOptions> = {}) => {
    await service?.close()
    service = await open({
      stateFolder: folder,
      scheduler,
      clients: { find: (clientId) => (clientId === current.clientId ? current : undefined) },
      ...more,
    })
    return service
  }

  /** Signs like the service, with its own key, apart from the changes. */
  const forge = async (
    claims: Readonly<Record<string, unknown>>,
    header: { readonly typ?: string; readonly kid?: string } = {},
  ) => {
    const { keys } = JSON.parse(await readFile(join(folder, 'signing-keys.json'), 'utf8')) as {
      keys: { jwk: { kid: string } }[]
    }
    const jwk = keys[0]?.jwk
    if (jwk === undefined) throw new Error('no key')
    const iat = startMs / 1000
    const whole = {
      iss: issuer,
      aud: 'urn:rxspeech:service',
      sub: 'client-1',
      client_id: 'client-1',
      jti: 'forged',
      iat,
      exp: iat + 60,
      scope: 'Ldm_Integration',
      tenants: ['*'],
      projects: ['*'],
      models: ['*'],
      ...claims,
    }
    return new SignJWT(whole)
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: jwk.kid, ...header })
      .sign(await importJWK({ ...jwk }, 'ES256'))
  }

  it('returns the grants of a token that the endpoint issued', async () => {
    const { identity, ...endpoint } = await openHere()
    expect(await identity.verify(await tokenFrom(endpoint))).toStrictEqual({
      clientId: 'client-1',
      tokenId: expect.stringMatching(/^[\w-]{20,}$/) as string,
      tenants: ['Acme'],
      projects: ['*'],
      models: ['English', 'Deutsch'],
      expiresAtMs: startMs + yearMs,
    })
  })

  it('returns the same for the same token again', async () => {
    const { identity, ...endpoint } = await openHere()
    const token = await tokenFrom(endpoint)
    expect(await identity.verify(token)).toStrictEqual(await identity.verify(token))
  })

  it('accepts the token without changes, so that the refusals below have their own reasons', async () => {
    const { identity } = await openHere()
    expect(await identity.verify(await forge({}))).toMatchObject({ tokenId: 'forged', tenants: ['Acme'] })
  })

  it.each<[string, Readonly<Record<string, unknown>>]>([
    ['of another issuer', { iss: 'http://elsewhere' }],
    ['for another audience', { aud: 'urn:elsewhere' }],
    ['without an audience', { aud: undefined }],
    ['with another scope', { scope: 'openid' }],
    ['with an additional scope', { scope: 'Ldm_Integration openid' }],
    ['without a scope', { scope: undefined }],
    ['that has expired', { exp: startMs / 1000 }],
    ['without an expiry', { exp: undefined }],
    ['that is not valid yet', { nbf: startMs / 1000 + 61 }],
    [
      'of a machine whose clock is ahead by more than a minute',
      { iat: startMs / 1000 + 61, exp: startMs / 1000 + 120 },
    ],
    ['without an id', { jti: undefined }],
    ['without a client', { client_id: undefined }],
    ['of an unknown client', { client_id: 'nobody' }],
    ['with malformed grants', { tenants: 'Acme' }],
    ['without grants', { models: undefined }],
    ['that is longer than any of ours', { padding: 'x'.repeat(16_384) }],
  ])('refuses a token %s', async (_, claims) => {
    const { identity } = await openHere()
    await expect(identity.verify(await forge(claims))).rejects.toMatchObject({ code: 'unauthenticated' })
  })

  it('refuses a token of another type, such as an id token', async () => {
    const { identity } = await openHere()
    await expect(identity.verify(await forge({}, { typ: 'JWT' }))).rejects.toMatchObject({ code: 'unauthenticated' })
  })

  it('refuses a token with an unknown key id', async () => {
    const { identity } = await openHere()
    await expect(identity.verify(await forge({}, { kid: 'x' }))).rejects.toMatchObject({ code: 'unauthenticated' })
  })

  it('refuses a token with one changed character anywhere, and never repeats it', async () => {
    const { identity, ...endpoint } = await openHere()
    const token = await tokenFrom(endpoint)
    for (let at = 0; at < token.length - 1; at += 7 * everyNth(4)) {
      const other = token[at] === 'A' ? 'B' : 'A'
      const tampered = token.slice(0, at) + other + token.slice(at + 1)
      const refusal = await identity.verify(tampered).then(
        () => undefined,
        (error: unknown) => error as Error,
      )
      expect(refusal).toMatchObject({ code: 'unauthenticated' })
      expect(refusal?.cause).toBe('invalid-token')
      expect(refusal?.message).not.toContain(tampered.slice(0, 8))
    }
  })

  it('refuses an unsigned token', async () => {
    const { identity, ...endpoint } = await openHere()
    const [, payload = ''] = (await tokenFrom(endpoint)).split('.')
    const header = Buffer.from(JSON.stringify({ alg: 'none', typ: 'at+jwt' })).toString('base64url')
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as JWTPayload
    for (const token of [`${header}.${payload}.`, new UnsecuredJWT(claims).encode()]) {
      await expect(identity.verify(token)).rejects.toMatchObject({ code: 'unauthenticated' })
    }
  })

  it('refuses a token signed with the public key as a shared secret', async () => {
    const { identity, url, ...endpoint } = await openHere()
    const token = await tokenFrom(endpoint)
    const { keys } = (await (await fetch(`${url}/jwks`)).json()) as { keys: { kid: string }[] }
    const jwk = keys[0]
    if (jwk === undefined) throw new Error('no key')
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as JWTPayload
    const pem = createPublicKey({ key: { ...jwk }, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
    for (const secret of [pem.toString(), JSON.stringify(jwk)]) {
      const confused = await new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: jwk.kid })
        .sign(Buffer.from(secret))
      await expect(identity.verify(confused)).rejects.toMatchObject({ code: 'unauthenticated' })
    }
  })

  it('refuses a token with an embedded key', async () => {
    const { identity } = await openHere()
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const claims = JSON.parse(Buffer.from((await forge({})).split('.')[1] ?? '', 'base64url').toString()) as JWTPayload
    const { kty, crv, x, y } = publicKey.export({ format: 'jwk' })
    const jwk = Object.fromEntries(Object.entries({ kty, crv, x, y }).filter(([, value]) => value !== undefined))
    const token = await new SignJWT(claims).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', jwk }).sign(privateKey)
    await expect(identity.verify(token)).rejects.toMatchObject({ code: 'unauthenticated' })
  })

  it.each<[string, unknown]>([
    ['an empty text', ''],
    ['junk', 'a.b.c'],
    ['a huge text', 'x'.repeat(1_000_000)],
    ['nothing', undefined],
    ['a number', 5],
  ])('refuses %s', async (_, token) => {
    const { identity } = await openHere()
    await expect(identity.verify(token as string)).rejects.toMatchObject({ code: 'unauthenticated' })
  })

  it('accepts a token for 365 days and then refuses it as expired', async () => {
    const { identity, ...endpoint } = await openHere()
    const token = await tokenFrom(endpoint)
    scheduler.frame = startMs + yearMs - 1
    expect(await identity.verify(token)).toMatchObject({ clientId: 'client-1' })
    scheduler.frame = startMs + yearMs
    await expect(identity.verify(token)).rejects.toMatchObject({
      code: 'unauthenticated',
      message: expect.stringContaining('expired') as string,
    })
  })

  it('accepts tokens of machines whose clocks differ by a minute, and no longer than they say', async () => {
    const { identity, ...endpoint } = await openHere()
    const token = await tokenFrom(endpoint)
    scheduler.frame = startMs - clockToleranceMs
    expect(await identity.verify(token)).toMatchObject({ expiresAtMs: startMs + yearMs })
    scheduler.frame -= 1_000
    await expect(identity.verify(token)).rejects.toMatchObject({ code: 'unauthenticated', cause: 'invalid-token' })
    scheduler.frame = startMs + clockToleranceMs
    const short = await forge({ iat: startMs / 1000, exp: startMs / 1000 + 61 })
    expect(await identity.verify(short)).toMatchObject({ expiresAtMs: startMs + 61_000 })
    scheduler.frame += 1_000
    await expect(identity.verify(short)).rejects.toMatchObject({ cause: 'expired-token' })
  })

  it('accepts a token after a restart with the same state folder, and refuses it with another', async () => {
    const token = await tokenFrom(await openHere())
    expect(await (await openHere()).identity.verify(token)).toMatchObject({ clientId: 'client-1' })
    const elsewhere = await openHere({ stateFolder: join(folder, 'elsewhere') })
    await expect(elsewhere.identity.verify(token)).rejects.toMatchObject({ code: 'unauthenticated' })
  })

  it.each<[string, Partial<ClientRegistration>]>([
    ['cancelled', { cancelled: true }],
    ['over', { validUntilMs: startMs }],
    ['gone', { clientId: 'other' }],
  ])('refuses the token of a subscription that is %s', async (_, changes) => {
    const { identity, ...endpoint } = await openHere()
    const token = await tokenFrom(endpoint)
    current = { ...current, ...changes }
    await expect(identity.verify(token)).rejects.toMatchObject({
      code: 'unauthenticated',
      message: expect.stringContaining('subscription') as string,
    })
  })

  it('removes what the subscription has lost, and adds nothing', async () => {
    const { identity, ...endpoint } = await openHere()
    const token = await tokenFrom(endpoint)
    current = {
      ...current,
      tenants: ['*'],
      projects: ['calls'],
      models: ['Deutsch', 'Italiano'],
      validUntilMs: startMs + 5,
    }
    expect(await identity.verify(token)).toMatchObject({
      tenants: ['Acme'],
      projects: ['calls'],
      models: ['Deutsch'],
      expiresAtMs: startMs + 5,
    })
  })

  it('refuses a revoked token immediately and after a restart, and no other', async () => {
    const { identity, ...endpoint } = await openHere()
    const [token, other] = [await tokenFrom(endpoint), await tokenFrom(endpoint)]
    const { tokenId } = await identity.verify(token)
    const kept = identity.revoke(tokenId)
    await expect(identity.verify(token)).rejects.toMatchObject({ code: 'unauthenticated' })
    await kept
    const again = await openHere()
    await expect(again.identity.verify(token)).rejects.toMatchObject({
      message: expect.stringContaining('revoked') as string,
    })
    expect(await again.identity.verify(other)).toMatchObject({ clientId: 'client-1' })
  })

  it('signs with a new key when the old one has reached its age, and still accepts tokens of the old one', async () => {
    const { identity, url, ...endpoint } = await openHere()
    const old = await tokenFrom(endpoint)
    const published = async (): Promise<readonly unknown[]> => {
      const { keys } = (await (await fetch(`${url}/jwks`)).json()) as { keys: { kid: string }[] }
      return keys.map((key) => key.kid)
    }
    scheduler.frame = startMs + 90 * 86_400_000
    const between = await tokenFrom(endpoint)
    const [, next] = await published()
    scheduler.frame += publishAheadMs
    const young = await tokenFrom(endpoint)
    const kid = (token: string): unknown =>
      (JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as { kid: unknown }).kid
    expect([kid(between), kid(young)]).toStrictEqual([kid(old), next])
    expect(next).not.toBe(kid(old))
    expect(await identity.verify(old)).toMatchObject({ clientId: 'client-1' })
    expect(await identity.verify(young)).toMatchObject({ clientId: 'client-1' })
    expect(await published()).toStrictEqual([kid(young), kid(old)])
  })
})
