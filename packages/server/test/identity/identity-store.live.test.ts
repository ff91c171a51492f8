import { once } from 'node:events'
import { chmod, cp, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { hashSecret, verifySecret } from '../../src/identity/clients/client-secret.js'
import { killWriters } from './kill-writers.js'
import { openIdentityStore, type IdentityStore } from '../../src/identity/identity-store.js'
import { loadSqlite } from '../../src/identity/state/sqlite.js'
import { cancelClient, registerClient, rotateSecret, clientState } from '../../src/identity/clients/manage-clients.js'

const registration = {
  tenants: ['Acme', 'Default'],
  projects: ['*'],
  models: ['English'],
  validFromMs: 10,
  validUntilMs: 1_000,
}

describe('openIdentityStore', () => {
  let stateFolder: string
  const opened: IdentityStore[] = []
  beforeEach(async () => {
    stateFolder = join(await mkdtemp(join(tmpdir(), 'identity-')), 'state')
  })
  afterEach(async () => {
    for (const store of opened.splice(0)) store.close()
    await rm(join(stateFolder, '..'), { recursive: true })
  })
  const open = async (nowMs = 0): Promise<IdentityStore> => {
    const store = await openIdentityStore({ stateFolder, now: () => nowMs })
    opened.push(store)
    return store
  }
  const file = (): string => join(stateFolder, 'identity.db')
  /** What another program does to the file. */
  const change = async (statements: string): Promise<void> => {
    const database = (await loadSqlite())(file(), 0)
    database.exec(statements)
    database.close()
  }

  it('returns a subscription unchanged to every process that has the store open, and after a restart', async () => {
    const [first, second] = [await open(), await open()]
    const { client, clientSecret } = await registerClient(first, { ...registration, clientId: 'acme' }, 5)
    expect(await verifySecret(clientSecret, client.secretHash)).toBe(true)
    for (const store of [first, second, await open()]) {
      expect(store.find('acme')).toEqual({ ...client, mayIntrospect: false })
      expect(store.list().map(({ clientId }) => clientId)).toEqual(['acme'])
      expect(store.find('nobody')).toBeUndefined()
    }
    const endless = await registerClient(first, { ...registration, validUntilMs: Infinity, mayIntrospect: true }, 6)
    expect(second.find(endless.client.clientId)).toMatchObject({ validUntilMs: Infinity, mayIntrospect: true })
  })

  it('has another version only after a change, by itself or by another process', async () => {
    const [first, second] = [await open(), await open()]
    const versions = [first.version(), first.version()]
    expect(versions[0]).toBe(versions[1])
    second.revoke('a')
    const after = first.version()
    expect(after).not.toBe(versions[1])
    expect(first.version()).toBe(after)
    let changes = 0
    first.changed$.subscribe(() => (changes += 1))
    first.revoke('b')
    second.revoke('c')
    expect(changes).toBe(1)
    expect([first.isRevoked('a'), second.isRevoked('b'), first.isRevoked('d')]).toEqual([true, true, false])
  })

  it('rejects a client id that is taken, also by a cancelled subscription, and malformed input', async () => {
    const store = await open()
    await registerClient(store, { ...registration, clientId: 'acme' }, 0)
    cancelClient(store, 'acme')
    const again = registerClient(store, { ...registration, clientId: 'acme' }, 0)
    await expect(again).rejects.toMatchObject({ code: 'invalid-options', message: /acme.*already/ })
    for (const change of [{ clientId: 'a b' }, { validFromMs: 1_000 }, { validFromMs: 0.5 }]) {
      await expect(registerClient(store, { ...registration, ...change }, 0)).rejects.toMatchObject({
        code: 'invalid-options',
      })
    }
    expect(store.list()).toHaveLength(1)
  })

  it('reports the state of a subscription', async () => {
    const store = await open()
    const { client } = await registerClient(store, { ...registration, clientId: 'acme' }, 0)
    expect([9, 10, 999, 1_000].map((atMs) => clientState(client, atMs))).toEqual([
      'not yet',
      'valid',
      'valid',
      'expired',
    ])
    expect(clientState(cancelClient(store, 'acme'), 10)).toBe('cancelled')
    expect(() => cancelClient(store, 'nobody')).toThrow(/no subscription "nobody"/)
  })

  it('keeps the old secret valid together with the new one during the overlap, and not without', async () => {
    const store = await open()
    const { clientSecret: first } = await registerClient(store, { ...registration, clientId: 'acme' }, 0)
    const { client, clientSecret: second } = await rotateSecret(store, 'acme', { overlapMs: 60, nowMs: 100 })
    expect(client.previousSecret?.untilMs).toBe(160)
    const accepts = (secret: string): Promise<boolean> =>
      verifySecret(secret, client.secretHash, client.previousSecret?.hash)
    expect([await accepts(first), await accepts(second), await accepts('other')]).toEqual([true, true, false])
    const { client: third } = await rotateSecret(store, 'acme', { overlapMs: 0, nowMs: 100 })
    expect(third.previousSecret).toBeUndefined()
    cancelClient(store, 'acme')
    await expect(rotateSecret(store, 'acme', { overlapMs: 0, nowMs: 100 })).rejects.toThrow(/cancelled/)
  })

  it('lets only the owner read its files, and removes wider permissions', async () => {
    const store = await open()
    store.revoke('a')
    const modes = async (): Promise<readonly string[]> =>
      Promise.all(
        (await readdir(stateFolder)).map(async (name) => {
          return `${name} ${((await stat(join(stateFolder, name))).mode & 0o777).toString(8)}`
        }),
      )
    const expected = ['identity.db 600', 'identity.db-shm 600', 'identity.db-wal 600']
    expect((await modes()).toSorted()).toEqual(expected)
    for (const name of await readdir(stateFolder)) await chmod(join(stateFolder, name), 0o644)
    await open()
    expect((await modes()).toSorted()).toEqual(expected)
  })

  it('imports revoked-tokens.json once', async () => {
    await open()
    const list = join(stateFolder, 'revoked-tokens.json')
    await writeFile(list, JSON.stringify({ revoked: [{ tokenId: 'old', untilMs: 5_000 }] }))
    expect((await open()).isRevoked('old')).toBe(true)
    expect(await readdir(stateFolder)).toContain('revoked-tokens.json.imported')
    expect(await readdir(stateFolder)).not.toContain('revoked-tokens.json')
    expect((await open()).isRevoked('old')).toBe(true)
    await writeFile(list, '{"revoked": 7}')
    await expect(open()).rejects.toMatchObject({ code: 'invalid-options', message: /revoked-tokens.json/ })
  })

  it('forgets revocations when their tokens have expired', async () => {
    // Tokens of a machine whose clock is ahead expire later.
    const yearMs = 31_536_000_000 + 2 * 60_000
    ;(await open(0)).revoke('old')
    const before = await open(yearMs - 1)
    before.revoke('newer')
    expect(before.isRevoked('old')).toBe(true)
    const later = await open(yearMs)
    expect(later.isRevoked('old')).toBe(true)
    later.revoke('new')
    expect([later.isRevoked('old'), later.isRevoked('new')]).toEqual([false, true])
  })

  it('rejects a file that is damaged, of another program or of a newer version, and leaves it unchanged', async () => {
    const store = await open()
    for (let count = 0; count < 50; count += 1) store.revoke(`token-${count}`)
    opened.splice(0)
    store.close()
    const refused = (message: RegExp) => expect(open()).rejects.toMatchObject({ code: 'invalid-options', message })
    await change('PRAGMA user_version = 99')
    await refused(/^identity.db was written by a newer rxspeech \(schema 99, here 2\)/)
    await change('PRAGMA user_version = 1; PRAGMA application_id = 7')
    await refused(/^identity.db .* another program/)
    await writeFile(file(), 'not a database, but long enough to be taken for the header of one'.repeat(50))
    await refused(/^identity.db .* is damaged/)
    expect((await stat(file())).size).toBeGreaterThan(1_000)
  })

  it('opens a file that better-sqlite3 wrote in version 0.2.0, with what its killed process left in the log', async () => {
    await cp(join(__dirname, 'state/written-by-0.2.0'), stateFolder, { recursive: true })
    const store = await open()
    const acme = { tenants: ['Acme', 'Default'], projects: ['*'], models: ['English'], validUntilMs: Infinity }
    expect(store.find('acme')).toMatchObject({ ...acme, mayIntrospect: true, tokenLifetimeSeconds: 3_600 })
    expect(await verifySecret('a secret of 0.2.0', store.find('acme')?.secretHash ?? '')).toBe(true)
    expect(store.find('globex')).toMatchObject({ tenants: ['Globex'], projects: [], cancelled: true })
    expect(['token-1', 'token-2', 'token-3'].map(store.isRevoked)).toEqual([true, true, false])
  })

  it('opens a file of version 1, whose subscriptions have no lifetime of tokens, and sets one', async () => {
    const store = await open()
    const { client } = await registerClient(store, { ...registration, clientId: 'acme' }, 5)
    opened.splice(0)
    store.close()
    await change('ALTER TABLE subscriptions DROP COLUMN token_lifetime_s; PRAGMA user_version = 1')
    const migrated = await open()
    expect(migrated.find('acme')).toEqual({ ...client, mayIntrospect: false })
    expect(migrated.setTokenLifetime('acme', 3_600)).toBe(true)
    expect((await open()).find('acme')).toMatchObject({ tokenLifetimeSeconds: 3_600 })
    expect(migrated.setTokenLifetime('acme', undefined)).toBe(true)
    expect(migrated.find('acme')).not.toHaveProperty('tokenLifetimeSeconds')
    expect(migrated.setTokenLifetime('nobody', 60)).toBe(false)
    expect(() => migrated.setTokenLifetime('acme', 59)).toThrow('tokenLifetimeSeconds must be')
  })

  it('loses nothing that it reported as stored when the two processes that write to it are killed', async () => {
    const secretHash = await hashSecret('a secret')
    await killWriters({ stateFolder, secretHash, name: 'one' }, (writers) =>
      Promise.all(writers.map(({ stdout }) => once(stdout, 'data'))),
    )
  })
})
