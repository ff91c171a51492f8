import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { openIdentityStore } from '../../../server/src/identity/identity-store.js'
import type { Ended, RunOptions } from './command.js'
import { runInProcess } from './in-process.js'
import { folderOfTest } from '../../../../test/temporary-folder.js'

let folder: string
beforeEach(() => {
  folder = folderOfTest()
})

const subscription = (args: readonly string[], options: RunOptions = {}): Promise<Ended> =>
  runInProcess(['subscription', ...args, '--state', folder], options)

describe('rxspeech subscription', () => {
  it('shows a secret once, and lists everything else', async () => {
    const made = await subscription(['create', '--client-id', 'acme', '--tenant', 'Acme', '--tenant', 'Default'])
    const [, secret = ''] = /^client id: +acme\nclient secret: (\S{43})\n$/.exec(made.stdout) ?? []
    expect([made.code, secret.length, made.stderr.includes(secret)]).toEqual([0, 43, false])
    await subscription(['create', '--json', '--valid-from', '2999-01-01', '--valid-until', '2999-02-01'])
    const cancelled = await subscription(['cancel', 'acme', '--json'])
    expect(cancelled.stdout).toBe('{"clientId":"acme","state":"cancelled"}\n')
    const [table, json] = [await subscription(['list']), await subscription(['list', '--json'])]
    expect(table.stdout).toMatch(
      /^ID +TENANTS +PROJECTS +MODELS +FROM +UNTIL +STATE\nacme +Acme,Default .* cancelled\n/,
    )
    expect(table.stdout).toMatch(/2999-01-01T00:00:00.000Z +2999-02-01T00:00:00.000Z +not yet\n$/)
    expect(JSON.parse(json.stdout)).toMatchObject([{ clientId: 'acme', state: 'cancelled', validUntil: null }, {}])
    expect(table.stdout + json.stdout).not.toMatch(/scrypt|secret/i)
  })

  it('says that there are none, and that a development service does not store its own', async () => {
    await subscription(['create', '--client-id', 'acme'])
    rmSync(join(folder, 'identity.db'))
    expect((await subscription(['list'])).stderr).toContain(`There are no subscriptions in ${folder}`)
    ;(await openIdentityStore({ stateFolder: folder })).close()
    expect((await subscription(['list', '--json'])).stdout).toBe('[]\n')
    expect(await subscription(['list'])).toEqual({
      code: 0,
      stdout: `There are no subscriptions in ${folder}. A service of serve --dev keeps its own in memory.\n`,
      stderr: '',
    })
  })

  it('sets and changes how long tokens are valid', async () => {
    await subscription(['create', '--client-id', 'acme', '--token-lifetime', '1h'])
    await subscription(['create', '--client-id', 'other'])
    const lifetimes = async () => {
      const rows = JSON.parse((await subscription(['list', '--json'])).stdout) as readonly Record<string, unknown>[]
      return rows.map(({ clientId, tokenLifetimeSeconds }) => [clientId, tokenLifetimeSeconds])
    }
    expect(await lifetimes()).toEqual([
      ['acme', 3_600],
      ['other', 31_536_000],
    ])
    expect((await subscription(['update', 'other', '--token-lifetime', '120s', '--json'])).stdout).toBe(
      '{"clientId":"other","tokenLifetimeSeconds":120}\n',
    )
    expect(await subscription(['update', 'other', '--token-lifetime', '90s'])).toEqual({
      code: 0,
      stdout: 'New tokens of "other" are valid for 90 seconds.\n',
      stderr: '',
    })
    expect(await lifetimes()).toEqual([
      ['acme', 3_600],
      ['other', 90],
    ])
  })

  it.each([
    [['update', 'acme', '--token-lifetime', '59s'], /--token-lifetime must be from 60s to 365d/],
    [['update', 'acme', '--token-lifetime', '366d'], /--token-lifetime must be a duration/],
    [['update', 'acme'], /Nothing to change; set --token-lifetime/],
    [['update', 'nobody', '--token-lifetime', '1h'], /There is no subscription "nobody"/],
  ])('refuses %j', async (args, sentence) => {
    await subscription(['create', '--client-id', 'acme'])
    const refused = await subscription(args)
    expect([refused.code, refused.stdout]).toEqual([2, ''])
    expect(refused.stderr).toMatch(sentence)
  })

  it('issues a new secret, and prints on stderr until when the old one is valid', async () => {
    const first = JSON.parse((await subscription(['create', '--json', '--client-id', 'acme'])).stdout)
    const { code, stdout, stderr } = await subscription(['rotate', 'acme', '--overlap', '2h'])
    expect([code, stdout.includes(first.clientSecret)]).toEqual([0, false])
    expect(stderr).toMatch(/^The old secret stays valid until \d{4}-\S+Z, so that no client is locked out/)
    expect((await subscription(['rotate', 'acme', '--overlap', '0'])).stderr).toBe(
      'The old secret is no longer valid.\n',
    )
  })

  it('reads a complete token from standard input, and never from an argument', async () => {
    await subscription(['create'])
    const token = `e30.${Buffer.from('{"jti":"the-id"}').toString('base64url')}.x`
    expect((await subscription(['revoke'], { stdin: Buffer.from(`${token}\n`) })).stdout).toBe(
      'The token the-id is revoked.\n',
    )
    expect((await subscription(['revoke', 'the-id', '--json'])).stdout).toBe('{"jti":"the-id","state":"revoked"}\n')
    const refused = await subscription(['revoke', token])
    expect([refused.code, refused.stderr.includes(token)]).toEqual([2, false])
  })

  it.each<[readonly string[], RegExp]>([
    [['list'], /no subscriptions in/],
    [['create', '--valid-until', '2001-01-01'], /after --valid-from/],
    [['create', '--valid-from', '2026-02-30'], /--valid-from must be a date/],
    [['create', '--client-id', 'a b'], /printable ASCII/],
    [['create', '--tenant', ''], /--tenant must not be empty/],
    [['rotate', 'acme', '--overlap', '1y'], /--overlap must be a duration/],
  ])('rejects %j with 2 and one sentence', async (args, sentence) => {
    const { code, stdout, stderr } = await subscription(args)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(sentence)
    expect(stderr).toMatch(/^rxspeech: [^\n]+\n$/)
  })
})
