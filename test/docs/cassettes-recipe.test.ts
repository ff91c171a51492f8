import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { headerFields, lineFields } from '../../src/cassette/cassette-codec.js'
import { blocksOf, named, tableBelow } from './markdown.js'
import { checkout, runProgram } from './run-program.js'

const page = readFileSync(join(checkout, 'docs/recipes/cassettes.md'), 'utf8')
const blocks = blocksOf(page)
const commands = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text)

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rxspeech-cassettes-'))
  mkdirSync(join(folder, 'node_modules'))
  mkdirSync(join(folder, 'bin'))
  symlinkSync(join(checkout, 'node_modules/rxjs'), join(folder, 'node_modules/rxjs'))
  symlinkSync(checkout, join(folder, 'node_modules/rxspeech'))
  symlinkSync(join(checkout, 'samples'), join(folder, 'samples'))
  symlinkSync(join(checkout, 'dist/cjs/cli/main.js'), join(folder, 'bin/rxspeech'))
  for (const { language, text } of blocks) {
    const [, name] = /^\/\/ (\S+)\n/.exec(text) ?? []
    if (language === 'js' && name !== undefined) writeFileSync(join(folder, name), text)
  }
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const shell = (text: string) =>
  runProgram('bash', ['-euo', 'pipefail', '-c', text], {
    cwd: folder,
    env: { PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}` },
    timeoutMs: 100_000,
  })

describe('docs/recipes/cassettes.md', { timeout: 120_000 }, () => {
  it('records, plays again and shows, as it says', async () => {
    const [transcribe = '', record = '', replay = '', show = ''] = commands
    expect(await shell(transcribe)).toMatchObject({ exitCode: 0 })
    expect(await shell(record)).toMatchObject({ exitCode: 0, stderr: '' })
    const { exitCode, stdout } = await shell(replay)
    expect({ exitCode, stdout }).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/final\n(.*\n)*the same session again\n$/) as unknown,
    })
    const shown = await shell(show)
    expect(shown).toMatchObject({ exitCode: 0, stderr: '', stdout: expect.stringContaining('milestones 1') as unknown })
    expect(shown.stdout).toContain('good evening harbor grill how can i help you')
    expect(readFileSync(join(folder, 'call.svg'), 'utf8')).toMatch(/^<svg [^]*<\/svg>\n$/)
  })

  it('has the fields of the header that the codec has', () => {
    expect(tableBelow(page, 'Header').map(([field]) => named(field))).toEqual(Object.keys(headerFields))
  })

  it('has the lines that the codec has, with their fields', () => {
    const onPage = Object.fromEntries(
      tableBelow(page, 'Lines').map(([event, , fields = '']) => [
        named(event),
        [...fields.matchAll(/`([^`]+)`/g)].map(([, field]) => field),
      ]),
    )
    const common = new Set(['atMs', 'connection', 'event'])
    const inCodec = Object.fromEntries(
      Object.entries(lineFields).map(([event, fields]) => [
        event,
        Object.keys(fields).filter((field) => !common.has(field)),
      ]),
    )
    expect(onPage).toEqual(inCodec)
    const without = Object.entries(lineFields).flatMap(([event, fields]) => ('connection' in fields ? [] : [event]))
    expect(without).toEqual(['lost', 'end'])
  })
})
