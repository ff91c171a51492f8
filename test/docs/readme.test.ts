import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, type Block } from './markdown.js'
import { exampleModules, publicNames } from './public-names.js'
import { openReaderFolder, type ReaderFolder } from './reader-folder.js'
import {
  checkout,
  maxLingerMs,
  runProgram,
  runTypeScript,
  startProgram,
  type ProgramRun,
  type RunningProgram,
  type RunOptions,
} from './run-program.js'
import { writeCall } from '../../packages/service/test/cli/wav-files.js'
import { longIt } from '../thorough.js'

const page = readFileSync(join(checkout, 'README.md'), 'utf8')
const blocks = blocksOf(page)

const tsc = join(checkout, 'node_modules/typescript-7/bin/tsc')

/** A user's project: the programs of the page, and the examples of the API reference. */
let project: ReaderFolder
let server: RunningProgram | undefined
/** Faults of one run of the compiler, which takes longer to start than to check a file. */
let faults: readonly string[] = []

const blockName = (block: Block): string => `block-${String(blocks.indexOf(block))}`

beforeAll(async () => {
  project = openReaderFolder(['typescript', 'react', '@types/node', '@types/react'])
  project.write('package.json', JSON.stringify({ private: true, type: 'commonjs' }))
  const compilerOptions = { target: 'es2022', module: 'nodenext', types: ['node'], strict: true, skipLibCheck: true }
  // The files of the checkout, in which the first program runs.
  const tsNode = { transpileOnly: true }
  project.write(
    'tsconfig.json',
    JSON.stringify({ compilerOptions: { ...compilerOptions, rootDir: '.' }, 'ts-node': tsNode }),
  )
  for (const block of blocks) if (block.language === 'ts') project.write(`${blockName(block)}.ts`, block.text)
  for (const [name, text] of exampleModules(publicNames())) project.write(`examples/${name}`, text)
  const run = await runProgram(process.execPath, [tsc, '-p', '.', '--outDir', 'compiled'], inProject())
  faults = run.stdout.split('\n').filter((line) => line !== '')
  if (run.exitCode !== 0 && faults.length === 0) throw new Error(`The compiler failed: ${run.stderr}`)
})

afterAll(async () => {
  await server?.stop()
  project.remove()
})

/** Runs in the project; the test that compiles all of them must run before. It must exit by itself. */
const typeScript = async (block: Block) =>
  linesOf(await runProgram(process.execPath, [`compiled/${blockName(block)}.js`], inProject()))

/** With ts-node, as on the page. */
const firstProgram = async (block: Block) =>
  linesOf(await runTypeScript(join(project.path, `${blockName(block)}.ts`), inProject()))

const inProject = (): RunOptions => ({ cwd: project.path, timeoutMs: 100_000 })

const linesOf = ({ exitCode, stdout, stderr, lingeredMs }: ProgramRun): readonly string[] => {
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
  expect(lingeredMs).toBeLessThan(maxLingerMs)
  return stdout.trimEnd().split('\n')
}

const needService = (): void => {
  if (!existsSync(join(project.path, 'service.json')))
    throw new Error('The block with `rxspeech serve` has to come before.')
}

const sentences = [
  'good evening harbor grill how can i help you',
  'of course which day would you like',
  'thank you goodbye',
]

/**
 * The expectation for each block, by words that only this block contains. Blocks run in the order of the page, without
 * preamble: the one that starts the service leaves `service.json` for the following blocks.
 */
