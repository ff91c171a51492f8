import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { checkIdentityState } from '../../../src/identity/check-identity-state.js'
import { memoryClients } from '../../../src/identity/clients/client.js'
import { openIdentityStore } from '../../../src/identity/identity-store.js'

vi.mock('libsql', () => {
  throw Object.assign(new Error('Cannot find module'), { code: 'MODULE_NOT_FOUND' })
})

describe('the store of subscriptions', () => {
  it('names the reason and a newer Node where neither Node nor a package has SQLite, and creates no file', async () => {
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined)
    const stateFolder = await mkdtemp(join(tmpdir(), 'identity-'))
    await expect(openIdentityStore({ stateFolder })).rejects.toMatchObject({
      code: 'missing-dependency',
      message: expect.stringMatching(
        /^The file of subscriptions under Node \S+, which has no SQLite of its own, needs the package libsql, which does not load: /,
      ) as unknown,
    })
    expect(await readdir(stateFolder)).toEqual([])
    await rm(stateFolder, { recursive: true })
  })

  it('is missed by a check only where a service needs it: without clients of its own, or with a file', async () => {
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined)
    const stateFolder = await mkdtemp(join(tmpdir(), 'identity-'))
    const clients = memoryClients([])
    const missing = { code: 'missing-dependency' }
    await checkIdentityState({ stateFolder, clients })
    await expect(checkIdentityState({ stateFolder })).rejects.toMatchObject(missing)
    await writeFile(join(stateFolder, 'identity.db'), '')
    await expect(checkIdentityState({ stateFolder, clients })).rejects.toMatchObject(missing)
    await rm(stateFolder, { recursive: true })
  })
})
