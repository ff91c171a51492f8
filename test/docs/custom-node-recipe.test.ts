import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf } from './markdown.js'
import { checkout, runProgram, startProgram, type RunningProgram } from './run-program.js'

const blocks = blocksOf(readFileSync(join(checkout, 'docs/recipes/custom-node.md'), 'utf8'))
const commands = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text)

let folder: string
let path: string
let server: RunningProgram | undefined

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rxspeech-recipe-'))
  mkdirSync(join(folder, 'node_modules'))
  mkdirSync(join(folder, 'bin'))
  symlinkSync(join(checkout, 'node_modules/rxjs'), join(folder, 'node_modules/rxjs'))
  symlinkSync(checkout, join(folder, 'node_modules/rxspeech'))
  symlinkSync(join(checkout, 'samples'), join(folder, 'samples'))
  symlinkSync(join(checkout, 'dist/cjs/cli/main.js'), join(folder, 'bin/rxspeech'))
  path = `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`
})
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const shell = (text: string) =>
  runProgram('bash', ['-euo', 'pipefail', '-c', text], { cwd: folder, env: { PATH: path }, timeoutMs: 100_000 })

describe('docs/recipes/custom-node.md', { timeout: 120_000 }, () => {
  it('says of each of its files what it is called', () => {
    const files = blocks.filter(({ language }) => language !== 'sh')
    expect(files.map(({ language }) => language)).toEqual(['js', 'yaml'])
    for (const { text } of files) {
      const [, name = ''] = /^(?:\/\/|#) (\S+)\n/.exec(text) ?? []
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), text)
    }
  })

  it('checks the project together with the node, and draws both', async () => {
    const { exitCode, stdout } = await shell(commands[0] ?? '')
    expect({ exitCode, stdout }).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('pace-of-speech') as unknown,
    })
    const without = await shell((commands[0] ?? '').replace(/ --nodes.*/, ''))
    expect(without).toMatchObject({ exitCode: 3, stdout: expect.stringContaining('pace-of-speech') as unknown })
  })

  it('runs a session through the node', async () => {
    const [, serve = '', transcribe = ''] = commands
    server = startProgram('bash', ['-c', `exec ${serve.replace(/ &$/, '')}`], { cwd: folder, env: { PATH: path } })
    const file = join(folder, 'service.json')
    await expect.poll(() => readFileSync(file, 'utf8'), { timeout: 60_000 }).toMatch(/^\{.*\}\n$/)
    const { exitCode, stdout, stderr } = await shell(transcribe)
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('32.8 s of audio') as unknown,
    })
    const paces = stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { readonly data: { readonly WordsPerMinute: number } }).data.WordsPerMinute)
    expect(paces.length).toBeGreaterThan(10)
    for (const pace of paces) expect(pace).toSatisfy((value: number) => value > 20 && value < 400)
  })
})
