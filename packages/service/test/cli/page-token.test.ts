import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { plainSecret, plainService, subscriptionOf, type PlainService } from '../plain-service.js'
import { runInProcess } from './in-process.js'

describe('rxspeech token --for-page', () => {
  let service: PlainService
  beforeAll(async () => {
    service = await plainService({}, [await subscriptionOf('narrow', { models: ['m'] })])
  })
  afterAll(() => service.close())

  const token = (clientId: string, ...flags: readonly string[]) =>
    runInProcess(['token', '--auth-url', service.started.authUrl, '--client-id', clientId, ...flags], {
      env: { RXSPEECH_CLIENT_SECRET: plainSecret },
    })

  it('prints a token with only the rights that the flags name', async () => {
    const { code, stdout, stderr } = await token(
      'client',
      '--for-page',
      ...['--origin', 'https://www.example.com', '--tenant', 'Default', '--project', 'transcribe'],
      ...['--model', 'm', '--model', 'n', '--lifetime', '5m'],
    )
    expect([code, stderr]).toEqual([0, ''])
    const claims = decodeJwt(stdout.trim())
    expect(claims).toMatchObject({
      token_use: 'page',
      origin: 'https://www.example.com',
      tenants: ['Default'],
      projects: ['transcribe'],
      models: ['m', 'n'],
    })
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(300)
  })

  it('prints what a backend answers to its page', async () => {
    const { stdout } = await token('client', '--for-page', '--json')
    const answer = JSON.parse(stdout) as Readonly<Record<string, unknown>>
    expect(answer).toMatchObject({ token_type: 'Bearer', scope: 'Ldm_Integration' })
    expect(answer['expires_in']).toBeGreaterThan(590)
    expect(answer['expires_in']).toBeLessThanOrEqual(600)
  })

  it.each<readonly [flags: readonly string[], code: number, sentence: RegExp]>([
    [['--for-page', '--model', 'n'], 1, /refuses this token for a page: a model is not granted/],
    [['--for-page', '--origin', 'nonsense'], 1, /origin must be scheme:\/\/host/],
    [['--for-page', '--lifetime', '59s'], 2, /--lifetime must be from 60s to 1h/],
    [['--for-page', '--lifetime', '2h'], 2, /--lifetime must be from 60s to 1h/],
    [['--lifetime', '5m'], 2, /--lifetime is for the token of a page; add --for-page/],
    [['--model', 'm'], 2, /--model is for the token of a page; add --for-page/],
  ])('refuses %j', async (flags, code, sentence) => {
    const refused = await token('narrow', ...flags)
    expect([refused.code, refused.stdout]).toEqual([code, ''])
    expect(refused.stderr).toMatch(sentence)
    expect(refused.stderr).not.toMatch(/eyJ/)
  })
})
