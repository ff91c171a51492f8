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

  it('keeps the text of one of two commands whole, and the other command says so', () => {
    const path = join(folder, 'two.txt')
    const [earlier, later] = [openOutputFile(path), openOutputFile(path)]
    earlier.write('a longer text')
    later.write('text')
    earlier.end(true)
    expect(earlier.fault()?.message).toBe(`${path} is written by another command at the same time; run one of them.`)
    later.end(true)
    expect([later.fault(), readFileSync(path, 'utf8')]).toEqual([undefined, 'text'])
  })

  it('writes the file of a command that was killed again', () => {
    const path = join(folder, 'killed.txt')
    openOutputFile(path).write('the beginning of')
    const file = openOutputFile(path)
    file.write('all')
    file.end(true)
    expect(readFileSync(path, 'utf8')).toBe('all')
  })
})
