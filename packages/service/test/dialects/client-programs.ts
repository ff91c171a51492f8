import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { blocksOf, filesOf } from '../../../../test/docs/markdown.js'

const run = promisify(execFile)

/** Of npm, with the line of Node that they need: some 600 MB. */
const nodePackages = [
  `node@npm:node-${process.platform}-${process.arch}@24.21.0`,
  'openai@7.59.0',
  'ai@7.0.173',
  '@ai-sdk/deepgram@3.1.16',
  '@ai-sdk/openai@4.0.118',
  'ai-6@npm:ai@6.0.326',
  '@openai/agents-realtime@0.20.0',
  '@deepgram/sdk@5.13.0',
  'deepgram-4@npm:@deepgram/sdk@4.11.3',
  '@livekit/agents@1.9.0',
  '@livekit/agents-plugin-deepgram@1.9.0',
  '@livekit/agents-plugin-openai@1.9.0',
]

/** Of PyPI, some 650 MB. A package that they need exists as source only. */
const pythonPackages = [
  'openai==3.57.0',
  'deepgram-sdk==7.17.0',
  'pipecat-ai[deepgram,openai]==1.14.0',
  'livekit-plugins-deepgram==1.8.9',
  'livekit-plugins-openai==1.8.9',
  'pytest==9.2.0',
]

/** What a step of a program printed. */
export type Steps = Readonly<Record<string, unknown>>

/** The clients of others, in a folder with the programs that use them. */
export interface InstalledClients {
  readonly folder: string
  /** Runs the interpreter in the folder, and resolves with what it printed. */
  output(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string>
  /** Runs a program of the folder, and resolves with what its steps printed. */
  run(program: string, env: Readonly<Record<string, string>>): Promise<Steps>
  remove(): Promise<void>
}

const checkout = join(__dirname, '../../../..')

/** Undefined if the packages cannot be had, unless they are required. */
const install = async (
  interpreter: string,
  needed: readonly string[],
  installInto: (folder: string) => Promise<unknown>,
): Promise<InstalledClients | undefined> => {
  // For work on these tests: it keeps the packages.
  const kept = process.env['CLIENTS_FOLDER']
  const folder = kept ?? (await mkdtemp(join(tmpdir(), 'rxspeech-clients-')))
  const remove = (): Promise<void> =>
    kept === undefined ? rm(folder, { recursive: true, force: true }) : Promise.resolve()
  try {
    if (!existsSync(join(folder, interpreter))) await installInto(folder)
    await cp(join(__dirname, 'clients'), folder, { recursive: true })
    if (!existsSync(join(folder, 'samples'))) await symlink(join(checkout, 'samples'), join(folder, 'samples'))
    for (const page of ['ai-sdk', 'other-clients']) {
      const text = await readFile(join(checkout, `docs/recipes/${page}.md`), 'utf8')
      for (const [name, program] of filesOf(blocksOf(text))) await writeFile(join(folder, name), program)
    }
  } catch (error) {
    await remove()
    if (process.env['RXSPEECH_REQUIRE_INTEROP'] === '1') throw error
    process.stderr.write(`Skipped tests, which need: ${needed.join(' ')}\n`)
    return undefined
  }
  const output: InstalledClients['output'] = async (args, env) => {
    const { stdout } = await run(join(folder, interpreter), args, {
      cwd: folder,
      env: { ...process.env, ...env },
      timeout: 110_000,
      maxBuffer: 2 ** 26,
    })
    return stdout
  }
  return {
    folder,
    output,
    run: async (program, env) => {
      const lines = (await output([program], env)).split('\n').filter((line) => line !== '')
      const steps = lines.map((line) => JSON.parse(line) as { readonly step: string; readonly value?: unknown })
      return Object.fromEntries(steps.map(({ step, value }) => [step, value]))
    },
    remove,
  }
}

export const installNodeClients = (): Promise<InstalledClients | undefined> =>
  install('node_modules/node/bin/node', nodePackages, async (folder) => {
    const quietly = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--no-save', '--loglevel=error']
    await run('npm', ['install', ...quietly, '--prefix', folder, ...nodePackages], { timeout: 280_000 })
    await symlink(checkout, join(folder, 'node_modules/rxspeech'))
    await symlink(join(checkout, 'packages/service'), join(folder, 'node_modules/rxspeech-service'))
  })

export const installPythonClients = (): Promise<InstalledClients | undefined> =>
  install('bin/python', pythonPackages, async (folder) => {
    await run('python3', ['-m', 'venv', folder])
    const quietly = ['--quiet', '--disable-pip-version-check', '--no-compile', '--prefer-binary']
    const pip = ['-m', 'pip', 'install', ...quietly, ...pythonPackages]
    await run(join(folder, 'bin/python'), pip, { timeout: 280_000 })
    // For `npx rxspeech-service`.
    await mkdir(join(folder, 'node_modules/.bin'), { recursive: true })
    await symlink(
      join(checkout, 'packages/service/bin/rxspeech.mjs'),
      join(folder, 'node_modules/.bin/rxspeech-service'),
    )
  })
