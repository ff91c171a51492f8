import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { digestOf, fingerprintOf } from '../../src/models/fingerprint.js'
import { folderOfTest } from '../../../../test/temporary-folder.js'

let root = ''
beforeEach(() => {
  root = folderOfTest()
})

const write = async (folder: string, files: Readonly<Record<string, string>>): Promise<string> => {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(root, folder, name, '..'), { recursive: true })
    await writeFile(join(root, folder, name), text)
  }
  return join(root, folder)
}

/** A volume of a ConfigMap, as Kubernetes writes it. */
const volume = async (folder: string, written: string, files: Readonly<Record<string, string>>): Promise<string> => {
  await write(join(folder, written), files)
  await symlink(written, join(root, folder, '..data'))
  for (const name of Object.keys(files)) await symlink(join('..data', name), join(root, folder, name))
  return join(root, folder)
}

const model = { 'model.json': '{}', 'orders.jsgf': 'public <a> = a;' }

describe('digestOf', () => {
  it('is equal for equal contents, in a folder and in volumes that Kubernetes wrote at different times', async () => {
    const plain = await digestOf(await write('plain', model))
    expect(await digestOf(await volume('first', '..2026_01_01_10_00_00.1', model))).toBe(plain)
    expect(await digestOf(await volume('second', '..2026_01_01_10_00_07.2', model))).toBe(plain)
    const other = { ...model, 'orders.jsgf': 'public <a> = b;' }
    expect(await digestOf(await volume('third', '..2026_01_01_10_00_00.1', other))).not.toBe(plain)
  })

  it('differs if a file has another name, or one behind a link another content', async () => {
    const folder = await write('model', { 'model.json': '{}', 'sub/words': 'a' })
    const before = await digestOf(folder)
    expect(await digestOf(await write('renamed', { 'model.json': '{}', 'sub/words2': 'a' }))).not.toBe(before)
    const store = await write('store', { words: 'a' })
    await rm(join(folder, 'sub'), { recursive: true })
    await symlink(store, join(folder, 'sub'))
    expect(await digestOf(folder)).toBe(before)
    await write('store', { words: 'b' })
    expect(await digestOf(folder)).not.toBe(before)
  })
})

describe('fingerprintOf', () => {
  it('differs after a change, also beside links that lead nowhere or back', async () => {
    const folder = await write('model', model)
    await symlink('nowhere', join(folder, 'broken'))
    await symlink('self', join(folder, 'self'))
    await symlink('.', join(folder, 'loop'))
    const before = fingerprintOf([folder])
    expect(fingerprintOf([folder])).toBe(before)
    await write('model', { 'orders.jsgf': 'public <a> = a longer one;' })
    expect(fingerprintOf([folder])).not.toBe(before)
  })
})
