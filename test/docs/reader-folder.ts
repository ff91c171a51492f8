import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { checkout, runProgram, type ProgramRun } from './run-program.js'

const longestCommandMs = 120_000
/** Of a test that runs what a page tells one to type. */
export const readerTimeoutMs = longestCommandMs + 30_000

/** What the pages ask of a reader: the package and its peer installed, its command in the path, the samples beside. */
export interface ReaderFolder {
  readonly path: string
  /** What programs that run here need: the command is found. */
  readonly env: Readonly<Record<string, string>>
  /** Writes a file, and the folders that it is in. */
  readonly write: (name: string, text: string) => void
  /** In bash as a reader types it; what fails within it fails it. */
  readonly shell: (command?: string) => Promise<ProgramRun>
  readonly remove: () => void
}

/** @param packages what is installed beside the package and its peer. */
export const openReaderFolder = (packages: readonly string[] = []): ReaderFolder => {
  const path = mkdtempSync(join(tmpdir(), 'rxspeech-reader-'))
  const link = (what: string, at: string): void => {
    mkdirSync(dirname(join(path, at)), { recursive: true })
    symlinkSync(join(checkout, what), join(path, at))
  }
  for (const name of ['rxjs', ...packages]) link(`node_modules/${name}`, `node_modules/${name}`)
  link('', 'node_modules/rxspeech')
  link('samples', 'samples')
  link('dist/cjs/cli/main.js', 'bin/rxspeech')
  const env = { PATH: `${join(path, 'bin')}:${process.env['PATH'] ?? ''}` }
  return {
    path,
    env,
    write: (name, text) => {
      mkdirSync(dirname(join(path, name)), { recursive: true })
      writeFileSync(join(path, name), text)
    },
    shell: (command = '') =>
      runProgram('bash', ['-euo', 'pipefail', '-c', command], { cwd: path, env, timeoutMs: longestCommandMs }),
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}
