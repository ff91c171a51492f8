import { lstatSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openOutputFile } from '../../../src/cli/process/output-file.js'
import { temporaryFolder } from '../../../../../test/temporary-folder.js'

const folder = temporaryFolder()

describe('openOutputFile', () => {
  it('gives a file its name when it is complete', () => {
    const path = join(folder, 'a/text.txt')
    const file = openOutputFile(path)
    file.write('so')
    expect(readFileSync(`${path}.partial`, 'utf8')).toBe('so')
    file.end(true)
    expect([file.fault(), readFileSync(path, 'utf8')]).toEqual([undefined, 'so'])
  })

  it.runIf(process.platform === 'linux')('writes to a device itself, which stays', () => {
    const path = join(folder, 'full')
    symlinkSync('/dev/full', path)
    const file = openOutputFile(path)
    file.write('so')
    file.end(true)
    expect(file.fault()?.message).toMatch(/full cannot be written \(ENOSPC\); check its folder and the disk\./)
    expect(lstatSync(path).isSymbolicLink()).toBe(true)
  })

  it('refuses a folder at once', () => {
    mkdirSync(join(folder, 'b'))
    expect(() => openOutputFile(join(folder, 'b'))).toThrow(/b cannot be written \(EISDIR\)/)
  })
})