const expectations: Readonly<Record<string, (block: Block) => Promise<void>>> = {
  'npx rxspeech-service transcribe my.wav': async ({ text }) => {
    const manifest = readFileSync(join(checkout, 'packages/service/package.json'), 'utf8')
    expect(manifest).toMatch(/"bin": \{[^}]*"rxspeech-service": /)
    const commands = text.split('\n').map((line) => line.replace(/^npx rxspeech-service/, 'rxspeech'))
    // Another block starts the service.
    expect(commands.pop()).toBe('rxspeech serve --dev')
    await writeCall(join(project.path, 'my.wav'), { encoding: 'pcm', sampleRateHz: 44_100, channels: 2 }, 3_500)
    const { exitCode, stdout } = await project.shell(commands.join('\n'))
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^\[00:00\.\d\] left: Good evening, Harbou?r \S+ How can I help you\?\n$/)
    expect(readFileSync(join(project.path, 'my.srt'), 'utf8')).toMatch(/^1\n00:00:00,\d{3} --> /)
  },
  'npm ci && npm start': async ({ text }) => {
    expect(text).toBe('npm ci && npm start\nnpm test')
    // `npm ci` would remove what this test runs on, and `npm test` runs this test: it only checks that both are
    // commands of the project.
    const { scripts } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as {
      readonly scripts: Readonly<Record<string, string>>
    }
    expect(scripts['test']).toContain('vitest run')
    const steps = readFileSync(join(checkout, '.ci/run'), 'utf8')
    expect(steps).toMatch(/^step npm ci\b/m)
    // It runs everything that `npm test` runs, and more.
    expect(steps).toMatch(/^step npm run test:all\b/m)
    // What `npm start` runs after the build, which these tests use and which must not change meanwhile.
    expect(scripts['build']).toContain(scripts['prestart'])
    const [program, ...args] = (scripts['start'] ?? '').split(' ')
    expect(program).toBe('node')
    const { exitCode, stdout } = await runProgram(process.execPath, args, { timeoutMs: 160_000 })
    expect(exitCode).toBe(0)
    for (const sentence of sentences) expect(stdout).toContain(sentence)
    expect(stdout).toContain('\nTry next:\n')
  },
  "inMemoryService({ modelFolders: ['samples/models'] })\n  const { format, audio }": async (block) => {
    expect(block.text.split('\n').length).toBeLessThanOrEqual(16)
    const lines = await firstProgram(block)
    const { turns } = JSON.parse(readFileSync(join(checkout, 'samples/call.json'), 'utf8')) as {
      readonly turns: readonly { readonly channel: number; readonly text: string }[]
    }
    expect(lines).toEqual(turns.map(({ channel, text }) => `${channel === 0 ? 'Restaurant' : 'Guest'}: ${text}`))
  },
  'rxspeech transcribe samples/call.wav --speakers': async ({ text }) => {
    const { exitCode, stdout } = await project.shell(text)
    expect(exitCode).toBe(0)
    // As any speech, and its samples as sentences of the grammar; once as events.
    expect(stdout).toMatch(/restaurant: Good evening, Harbou?r /)
    for (const sentence of sentences) expect(stdout.split(sentence)).toHaveLength(2)
    const events = readFileSync(join(project.path, 'events.ndjson'), 'utf8').trimEnd().split('\n')
    const types = events.map((event) => (JSON.parse(event) as { readonly type: string }).type)
    expect(types.filter((type) => type === 'final')).toHaveLength(2)
    const subtitles = readFileSync(join(project.path, 'subtitles/call.srt'), 'utf8')
    expect(subtitles).toMatch(/^1\n00:00:00,\d{3} --> /)
  },
  'rxspeech serve --dev': async ({ text }) => {
    const command = text.replace(/ &$/, '')
    server = startProgram('bash', ['-c', `exec ${command}`], { cwd: project.path, env: project.env })
    const file = join(project.path, 'service.json')
    await expect.poll(() => readFileSync(file, 'utf8')).toMatch(/^\{.*\}\n$/)
    const access = JSON.parse(readFileSync(file, 'utf8')) as object
    expect(Object.keys(access).sort()).toEqual(
      [
        ...['authUrl', 'ca', 'clientId', 'clientSecret', 'grpc', 'model', 'project', 'tenant', 'wsUrl'],
        ...['credentials', 'pageUrl', 'plainAuthUrl', 'plainWsUrl'],
      ].sort(),
    )
  },
  'rxspeech token': async ({ text }) => {
    needService()
    const { exitCode, stdout, stderr } = await project.shell(`${text}\necho "token $RXSPEECH_TOKEN"`)
    expect({ exitCode, stderr: exitCode === 0 ? '' : stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(stdout).toMatch(/^token [\w-]+\.[\w-]+\.[\w-]+$/m)
    for (const sentence of sentences) expect(stdout).toContain(sentence)
  },
  'recognize({ url, model, connection: { ca }': async (block) => {
    needService()
    const lines = await typeScript(block)
    for (const sentence of sentences) expect(lines.slice(-2).join('\n')).toContain(sentence)
  },
  'dataflow({ url, connection: { ca }': async (block) => {
    needService()
    const lines = await typeScript(block)
    for (const sentence of sentences) expect(lines.join('\n')).toMatch(new RegExp(`^[01] \\d+ +${sentence}$`, 'm'))
  },
  'finalize$: timer': async (block) => {
    const lines = await typeScript(block)
    expect(lines).toContain('finalize final')
    expect(lines).toContain('stop response')
    expect(lines).not.toContain('stop final')
  },
  "retryable ? 'may work later'": async (block) => {
    const [line] = await typeScript(block)
    expect(line).toMatch(/^connection-failed may work later The token endpoint at 127\.0\.0\.1:1 could not be reached/)
  },
}

/** The blocks that start services of their own, which only `npm run test:all` runs. */
const withTheService: ReadonlySet<string> = new Set([
  'npm ci && npm start',
  'npx rxspeech-service transcribe my.wav',
  'rxspeech transcribe samples/call.wav --speakers',
  'rxspeech serve --dev',
  'rxspeech token',
  'recognize({ url, model, connection: { ca }',
  'dataflow({ url, connection: { ca }',
])

const keysOf = ({ text }: Block): readonly string[] => Object.keys(expectations).filter((key) => text.includes(key))

describe('the examples of the API reference', () => {
  it('compile against the built package', () => {
    expect(faults.filter((line) => line.startsWith('examples/'))).toEqual([])
    expect(existsSync(join(project.path, 'compiled/examples/rxspeech/recognize.js'))).toBe(true)
  })
})

describe('README.md', () => {
  it('is at most 180 lines long', () => {
    expect(page.trimEnd().split('\n').length).toBeLessThanOrEqual(180)
  })

  it('has blocks of sh and ts only, each with one expectation here, and each expectation with its block', () => {
    expect(blocks.map(({ language }) => language).filter((language) => !['sh', 'ts'].includes(language))).toEqual([])
    expect(blocks.map((block) => [block.line, keysOf(block).length])).toEqual(blocks.map(({ line }) => [line, 1]))
    expect(blocks.flatMap(keysOf).sort()).toEqual(Object.keys(expectations).sort())
  })

  it('links to existing targets', () => {
    const links = [...page.matchAll(/\]\(([^)#]+)\)/g)].map(([, link = '']) => link)
    expect(links.filter((link) => !existsSync(join(checkout, link)))).toEqual([])
  })

  it('has programs that compile, each against the built package', () => {
    expect(faults.filter((line) => !line.startsWith('examples/'))).toEqual([])
  })

  for (const block of blocks) {
    const isLong = keysOf(block).some((key) => withTheService.has(key))
    ;(isLong ? longIt : it)(
      `does what the page says, line ${String(block.line)}: ${block.text.split('\n')[0] ?? ''}`,
      { timeout: 180_000 },
      async () => {
        const [key = ''] = keysOf(block)
        const run = expectations[key]
        if (run === undefined) throw new Error('This block has no expectation in this test; add one.')
        await run(block)
      },
    )
  }

  longIt('leaves no service running', async () => {
    if (server === undefined) throw new Error('No block started the service.')
    expect(await server.stop()).toBe(0)
  })
})
