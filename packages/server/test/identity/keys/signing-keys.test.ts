import { readdir, readFile, rm, stat, writeFile, chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { openRevocations } from '../../../src/identity/tokens/revocations.js'
import { publishAheadMs } from '../../../src/identity/keys/key-list.js'
import { openSigningKeys } from '../../../src/identity/keys/signing-keys.js'
import { folderOfTest } from '../../../../../test/temporary-folder.js'

const dayMs = 86_400_000

describe('state of the identity service', () => {
  let parent: string
  let stateFolder: string
  let nowMs: number
  const now = () => nowMs
  beforeEach(() => {
    parent = folderOfTest()
    stateFolder = join(parent, 'state')
    nowMs = 0
  })

  const openKeys = () => openSigningKeys({ stateFolder, now, rotateAfterMs: 90 * dayMs })
  const kids = (keys: Awaited<ReturnType<typeof openKeys>>) => keys.current().map(({ kid }) => kid)
  const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)

  it('keeps the signing key in one file that only the owner may read, and leaves no other file', async () => {
    const first = await openKeys()
    expect(await readdir(stateFolder)).toStrictEqual(['signing-keys.json'])
    expect(await modeOf(join(stateFolder, 'signing-keys.json'))).toBe('600')
    expect(await modeOf(stateFolder)).toBe('700')
    expect(kids(await openKeys())).toStrictEqual(kids(first))
  })

  it('removes wider permissions of the key file', async () => {
    await openKeys()
    await chmod(join(stateFolder, 'signing-keys.json'), 0o644)
    await openKeys()
    expect(await modeOf(join(stateFolder, 'signing-keys.json'))).toBe('600')
  })

  it('creates a key for each process without a state folder', async () => {
    const open = () => openSigningKeys({ now, rotateAfterMs: 90 * dayMs })
    expect(kids(await open())).not.toStrictEqual(kids(await open()))
  })

  it('adds a new key when the current one has reached its age, and removes the old one a year later', async () => {
    const keys = await openKeys()
    const [first = ''] = kids(keys)
    nowMs = 90 * dayMs - 1
    expect(await keys.rotateIfDue()).toBe(false)
    nowMs = 90 * dayMs
    const rotation = keys.rotateIfDue()
    expect(keys.rotateIfDue()).toBe(rotation)
    expect(await rotation).toBe(true)
    const [signing, second = ''] = kids(keys)
    expect(signing).toBe(first)
    nowMs += publishAheadMs - 1
    expect([await keys.rotateIfDue(), kids(keys)[0]]).toStrictEqual([false, first])
    nowMs += 1
    expect(await keys.rotateIfDue()).toBe(true)
    expect(kids(keys)).toStrictEqual([second, first])
    expect(kids(await openKeys())).toStrictEqual([second, first])
    nowMs = (90 + 364) * dayMs
    await keys.rotateIfDue()
    expect(kids(keys)).toHaveLength(3)
    expect(kids(keys)).toStrictEqual(expect.arrayContaining([second, first]))
    nowMs = (90 + 364 + 90) * dayMs
    await keys.rotateIfDue()
    expect(kids(keys)).toContain(second)
    expect(kids(keys)).not.toContain(first)
  })

  it('gets a manual key that signs after ten minutes, which other processes see, and keeps the old ones', async () => {
    const [running, hand] = [await openKeys(), await openKeys()]
    const [first = ''] = kids(running)
    const made = await hand.rotate()
    expect(await running.refresh()).toBe(true)
    expect(kids(running)).toStrictEqual([first, made])
    nowMs += publishAheadMs
    await running.rotateIfDue()
    expect(kids(running)).toStrictEqual([made, first])
  })

  it('gets a manual key that replaces all others and signs immediately', async () => {
    const [running, hand] = [await openKeys(), await openKeys()]
    await hand.rotate()
    const made = await hand.rotate({ discardOthers: true })
    expect(kids(hand)).toStrictEqual([made])
    await running.refresh()
    expect(kids(running)).toStrictEqual([made])
  })

  it('is the same for processes that share a folder, also when they create a key concurrently', async () => {
    const all = await Promise.all(Array.from({ length: 5 }, openKeys))
    const [first = ''] = kids(await openKeys())
    for (const item of all) expect(kids(item)).toStrictEqual([first])
    nowMs = 90 * dayMs
    await Promise.all(all.map((item) => item.rotateIfDue()))
    for (const item of all) expect(kids(item)[0]).toBe(first)
    nowMs += publishAheadMs
    await Promise.all(all.map((item) => item.rotateIfDue()))
    const agreed = kids(await openKeys())
    expect(agreed[1]).toBe(first)
    for (const item of all) expect(kids(item)).toStrictEqual(agreed)
  })

  it.each(['', '{', '[]', '{"keys":[{}]}', '{"keys":[{"createdAtMs":0,"jwk":{"kty":"RSA"}}]}'])(
    'does not open with a damaged key file, %j, and does not replace it',
    async (damage) => {
      await openKeys()
      const path = join(stateFolder, 'signing-keys.json')
      await writeFile(path, damage)
      await expect(openKeys()).rejects.toMatchObject({
        code: 'invalid-options',
        message: expect.not.stringContaining(parent) as string,
      })
      expect(await readFile(path, 'utf8')).toBe(damage)
    },
  )

  it('keeps revocations for a year, in one file for all that arrive together', async () => {
    const revocations = await openRevocations({ stateFolder, now })
    const others = Array.from({ length: 50 }, (_, index) => `other-${index}`)
    await Promise.all(['a', 'b', ...others, 'c'].map((tokenId) => revocations.add(tokenId)))
    const again = await openRevocations({ stateFolder, now })
    expect(['a', 'b', 'c', 'd'].map((tokenId) => again.has(tokenId))).toStrictEqual([true, true, true, false])
    // And as much longer as the clocks of two machines may differ.
    nowMs = 365 * dayMs + 120_000
    await again.add('d')
    const later = await openRevocations({ stateFolder, now })
    expect(['a', 'd'].map((tokenId) => later.has(tokenId))).toStrictEqual([false, true])
  })

  it('does not open with a damaged list of revocations', async () => {
    const revocations = await openRevocations({ stateFolder, now })
    await revocations.add('a')
    await writeFile(join(stateFolder, 'revoked-tokens.json'), '{"revoked":"a"}')
    await expect(openRevocations({ stateFolder, now })).rejects.toMatchObject({ code: 'invalid-options' })
  })

  it('has a token revoked in memory even if the revocation cannot be stored', async () => {
    await writeFile(stateFolder, 'a file where the folder should be')
    const revocations = await openRevocations({ stateFolder: parent, now })
    await rm(parent, { recursive: true })
    await writeFile(parent, '')
    await expect(revocations.add('a')).rejects.toThrow()
    expect(revocations.has('a')).toBe(true)
    await expect(revocations.flush()).resolves.toBeUndefined()
  })
})
