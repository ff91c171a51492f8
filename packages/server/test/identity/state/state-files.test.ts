import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { makePrivateFolder } from '../../../src/identity/state/state-files.js'
import { folderOfTest } from '../../../../../test/temporary-folder.js'

let root = ''
beforeEach(() => {
  root = folderOfTest()
})

describe('makePrivateFolder', () => {
  it('creates the folder and its parents for the owner only, and leaves an existing one unchanged', async () => {
    const folder = join(root, 'a', 'b', 'c')
    await makePrivateFolder(folder)
    await makePrivateFolder(folder)
    for (const made of [folder, join(root, 'a')]) expect((await stat(made)).mode & 0o777).toBe(0o700)
  })

  it('rejects when a file has the name of the folder', async () => {
    await writeFile(join(root, 'file'), '')
    await expect(makePrivateFolder(join(root, 'file', 'below'))).rejects.toMatchObject({ code: 'ENOTDIR' })
  })

  it.runIf(process.platform === 'linux')('rejects quickly when the system cannot create folders', async () => {
    await expect(makePrivateFolder('/proc/none/below')).rejects.toMatchObject({ code: 'ENOENT' })
  })
})
