import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { checkout, runProgram } from '../docs/run-program.js'

let folder: string | undefined
afterEach(() => {
  if (folder !== undefined) rmSync(folder, { recursive: true })
  folder = undefined
})

/** A folder with the package and all its dependencies except one. Node must preserve symlinks for that. */
const installWithout = (missing: string): string => {
  folder = mkdtempSync(join(tmpdir(), 'rxspeech-missing-'))
  const link = (from: string, ...at: readonly string[]): void => symlinkSync(from, join(folder ?? '', ...at))
  const modules = join(checkout, 'node_modules')
  const scopes = readdirSync(modules).filter((name) => name.startsWith('@'))
  const scoped = scopes.flatMap((scope) => readdirSync(join(modules, scope)).map((name) => `${scope}/${name}`))
  const names = [...readdirSync(modules).filter((name) => !/^[@.]/.test(name)), ...scoped]
  for (const scope of scopes) mkdirSync(join(folder, 'node_modules', scope), { recursive: true })
  // The command finds the samples of a checkout beside its package.
  link(join(checkout, 'samples'), 'samples')
  for (const name of names) if (name !== missing) link(join(modules, name), 'node_modules', name)
  return folder
}

// Each starts a program that loads the whole package: 1 s, more on a busy machine.
describe('a package that is not installed', () => {
  it('is named by a command that needs the embedded model, and needed by no other', async () => {
    const cwd = installWithout('rxspeech-whisper-tiny-en')
    const main = 'node_modules/rxspeech-service/dist/cli/main.js'
    const run = (...args: readonly string[]) =>
      runProgram(process.execPath, ['--preserve-symlinks', '--preserve-symlinks-main', main, ...args], { cwd })
    const call = join(checkout, 'samples/call.wav')
    const message =
      'rxspeech: The model English, which reads any English speech, is not installed: npm install rxspeech-whisper-tiny-en.\n'
    expect(await run('transcribe', call)).toMatchObject({ exitCode: 1, stdout: '', stderr: message })
    expect((await run('models')).stdout).toMatch(/^TENANT.*\nDefault +call +1 +the sample call only .*\n$/)
  })
})
