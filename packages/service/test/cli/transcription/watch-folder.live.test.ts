import { mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../../test/temporary-folder.js'
import { FolderScan, watchFolder } from '../../../src/cli/transcription/watch-folder.js'

const root = temporaryFolder()
let folders = 0

/** A folder whose files have the times that are given, in seconds. */
const watched = (transcribedMs: () => number | undefined = () => undefined) => {
  const folder = join(root, String((folders += 1)))
  mkdirSync(folder)
  const scan = new FolderScan({ folder, transcribedMs })
  return {
    folder,
    scan,
    write: (name: string, changedAt: number, text = 'sound') => {
      writeFileSync(join(folder, name), text)
      utimesSync(join(folder, name), changedAt, changedAt)
    },
    at: async (seconds: number) => (await scan.scan(seconds * 1000)).ready.map(({ stem }) => stem),
    ended: (name: string) => scan.ended(join(folder, name)),
  }
}

describe('a watched folder', () => {
  it('has each complete recording once', async () => {
    const { write, at } = watched()
    write('b.wav', 0)
    write('a.mp3', 0)
    write('a.txt', 0)
    expect(await at(100)).toEqual(['a', 'b'])
    expect(await at(200)).toEqual([])
  })

  it('has a recording that is written when it has not changed for two seconds', async () => {
    const { write, at } = watched()
    write('a.wav', 99, 'so')
    expect(await at(100)).toEqual([])
    write('a.wav', 101, 'sound')
    expect(await at(101.5)).toEqual([])
    expect(await at(103)).toEqual([])
    expect(await at(103.5)).toEqual(['a'])
  })

  it('has a recording whose clock is another one, and an empty one when nothing more comes', async () => {
    const { write, at } = watched()
    write('ahead.wav', 5000)
    write('empty.wav', 0, '')
    expect(await at(100)).toEqual([])
    expect(await at(102)).toEqual(['ahead', 'empty'])
  })

  it('has a recording again after a change or a replacement, but not while it is transcribed', async () => {
    const { folder, write, at, ended } = watched()
    write('a.wav', 0)
    expect(await at(100)).toEqual(['a'])
    write('a.wav', 50, 'other')
    expect([await at(101), await at(200)]).toEqual([[], []])
    ended('a.wav')
    expect(await at(201)).toEqual(['a'])
    ended('a.wav')
    write('new', 10, 'third')
    renameSync(join(folder, 'new'), join(folder, 'a.wav'))
    expect([await at(202), await at(204)]).toEqual([[], ['a']])
  })

  it('has no recording whose transcript is newer, until it changes', async () => {
    const { write, at } = watched(() => 20_000)
    write('old.wav', 10)
    write('new.wav', 30)
    expect(await at(100)).toEqual(['new'])
    write('old.wav', 40)
    expect([await at(101), await at(103)]).toEqual([[], ['old']])
  })

  it('has recordings under their other name, and forgets removed ones', async () => {
    const { folder, write, at, ended } = watched()
    write('a.wav', 0)
    await at(100)
    ended('a.wav')
    mkdirSync(join(folder, 'sub'))
    renameSync(join(folder, 'a.wav'), join(folder, 'sub/b.wav'))
    expect(await at(101)).toEqual(['sub/b'])
    rmSync(join(folder, 'sub'), { recursive: true })
    expect(await at(102)).toEqual([])
    write('a.wav', 0)
    expect(await at(103)).toEqual(['a'])
  })

  it('has the recordings of other folders while one cannot be read, and that one later', async () => {
    const { folder, scan, write, at, ended } = watched()
    for (const name of ['a', 'b']) mkdirSync(join(folder, name))
    write('a/first.wav', 0)
    write('b/second.wav', 0)
    expect(await at(100)).toEqual(['a/first', 'b/second'])
    ended('b/second.wav')
    write('a/third.wav', 0)
    write('c.wav', 0)
    const { ready, problem } = await scan.scan(101_000, (path) => {
      if (path !== join(folder, 'b')) return
      renameSync(path, join(folder, '.b'))
      writeFileSync(path, '')
    })
    expect(problem?.message).toMatch(/b cannot be read \(ENOTDIR\); change/)
    expect(ready.map(({ stem }) => stem)).toEqual(['a/third', 'c'])
    rmSync(join(folder, 'b'))
    renameSync(join(folder, '.b'), join(folder, 'b'))
    write('b/fourth.wav', 0)
    expect(await at(102)).toEqual(['b/fourth'])
  })

  it('is read when something is moved into it, also into a folder that is new', async () => {
    const { folder, scan, write } = watched()
    const problems: unknown[] = []
    const next = firstValueFrom(watchFolder(scan, (problem) => problems.push(problem)))
    mkdirSync(join(folder, 'sub'))
    write('hidden', 0)
    renameSync(join(folder, 'hidden'), join(folder, 'sub/call.wav'))
    expect(await next).toEqual({ file: join(folder, 'sub/call.wav'), stem: 'sub/call' })
    expect(problems).toEqual([])
  })
})
