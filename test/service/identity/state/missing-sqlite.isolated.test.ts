import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { openIdentityStore } from '../../../../src/service/identity/identity-store.js'

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
})
