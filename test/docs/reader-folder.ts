import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { blocksOf, commandsOf, filesOf } from './markdown.js'
import { checkout, runProgram, type ProgramRun } from './run-program.js'

const maxCommandMs = 180_000
/** Of a test that runs the commands of a page. */
export const readerTimeoutMs = maxCommandMs + 30_000

/** What the pages require: the package and its peer installed, its command in the path, the samples. */
export interface ReaderFolder {
  readonly path: string
  /** The environment of programs that run here: the command is found. */
  readonly env: Readonly<Record<string, string>>
  /** Writes a file, and creates its folders. */
  readonly write: (name: string, text: string) => void
  /** In bash as a reader types it; a failing command fails the script. */
  readonly shell: (command?: string) => Promise<ProgramRun>
  readonly remove: () => void
}

/**
 * The service is installed as a copy, in whose samples stands another model of the name: of the call's sentences alone,
 * which reads the call in a quarter of the time. The pages read the call again and again, and few are about the engine;
 * the demo in the README's test runs with the model that the package has.
 *
 * @param packages what is installed beside the package and its peer.
 */
export const openReaderFolder = (packages: readonly string[] = []): ReaderFolder => {
  const path = mkdtempSync(join(tmpdir(), 'rxspeech-reader-'))
  const link = (what: string, at: string): void => {
    mkdirSync(dirname(join(path, at)), { recursive: true })
    symlinkSync(join(checkout, what), join(path, at))
  }
  for (const name of ['rxjs', ...packages]) link(`node_modules/${name}`, `node_modules/${name}`)
  for (const name of ['', '-engines', '-server', '-nodes', '-nats'])
    link(`node_modules/rxspeech${name}`, `node_modules/rxspeech${name}`)
  const installed = join(path, 'node_modules/rxspeech-service')
  for (const name of ['dist', 'package.json']) {
    cpSync(join(checkout, 'packages/service', name), join(installed, name), { recursive: true })
  }
  link('node_modules', 'node_modules/rxspeech-service/node_modules')
  for (const samples of ['node_modules/rxspeech-service/samples', 'samples']) {
    for (const name of ['call.wav', 'call.json']) link(`samples/${name}`, `${samples}/${name}`)
    link('packages/service/test/faults/models', `${samples}/models`)
  }
  mkdirSync(join(path, 'bin'))
  symlinkSync('../node_modules/rxspeech-service/dist/cli/main.js', join(path, 'bin/rxspeech'))
  const env = { PATH: `${join(path, 'bin')}:${process.env['PATH'] ?? ''}` }
  return {
    path,
    env,
    write: (name, text) => {
      mkdirSync(dirname(join(path, name)), { recursive: true })
      writeFileSync(join(path, name), text)
    },
    shell: (command = '') =>
      runProgram('bash', ['-euo', 'pipefail', '-c', command], { cwd: path, env, timeoutMs: maxCommandMs }),
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}

/** The page of a recipe, and a folder with its files in which the tests of one file run its commands. */
export const openRecipe = (name: string) => {
  const page = readFileSync(join(checkout, `docs/recipes/${name}.md`), 'utf8')
  const blocks = blocksOf(page)
  let folder: ReaderFolder
  beforeAll(() => {
    folder = openReaderFolder()
    for (const [file, text] of filesOf(blocks)) folder.write(file, text)
  })
  afterAll(() => folder.remove())
  return { page, blocks, commands: commandsOf(blocks), shell: (command?: string) => folder.shell(command) }
}
