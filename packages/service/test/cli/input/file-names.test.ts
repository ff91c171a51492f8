import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { expandFiles, requireDistinctStems, stemOf } from '../../../src/cli/input/file-names.js'
import { temporaryFolder } from '../../../../../test/temporary-folder.js'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
beforeAll(() => {
  mkdirSync(at('more'))
  mkdirSync(at('folder.wav'))
  for (const name of ['b.wav', 'a.wav', 'c.mp3', 'more/d.wav', 'odd[1].wav', 'with space é.wav'])
    writeFileSync(at(name), '')
})

describe('the files of a command', () => {
  it('are those of patterns that the shell has not expanded, sorted, without folders', async () => {
    expect(await expandFiles([at('*.wav')])).toEqual(['a.wav', 'b.wav', 'odd[1].wav', 'with space é.wav'].map(at))
    expect(await expandFiles([at('**/{d,c}.*')])).toEqual(['c.mp3', 'more/d.wav'].map(at))
  })

  it('are in the order in which they were typed, each once', async () => {
    const typed = [at('c.mp3'), at('?.wav'), '-', `${folder}/more/../b.wav`, '-', at('nope.wav')]
    expect((await expandFiles(typed)).map((name) => (name === '-' ? name : resolve(name)))).toEqual([
      at('c.mp3'),
      at('a.wav'),
      at('b.wav'),
      '-',
      at('nope.wav'),
    ])
  })

  it('may have names that look like patterns; a pattern without files remains', async () => {
    expect(await expandFiles([at('odd[1].wav'), at('z*.wav')])).toEqual([at('odd[1].wav'), at('z*.wav')])
  })

  it('have distinct names where these name other files', () => {
    expect([stemOf('/a/b.c.wav'), stemOf('-'), stemOf('a')]).toEqual(['b.c', 'stdin', 'a'])
    expect(() => requireDistinctStems(['a/x.wav', 'b/y.wav'], 'txt')).not.toThrow()
    expect(() => requireDistinctStems(['a/x.wav', 'b/x.raw'], 'txt')).toThrow(
      'a/x.wav and b/x.raw would both belong to x.txt; pass one at a time.',
    )
  })
})
