import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { tokenIdOf } from '../../server/src/identity/tokens/token-claims.js'
import { run } from './cli/command.js'
import { runInProcess } from './cli/in-process.js'
import { converse, openStream, plainClient } from './interop/plain-dataflow-client.js'
import { openSocket } from './interop/plain-socket-client.js'
import { plainService, recognizeOf, startOf, type PlainService } from './plain-service.js'
import { longIt } from '../../../test/thorough.js'
import { folderOfTest } from '../../../test/temporary-folder.js'

/** A change by another process ends running sessions within this many milliseconds. */
const withinMs = 5_000

describe('changes by another process', () => {
  let stateFolder: string
  let service: PlainService
  beforeEach(async () => {
    stateFolder = folderOfTest()
    service = await plainService({ stateFolder })
  })
  afterEach(async () => {
    await service.close()
  })

  /** Previous state, which this process may create. */
  const subscribe = async (...flags: readonly string[]): Promise<Readonly<Record<string, string>>> => {
    const args = ['subscription', 'create', '--json', ...flags, '--state', stateFolder]
    const { code, stdout, stderr } = await runInProcess(args)
    expect([code, stderr]).toEqual([0, ''])
    return JSON.parse(stdout) as Readonly<Record<string, string>>
  }
  const command = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> =>
    rxspeech(['subscription', ...args], env)
  const rxspeech = async (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> => {
    const { code, stdout, stderr } = await run([...args, '--state', stateFolder], { env })
    expect([code, stderr]).toEqual([0, ''])
    return stdout
  }

  const tokenOf = async ({ clientId = '', clientSecret = '' }: Readonly<Record<string, string>>): Promise<string> => {
    const form = { client_id: clientId, client_secret: clientSecret, grant_type: 'client_credentials' }
    const body = new URLSearchParams({ ...form, scope: 'Ldm_Integration' })
    const answer = await fetch(`${service.started.authUrl}/connect/token`, { method: 'POST', body })
    return ((await answer.json()) as { readonly access_token: string }).access_token
  }

  /** A session on each interface and an idle socket. */
  const sessionsOf = async (token: string) => {
    const client = plainClient(service)
    const stream = openStream(client)
    stream.request(startOf(token))
    await stream.answered
    expect(stream.responses).toMatchObject([{ 'operation-result': 'success' }])
    const [running, resting] = await Promise.all([openSocket(service, { token }), openSocket(service, { token })])
    running.send(recognizeOf())
    expect(await running.receive()).toMatchObject({ 'operation-result': 'Success' })
    return { stream, running, resting, close: () => client.close() }
  }

  const expectEnded = async (sessions: Awaited<ReturnType<typeof sessionsOf>>, sentence: RegExp): Promise<void> => {
    const { stream, running, resting, close } = sessions
    expect(await stream.ended).toMatchObject({ status: 'UNAUTHENTICATED', details: expect.stringMatching(sentence) })
    expect(await running.receive()).toMatchObject({
      'message-name': 'final-result',
      'operation-result': expect.stringMatching(sentence),
    })
    expect(await running.receive()).toMatchObject({ close: 4401 })
    expect(await resting.receive()).toMatchObject({ close: 4401 })
    close()
  }

  it('end the sessions of a token that it revokes, and those of no other token', async () => {
    const subscriber = await subscribe()
    const [token, other] = [await tokenOf(subscriber), await tokenOf(subscriber)]
    const sessions = await sessionsOf(token)
    const unharmed = await openSocket(service, { token: other })
    await command(['revoke'], { RXSPEECH_TOKEN: token })
    const revokedAtMs = Date.now()
    await expectEnded(sessions, /^unauthenticated: The token was revoked|^The token was revoked/)
    expect(Date.now() - revokedAtMs).toBeLessThan(withinMs)
    await expect(openSocket(service, { token })).rejects.toThrow(/HTTP 401: unauthenticated: The token was revoked/)
    unharmed.send(recognizeOf())
    expect(await unharmed.receive()).toMatchObject({ 'operation-result': 'Success' })
    unharmed.close()
    expect(tokenIdOf(other)).not.toBe(tokenIdOf(token))
  })

  longIt('end the sessions of a subscription that it cancels, which is then refused', async () => {
    const subscriber = await subscribe()
    const token = await tokenOf(subscriber)
    const sessions = await sessionsOf(token)
    await command(['cancel', subscriber['clientId'] ?? ''])
    const cancelledAtMs = Date.now()
    await expectEnded(sessions, /The subscription of the token has expired or was cancelled/)
    expect(Date.now() - cancelledAtMs).toBeLessThan(withinMs)
    expect(await tokenOf(subscriber)).toBeUndefined()
    await expect(openSocket(service, { token })).rejects.toThrow(/HTTP 401/)
  })

  longIt('add a tenant that it grants by name, and no other', async () => {
    const subscriber = JSON.parse(await command(['create', '--json', '--tenant', 'Newcomer'])) as Record<string, string>
    const token = await tokenOf(subscriber)
    const start = async (Tenant: string, by: string) =>
      (
        await converse(service, ({ request, end }) => {
          request(startOf(by, { Tenant }))
          end()
        })
      ).details
    // A subscription with all rights does not create tenants by naming them.
    expect(await start('Newcomer', service.token)).toMatch(/^tenant-denied: /)
    expect(await start('Newcomer', token)).toBe('OK')
    expect(await start('Newcomer', service.token)).toBe('OK')
    expect(await start('Default', token)).toMatch(/^tenant-denied: /)
  })

  longIt('remove signing keys immediately: earlier tokens are refused, new ones are valid', async () => {
    const before = service.token
    expect(await rxspeech(['keys', 'rotate'])).toMatch(
      /^The key [\w-]{43} is used in 10 minutes; earlier tokens stay valid.\n$/,
    )
    ;(await openSocket(service, { token: before })).close()
    const printed = await rxspeech(['keys', 'rotate', '--alone'])
    const [kid = ''] = /[\w-]{43}/.exec(printed) ?? []
    expect(printed).toContain('is the only one')
    // Detected with the token itself, before a new one is requested.
    await expect(openSocket(service, { token: before })).rejects.toThrow(/HTTP 401: unauthenticated/)
    const after = await service.newToken()
    expect(JSON.parse(Buffer.from(after.split('.')[0] ?? '', 'base64url').toString())).toMatchObject({ kid })
    ;(await openSocket(service, { token: after })).close()
    const { keys } = (await (await fetch(`${service.started.authUrl}/jwks`)).json()) as { keys: unknown[] }
    expect(keys).toMatchObject([{ kid }])
  })
})
