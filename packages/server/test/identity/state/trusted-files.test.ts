import { chmod, chown, lchown, mkdir, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openKeysFile, rotateKeysFile } from '../../../src/identity/keys/keys-file.js'
import { openSigningKeys, signingKeysFile } from '../../../src/identity/keys/signing-keys.js'
import { makePrivateFolder } from '../../../src/identity/state/state-files.js'
import { checkStateFolder } from '../../../src/identity/state/trusted-files.js'
import { folderOfTest } from '../../../../../test/temporary-folder.js'

let root = ''
let state = ''
beforeEach(async () => {
  root = folderOfTest()
  state = join(root, 'state')
  await makePrivateFolder(state)
})
afterEach(async () => {
  vi.restoreAllMocks()
})

const isRoot = process.geteuid?.() === 0
const other = 12_345

const signingKeys = () => openSigningKeys({ stateFolder: state, now: Date.now, rotateAfterMs: 1e12 })
const refusal = (message: RegExp) => ({ code: 'invalid-options', message: expect.stringMatching(message) as string })

/** Keys that somebody else has made. */
const plant = async (path: string, mode = 0o600): Promise<string> => {
  await rotateKeysFile({ path, now: Date.now })
  await chmod(path, mode)
  return path
}

describe.skipIf(process.platform === 'win32')('a state folder', () => {
  it('is usable as this program makes it, and as a volume that is shared with its group', async () => {
    await (await signingKeys()).rotate()
    await checkStateFolder(state)
    // As Kubernetes leaves it with `fsGroup`, files included.
    await chmod(state, 0o2770)
    await chmod(join(state, signingKeysFile), 0o660)
    await checkStateFolder(state)
    await expect(signingKeys()).resolves.toBeDefined()
  })

  it.each([
    ['every user', 0o777, /state can be written by every user/],
    ['every user, with the bit of a shared folder', 0o2777, /state can be written by every user/],
    ['its group', 0o770, /state can be written by its group/],
  ])('that %s can write is refused, and left as it is', async (_who, mode, message) => {
    await chmod(state, mode)
    await expect(makePrivateFolder(state)).rejects.toMatchObject(refusal(message))
    await expect(signingKeys()).rejects.toMatchObject(refusal(message))
    expect((await stat(state)).mode & 0o777).toBe(mode & 0o777)
  })

  it('that is a link of this user is refused, also with a slash at its end', async () => {
    const link = join(root, 'link')
    await symlink(state, link)
    for (const path of [link, `${link}/`]) {
      await expect(makePrivateFolder(path)).rejects.toMatchObject(refusal(/link is a link; name the folder/))
    }
  })

  it.runIf(isRoot)('of another user is refused, and one of root is accepted', async () => {
    await chown(state, other, other)
    await expect(makePrivateFolder(state)).rejects.toMatchObject(refusal(/belongs to another user \(12345\)/))
    await chown(state, 0, 0)
    vi.spyOn(process, 'geteuid').mockReturnValue(other)
    await expect(makePrivateFolder(state)).resolves.toBeUndefined()
    // As systemd makes it with DynamicUser.
    await symlink(state, join(root, 'dynamic'))
    await expect(makePrivateFolder(join(root, 'dynamic'))).resolves.toBeUndefined()
    await lchown(join(root, 'dynamic'), other + 1, other)
    await expect(makePrivateFolder(join(root, 'dynamic'))).rejects.toMatchObject(refusal(/is a link/))
  })
})

describe.skipIf(process.platform === 'win32')('a file of the state folder', () => {
  it('that is a link is refused, and what it leads to stays as it is', async () => {
    const planted = await plant(join(root, 'planted.json'), 0o644)
    await symlink(planted, join(state, signingKeysFile))
    await expect(signingKeys()).rejects.toMatchObject(refusal(/signing-keys\.json is a link/))
    await expect(makePrivateFolder(state)).rejects.toMatchObject(refusal(/signing-keys\.json is a link/))
    expect((await stat(planted)).mode & 0o777).toBe(0o644)
  })

  it.each(['control', 'certificates', 'identity.db', 'identity.db-wal', 'development.json'])(
    '%s that is a link is refused',
    async (name) => {
      await mkdir(join(root, 'elsewhere'))
      await symlink(join(root, 'elsewhere'), join(state, name))
      await expect(makePrivateFolder(state)).rejects.toMatchObject(refusal(/is a link/))
    },
  )

  it.each([
    ['every user', 0o622, /by every user/],
    ['its group', 0o620, /by its group/],
  ])('that %s can write is refused', async (_who, mode, message) => {
    await plant(join(state, signingKeysFile), mode)
    await expect(signingKeys()).rejects.toMatchObject(refusal(message))
  })

  it.runIf(isRoot)('of another user is refused', async () => {
    await chown(await plant(join(state, signingKeysFile)), other, other)
    await expect(signingKeys()).rejects.toMatchObject(refusal(/signing-keys\.json belongs to another user/))
  })

  it('that this program does not know is left alone', async () => {
    await symlink(root, join(state, 'models'))
    await writeFile(join(state, 'notes.txt'), '')
    await chmod(join(state, 'notes.txt'), 0o666)
    await expect(makePrivateFolder(state)).resolves.toBeUndefined()
  })
})

describe.runIf(isRoot)('a file of signing keys', () => {
  it('of another user, or behind the link of another user, is refused', async () => {
    const path = await plant(join(root, 'keys.json'))
    const link = join(root, 'link.json')
    await symlink(path, link)
    await expect(openKeysFile({ path: link, now: Date.now })).resolves.toBeDefined()
    await lchown(link, other, other)
    await expect(openKeysFile({ path: link, now: Date.now })).rejects.toMatchObject(refusal(/belongs to another user/))
    await chown(path, other, other)
    await expect(openKeysFile({ path, now: Date.now })).rejects.toMatchObject(refusal(/belongs to another user/))
  })
})
