import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf } from './markdown.js'
import { checkout, longestLingerMs, runProgram } from './run-program.js'

/** What the program of each recipe prints. */
const recipes: readonly (readonly [name: string, prints: readonly RegExp[]])[] = [
  [
    'captions',
    [
      /^WEBVTT\n\n1\n00:00:00\.\d{3} --> 00:00:03\.\d{3}\n<v Agent>good evening harbor grill how can i\nhelp you\n\n2\n/,
      /^<v Guest>thank you goodbye$/m,
      /^NOTE \d+ words taken back, \d+ contradicted$/m,
    ],
  ],
  [
    'metrics',
    [
      /^completed: 32\.8 s of audio, 0 reconnects\n/,
      /^1\d milestones, median \d{1,5} ms after speech, p95 \d{1,5} ms$/m,
    ],
  ],
  [
    'ledger',
    [
      /^session done\n/,
      /^channel 0 captured 32\.\d{3} s = finalised 32\.\d{3} s \+ pending 0\.000 s \+ dropped 0\.000 s\nchannel 1 captured 32\./m,
      /^nothing was dropped\neven\n$/m,
    ],
  ],
  [
    'streams',
    [
      /^loop: good evening harbor grill how can i help you\nWeb stream: good evening/,
      /^Node stream: good evening/m,
      /^aborted: AbortError\nin good order: good evening.*\nheld: completed\n$/m,
    ],
  ],
]

let folder: string
let path: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rxspeech-recipes-'))
  mkdirSync(join(folder, 'node_modules'))
  mkdirSync(join(folder, 'bin'))
  symlinkSync(join(checkout, 'node_modules/rxjs'), join(folder, 'node_modules/rxjs'))
  symlinkSync(checkout, join(folder, 'node_modules/rxspeech'))
  symlinkSync(join(checkout, 'samples'), join(folder, 'samples'))
  symlinkSync(join(checkout, 'dist/cjs/cli/main.js'), join(folder, 'bin/rxspeech'))
  path = `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.each(recipes)('docs/recipes/%s.md', { timeout: 150_000 }, (name, prints) => {
  const blocks = blocksOf(readFileSync(join(checkout, `docs/recipes/${name}.md`), 'utf8'))

  it('has a program that prints what the page is about, and ends by itself soon after', async () => {
    const [program] = blocks.filter(({ language }) => language === 'js')
    const [, file = ''] = /^\/\/ (\S+\.mjs): /.exec(program?.text ?? '') ?? []
    expect(file).toBe(`${name}.mjs`)
    writeFileSync(join(folder, file), program?.text ?? '')
    const ran = await runProgram(process.execPath, [file], { cwd: folder, timeoutMs: 120_000 })
    expect({ exitCode: ran.exitCode, stderr: ran.stderr }).toEqual({ exitCode: 0, stderr: '' })
    for (const pattern of prints) expect(ran.stdout).toMatch(pattern)
    expect(ran.lingeredMs).toBeLessThan(longestLingerMs)
  })

  const commands = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text)
  it.runIf(commands.length > 0)('has commands that run', async () => {
    for (const command of commands) {
      const { exitCode, stdout } = await runProgram('bash', ['-euo', 'pipefail', '-c', command], {
        cwd: folder,
        env: { PATH: path },
        timeoutMs: 120_000,
      })
      expect({ exitCode, stdout }).toMatchObject({
        exitCode: 0,
        stdout: expect.stringMatching(/^1\n00:00:00,/) as unknown,
      })
    }
  })
})
