import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, type Block } from './markdown.js'
import { openReaderFolder, type ReaderFolder } from './reader-folder.js'
import {
  checkout,
  longestLingerMs,
  runProgram,
  runTypeScript,
  startProgram,
  type RunningProgram,
} from './run-program.js'

const page = readFileSync(join(checkout, 'README.md'), 'utf8')
const blocks = blocksOf(page)

/** A user's project. */
let project: ReaderFolder
let server: RunningProgram | undefined

beforeAll(() => {
  project = openReaderFolder(['typescript', '@types/node'])
  project.write('package.json', JSON.stringify({ private: true, type: 'commonjs' }))
  const compilerOptions = { target: 'es2022', module: 'nodenext', types: ['node'], strict: true, skipLibCheck: true }
  project.write('tsconfig.json', JSON.stringify({ compilerOptions: { ...compilerOptions, rootDir: '.' } }))
})

afterAll(async () => {
  await server?.stop()
  project.remove()
})

/** Type-checked against the built package and run, in the project. It has to end by itself. */
const typeScript = async (text: string) => {
  const file = `block-${String(blocks.findIndex((block) => block.text === text))}.ts`
  project.write(file, text)
  const run = await runTypeScript(join(project.path, file), { cwd: project.path, timeoutMs: 100_000 })
  expect({ exitCode: run.exitCode, stderr: run.stderr }).toEqual({ exitCode: 0, stderr: '' })
  expect(run.lingeredMs).toBeLessThan(longestLingerMs)
  return run.stdout.trimEnd().split('\n')
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
 * What each block has to do, by the words that it alone has. Blocks run in the order of the page, and none has a
 * preamble: the one that starts the service leaves `service.json` behind for those below it.
 */
const expectations: Readonly<Record<string, (block: Block) => Promise<void>>> = {
  'npm ci && npm start': async ({ text }) => {
    expect(text).toBe('npm ci && npm start\nnpm test')
    // `npm ci` would take away what this test runs on, and `npm test` is what runs it: that both are commands of the
    // checks is all that can be seen from here.
    const { scripts } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as {
      readonly scripts: Readonly<Record<string, string>>
    }
    expect(scripts['test']).toContain('vitest run')
    const steps = readFileSync(join(checkout, '.ci/run'), 'utf8')
    expect(steps).toMatch(/^step npm ci\b/m)
    // Which runs all that `npm test` runs, and more.
    expect(steps).toMatch(/^step npm run test:all$/m)
    const { exitCode, stdout } = await runProgram('npm', ['start', '--silent'], { timeoutMs: 160_000 })
    expect(exitCode).toBe(0)
    for (const sentence of sentences) expect(stdout).toContain(sentence)
  },
  "inMemoryService({ modelFolders: ['samples/models'] })\n  const { format, audio }": async ({ text }) => {
    expect(text.split('\n').length).toBeLessThanOrEqual(16)
    const lines = await typeScript(text)
    for (const sentence of sentences) expect(lines.slice(-2).join('\n')).toContain(sentence)
  },
  'rxspeech transcribe samples/call.wav --speakers': async ({ text }) => {
    const { exitCode, stdout } = await project.shell(text)
    expect(exitCode).toBe(0)
    // Twice as text, of the file and of its samples; once as events.
    for (const sentence of sentences) expect(stdout.split(sentence)).toHaveLength(3)
    const events = readFileSync(join(project.path, 'events.ndjson'), 'utf8').trimEnd().split('\n')
    const types = events.map((event) => (JSON.parse(event) as { readonly type: string }).type)
    expect(types.filter((type) => type === 'final')).toHaveLength(2)
  },
  'rxspeech serve --dev': async ({ text }) => {
    const command = text.replace(/ &$/, '')
    server = startProgram('bash', ['-c', `exec ${command}`], { cwd: project.path, env: project.env })
    const file = join(project.path, 'service.json')
    await expect.poll(() => readFileSync(file, 'utf8'), { timeout: 30_000 }).toMatch(/^\{.*\}\n$/)
    const access = JSON.parse(readFileSync(file, 'utf8')) as object
    expect(Object.keys(access).sort()).toEqual(
      ['authUrl', 'ca', 'clientId', 'clientSecret', 'grpc', 'model', 'project', 'tenant', 'wsUrl'].sort(),
    )
  },
  'rxspeech token': async ({ text }) => {
    needService()
    const { exitCode, stdout, stderr } = await project.shell(`${text}\necho "token $RXSPEECH_TOKEN"`)
    expect({ exitCode, stderr: exitCode === 0 ? '' : stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(stdout).toMatch(/^token [\w-]+\.[\w-]+\.[\w-]+$/m)
    for (const sentence of sentences) expect(stdout).toContain(sentence)
  },
  'recognize({ url: service.wsUrl': async ({ text }) => {
    needService()
    const lines = await typeScript(text)
    for (const sentence of sentences) expect(lines.slice(-2).join('\n')).toContain(sentence)
  },
  'dataflow({ address': async ({ text }) => {
    needService()
    const lines = await typeScript(text)
    for (const sentence of sentences) expect(lines.join('\n')).toMatch(new RegExp(`^[01] \\d+ +${sentence}$`, 'm'))
  },
  'finalize$: timer': async ({ text }) => {
    const lines = await typeScript(text)
    expect(lines).toContain('finalize final')
    expect(lines).toContain('stop response')
    expect(lines).not.toContain('stop final')
  },
  "retryable ? 'may work later'": async ({ text }) => {
    const [line] = await typeScript(text)
    expect(line).toMatch(/^connection-failed may work later The token endpoint at 127\.0\.0\.1:1 could not be reached/)
  },
  'startService({': async ({ text }) => {
    const [line] = await typeScript(text)
    expect(line).toMatch(/^http:\/\/127\.0\.0\.1:\d+ ws:\/\/127\.0\.0\.1:\d+ 127\.0\.0\.1:\d+$/)
  },
}

const keysOf = ({ text }: Block): readonly string[] => Object.keys(expectations).filter((key) => text.includes(key))

describe('README.md', () => {
  it('is at most 180 lines long', () => {
    expect(page.trimEnd().split('\n').length).toBeLessThanOrEqual(180)
  })

  it('has blocks of sh and ts only, each with one expectation here, and each expectation its block', () => {
    expect(blocks.map(({ language }) => language).filter((language) => !['sh', 'ts'].includes(language))).toEqual([])
    expect(blocks.map((block) => [block.line, keysOf(block).length])).toEqual(blocks.map(({ line }) => [line, 1]))
    expect(blocks.flatMap(keysOf).sort()).toEqual(Object.keys(expectations).sort())
  })

  it('links to what is there', () => {
    const links = [...page.matchAll(/\]\(([^)#]+)\)/g)].map(([, link = '']) => link)
    expect(links.filter((link) => !existsSync(join(checkout, link)))).toEqual([])
  })

  for (const block of blocks) {
    it(
      `keeps its word in line ${String(block.line)}: ${block.text.split('\n')[0] ?? ''}`,
      { timeout: 180_000 },
      async () => {
        const [key = ''] = keysOf(block)
        const run = expectations[key]
        if (run === undefined) throw new Error('This block is of an unknown kind; say in this test what it has to do.')
        await run(block)
      },
    )
  }

  it('leaves no service behind', async () => {
    if (server === undefined) throw new Error('No block started the service.')
    expect(await server.stop()).toBe(0)
  })
})
