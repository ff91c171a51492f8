import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf } from './markdown.js'
import { checkout, runProgram } from './run-program.js'

const blocks = blocksOf(readFileSync(join(checkout, 'docs/recipes/fault-scripts.md'), 'utf8'))
const commands = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text)

let folder: string
let path: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rxspeech-recipe-'))
  mkdirSync(join(folder, 'node_modules'))
  mkdirSync(join(folder, 'bin'))
  symlinkSync(join(checkout, 'node_modules/rxjs'), join(folder, 'node_modules/rxjs'))
  symlinkSync(checkout, join(folder, 'node_modules/rxspeech'))
  symlinkSync(join(checkout, 'dist/cjs/cli/main.js'), join(folder, 'bin/rxspeech'))
  path = `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`
  for (const { text } of blocks.filter(({ language }) => language === 'js')) {
    const [, name = ''] = /^\/\/ (\S+)\n/.exec(text) ?? []
    writeFileSync(join(folder, name), text)
  }
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const shell = (text: string | undefined) =>
  runProgram('bash', ['-euo', 'pipefail', '-c', text ?? ''], { cwd: folder, env: { PATH: path }, timeoutMs: 60_000 })

describe('docs/recipes/fault-scripts.md', { timeout: 70_000 }, () => {
  it('has a program for each of its first commands', () => {
    expect(blocks.map(({ language }) => language)).toEqual(['js', 'sh', 'js', 'sh', 'sh'])
  })

  it('loses nothing by an outage, which the proving service proves', async () => {
    const { exitCode, stdout, stderr } = await shell(commands[0])
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    const lines = stdout.trimEnd().split('\n')
    expect(lines.filter((line) => line === 'reconnecting').length).toBeGreaterThan(0)
    expect(lines.filter((line) => line !== 'reconnecting')).toEqual([
      'resumed',
      'done',
      '0 ms never arrived, 0 ms got no result',
      'more than one connection: true',
      'the text is whole: true',
    ])
  })

  it('runs an hour with a reset and an outage in virtual time', async () => {
    const { exitCode, stdout, stderr } = await shell(commands[1])
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: 0,
      stdout: 'resumed resumed done\nthe text of an hour is whole: true\n',
      stderr: '',
    })
  })

  it('prints the scoreboard', async () => {
    const { exitCode, stdout } = await shell(commands[2])
    expect({ exitCode, stdout }).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^✓ drop, back at once +rxspeech 0\n +Deepgram/) as unknown,
    })
  })
})
