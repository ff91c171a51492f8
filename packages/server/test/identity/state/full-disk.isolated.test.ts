import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { openSigningKeys } from '../../../src/identity/keys/signing-keys.js'
import { folderOfTest } from '../../../../../test/temporary-folder.js'

const disk = vi.hoisted(() => ({ isFull: false }))

vi.mock(import('node:fs/promises'), async (importOriginal) => {
  const original = await importOriginal()
  const open: typeof original.open = async (...given) => {
    const file = await original.open(...given)
    const full = () => Promise.reject(Object.assign(new Error('ENOSPC: /secret'), { code: 'ENOSPC' }))
    return disk.isFull ? Object.assign(file, { writeFile: full }) : file
  }
  return { ...original, open }
})

const dayMs = 86_400_000
let stateFolder = ''
let nowMs = 0
const open = () => openSigningKeys({ stateFolder, now: () => nowMs, rotateAfterMs: 90 * dayMs })
beforeEach(() => {
  stateFolder = folderOfTest()
  disk.isFull = false
})

const full = {
  code: 'overloaded',
  message: 'The disk of the state folder is full, so signing-keys.json was not changed; free some space and try again.',
}

describe('signing keys on a disk that is full', () => {
  it('stay unchanged when a new one is requested, with or without the others', async () => {
    const keys = await open()
    const before = keys.current()
    const file = await readFile(join(stateFolder, 'signing-keys.json'), 'utf8')
    disk.isFull = true
    await expect(keys.rotate()).rejects.toMatchObject(full)
    await expect(keys.rotate({ discardOthers: true })).rejects.toMatchObject(full)
    expect(keys.current()).toBe(before)
    expect(await readFile(join(stateFolder, 'signing-keys.json'), 'utf8')).toBe(file)
    expect(await readdir(stateFolder)).toEqual(['signing-keys.json'])
    disk.isFull = false
    await keys.rotate()
    expect(keys.current()).toHaveLength(2)
  })

  it('continue to sign when the next one is due, also in a service that starts', async () => {
    const before = (await open()).current()
    nowMs += 91 * dayMs
    disk.isFull = true
    const keys = await open()
    expect(keys.current()).toEqual(before)
    await expect(keys.rotateIfDue()).rejects.toMatchObject(full)
    disk.isFull = false
    expect(await keys.rotateIfDue()).toBe(true)
  })

  it('do not let a service start without any key', async () => {
    disk.isFull = true
    await expect(open()).rejects.toMatchObject(full)
  })
})
