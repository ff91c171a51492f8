import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { expandFiles, requireDistinctStems, stemOf } from '../../../src/cli/input/file-names.js'
import { temporaryFolder } from '../../../../../test/temporary-folder.js'

const folder = temporaryFolder()
const namesOf = async (typed: readonly string[]) => (await expandFiles(typed)).map(({ file }) => file)
const at = (name: string): string => join(folder, name)
beforeAll(() => {
  mkdirSync(at('more'))
  mkdirSync(at('folder.wav'))
  for (const name of ['b.wav', 'a.wav', 'c.mp3', 'more/d.wav', 'odd[1].wav', 'with space é.wav'])
    writeFileSync(at(name), '')
})

const inputs = (...files: readonly string[]) => files.map((file) => ({ file, stem: stemOf(file) }))

describe('the files of a command', () => {
  it('are those of patterns that the shell has not expanded, sorted, without folders', async () => {
    expect(await namesOf([at('*.wav')])).toEqual(['a.wav', 'b.wav', 'odd[1].wav', 'with space é.wav'].map(at))
    expect(await namesOf([at('**/{d,c}.*')])).toEqual(['c.mp3', 'more/d.wav'].map(at))
  })

  it('are in the order in which they were typed, each once', async () => {
    const typed = [at('c.mp3'), at('?.wav'), '-', `${folder}/more/../b.wav`, '-', at('nope.wav')]
    expect((await namesOf(typed)).map((name) => (name === '-' ? name : resolve(name)))).toEqual([
      at('c.mp3'),
      at('a.wav'),
      at('b.wav'),
      '-',
      at('nope.wav'),
    ])
  })

  it('may have names that look like patterns; a pattern without files remains', async () => {
    expect(await namesOf([at('odd[1].wav'), at('z*.wav')])).toEqual([at('odd[1].wav'), at('z*.wav')])
  })

  it('of a folder are its recordings and those below it, a link to nothing too, without hidden ones and links that lead back', async () => {
    const calls = join(folder, 'calls')
    mkdirSync(join(calls, 'b/.hidden'), { recursive: true })
    for (const name of [
      'z.WAV',
      'a.mp3',
      'a.txt',
      'a.json',
      '.x.wav',
      'b/a.wav',
      'b/.hidden/y.wav',
      '-\n😀.ogg',
      'c.partial',
    ])
      writeFileSync(join(calls, name), '')
    symlinkSync(calls, join(calls, 'b/loop'))
    symlinkSync(join(calls, 'z.WAV'), join(calls, 'b/link.wav'))
    symlinkSync(join(calls, 'gone'), join(calls, 'b/broken.wav'))
    execFileSync('mkfifo', [join(calls, 'pipe.wav')])
    const found = await expandFiles([calls, join(calls, 'a.mp3')])
    expect(found.map(({ stem }) => stem)).toEqual(['-\n😀', 'a', 'b/a', 'b/broken', 'b/link', 'z'])
    expect(found[2]?.file).toBe(join(calls, 'b/a.wav'))
    await expect(expandFiles([join(folder, 'more/..', 'folder.wav')])).rejects.toMatchObject({
      code: 'source-failed',
      message: expect.stringMatching(
        /has no recordings, such as \.wav or \.mp3; pass another folder, or files\.$/,
      ) as unknown,
    })
  })

  it('of a folder have their whole names where they differ in the extension alone', async () => {
    const mixed = join(folder, 'mixed')
    mkdirSync(join(mixed, 'b'), { recursive: true })
    for (const name of ['a.wav', 'a.m4a', 'a.txt', 'b.mp3', 'b.json', 'b/a.wav']) writeFileSync(join(mixed, name), '')
    expect((await expandFiles([mixed])).map(({ stem }) => stem)).toEqual(['a.m4a', 'a.wav', 'b/a', 'b'])
  })

  it('of addresses have the name at the end of their path', () => {
    expect(stemOf('https://h/calls/one%20two.mp3?sig=x')).toBe('one two')
    expect(stemOf('https://h/a/..%2f..%2fetc.wav')).toBe('.._.._etc')
    expect([stemOf('https://h/%'), stemOf('http://h.example/')]).toEqual(['%', 'h'])
    expect(stemOf('https://h/caf%e9.wav')).toBe('caf%e9')
  })

  it('have distinct names where these name other files', () => {
    expect([stemOf('/a/b.c.wav'), stemOf('-'), stemOf('a')]).toEqual(['b.c', 'stdin', 'a'])
    expect(() => requireDistinctStems(inputs('a/x.wav', 'b/y.wav'), 'txt')).not.toThrow()
    expect(() => requireDistinctStems(inputs('a/x.wav', 'b/x.raw'), 'txt')).toThrow(
      'a/x.wav and b/x.raw would both belong to x.txt; pass one at a time.',
    )
  })
})
