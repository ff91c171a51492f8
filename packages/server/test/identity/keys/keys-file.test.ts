import { chmod, copyFile, mkdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { publishAheadMs } from '../../../src/identity/keys/key-list.js'
import { openKeysFile, rotateKeysFile } from '../../../src/identity/keys/keys-file.js'
import { folderOfTest } from '../../../../../test/temporary-folder.js'

let folder: string
let path: string
let nowMs: number
const now = () => nowMs
beforeEach(() => {
  folder = folderOfTest()
  path = join(folder, 'keys.json')
  nowMs = 1_800_000_000_000
})

const open = () => openKeysFile({ path, now })
const kids = (keys: Awaited<ReturnType<typeof open>>) => keys.current().map(({ kid }) => kid)
interface File {
  readonly keys: { createdAtMs: number; jwk: { kid: string; x: string; d: string } }[]
}
const read = async (): Promise<File> => JSON.parse(await readFile(path, 'utf8')) as File
const write = async (file: object | string, mode = 0o600): Promise<void> => {
  await writeFile(path, typeof file === 'string' ? file : JSON.stringify(file))
  await chmod(path, mode)
}

describe('rotateKeysFile', () => {
  it('creates a file that only its owner can read, whose key signs at once', async () => {
    const { kid, isNew } = await rotateKeysFile({ path, now })
    expect(isNew).toBe(true)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(kids(await open())).toEqual([kid])
  })

  it('adds a key, which signs after ten minutes, and leaves the others', async () => {
    const first = await rotateKeysFile({ path, now })
    nowMs += 1_000
    const second = await rotateKeysFile({ path, now })
    expect(second.isNew).toBe(false)
    const keys = await open()
    expect(kids(keys)).toEqual([first.kid, second.kid])
    nowMs += publishAheadMs
    expect(await keys.rotateIfDue()).toBe(true)
    expect(kids(keys)).toEqual([second.kid, first.kid])
  })

  it('replaces all keys after a leak', async () => {
    await rotateKeysFile({ path, now })
    const { kid } = await rotateKeysFile({ path, now }, { discardOthers: true })
    expect(kids(await open())).toEqual([kid])
  })

  it('changes nothing in a file that it cannot read as keys', async () => {
    await write('{"keys":[{}]}')
    await expect(rotateKeysFile({ path, now })).rejects.toMatchObject({ code: 'invalid-options' })
    expect(await readFile(path, 'utf8')).toBe('{"keys":[{}]}')
  })

  it('names a folder that cannot be written', async () => {
    await writeFile(join(folder, 'plain'), '')
    const below = join(folder, 'plain', 'keys.json')
    await expect(rotateKeysFile({ path: below, now })).rejects.toMatchObject({
      message: expect.stringContaining(below) as string,
    })
  })
})

describe('openKeysFile', () => {
  it('reads the file again when it is replaced, as a mounted secret is by a link to another folder', async () => {
    const mount = async (name: string): Promise<void> => {
      await mkdir(join(folder, name))
      await copyFile(path, join(folder, name, 'keys.json'))
      await symlink(name, join(folder, 'data.new'))
      await rename(join(folder, 'data.new'), join(folder, 'data'))
    }
    const first = await rotateKeysFile({ path, now })
    await mount('one')
    const keys = await openKeysFile({ path: join(folder, 'data', 'keys.json'), now })
    const before = keys.current()
    expect(await keys.refresh()).toBe(false)
    expect(keys.current()).toBe(before)
    const second = await rotateKeysFile({ path, now }, { discardOthers: true })
    await mount('two')
    expect(kids(keys)).toEqual([first.kid])
    expect(await keys.refresh()).toBe(true)
    expect(kids(keys)).toEqual([second.kid])
  })

  it('keeps its keys while a changed file is missing or damaged, and reads the next good one', async () => {
    const { kid } = await rotateKeysFile({ path, now })
    const keys = await open()
    await rename(path, `${path}.old`)
    await expect(keys.refresh()).rejects.toMatchObject({ code: 'invalid-options' })
    await write('{')
    await expect(keys.rotateIfDue()).rejects.toMatchObject({ code: 'invalid-options' })
    expect(kids(keys)).toEqual([kid])
    await rename(`${path}.old`, path)
    const added = await rotateKeysFile({ path, now })
    expect(await keys.refresh()).toBe(true)
    expect(kids(keys)).toEqual([kid, added.kid])
  })

  it('signs with the newest key by its time, whatever the order in the file', async () => {
    const first = await rotateKeysFile({ path, now })
    nowMs += 1_000
    const second = await rotateKeysFile({ path, now })
    const file = await read()
    await write({ keys: file.keys.toReversed() })
    nowMs += publishAheadMs
    expect(kids(await open())).toEqual([second.kid, first.kid])
  })

  it('accepts a file that its group can read', async () => {
    await rotateKeysFile({ path, now })
    await chmod(path, 0o440)
    await expect(open()).resolves.toBeDefined()
  })

  it.each([0o644, 0o604, 0o602, 0o620])('refuses a file with the mode %o', async (mode) => {
    await rotateKeysFile({ path, now })
    await chmod(path, mode)
    const message = `The file of signing keys ${path} has the mode ${mode.toString(8)}: other users can read or write it; set 0400, or 0440 for a group of its own.`
    await expect(open()).rejects.toMatchObject({ code: 'invalid-options', message })
  })

  it('names what is wrong with the file', async () => {
    const error = async (): Promise<string> =>
      open().then(
        () => 'none',
        (failure: unknown) => (failure as Error).message,
      )
    expect(await error()).toMatch(/does not exist; create it with: rxspeech keys rotate --file\.$/)
    await write({ keys: [] })
    expect(await error()).toMatch(/has no key; create one with/)
    await write('[]')
    expect(await error()).toMatch(/is not a file of signing keys/)
    await rm(path)
    await mkdir(path, 0o700)
    expect(await error()).toMatch(/is not a file\.$/)
    await rm(path, { recursive: true })
    const { kid } = await rotateKeysFile({ path, now })
    const [key] = (await read()).keys
    if (key === undefined) throw new Error('There is no key.')
    await write({ keys: [key, { ...key, createdAtMs: 0 }] })
    expect(await error()).toContain(`has the key ${kid} twice`)
    await rm(path)
    await rotateKeysFile({ path, now })
    const [other] = (await read()).keys
    await write({ keys: [{ ...key, jwk: { ...key.jwk, d: other?.jwk.d } }] })
    expect(await error()).toContain(`has a damaged key, ${kid}`)
    await write({ keys: [{ ...key, jwk: { ...key.jwk, d: '' } }] })
    expect(await error()).toContain(`has a damaged key, ${kid}`)
  })
})
