import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { openIdentityStore } from '../../../../src/service/identity/identity-store.js'

const sqlite = vi.hoisted(() => ({ absent: true }))
vi.mock('better-sqlite3', () => {
  if (sqlite.absent) throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
  return {
    default: function Sqlite() {
      throw new Error('Could not locate the bindings file.')
    },
  }
})

describe('the store of subscriptions', () => {
  it.each([
    ['without its package', true],
    ['without the native part of its package', false],
  ])('names the command that installs what it needs %s, and creates no file', async (_what, absent) => {
    sqlite.absent = absent
    vi.resetModules()
    const stateFolder = await mkdtemp(join(tmpdir(), 'identity-'))
    await expect(openIdentityStore({ stateFolder })).rejects.toMatchObject({
      code: 'missing-dependency',
      message: expect.stringContaining(
        'needs the package better-sqlite3, which comes with another: npm install rxspeech-service.',
      ) as unknown,
    })
    expect(await readdir(stateFolder)).toEqual([])
    await rm(stateFolder, { recursive: true })
  })
})
