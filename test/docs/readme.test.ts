import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, type Block } from './markdown.js'
import { openReaderFolder, type ReaderFolder } from './reader-folder.js'
import {
  checkout,
  compileProject,
  longestLingerMs,
  runProgram,
  runTypeScript,
  startProgram,
  type ProgramRun,
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
  project.write(
    'tsconfig.json',
    JSON.stringify({ compilerOptions: { ...compilerOptions, rootDir: '.' }, include: ['block-*.ts'] }),
  )
  for (const { language, text } of blocks) if (language === 'ts') project.write(`${nameOf(text)}.ts`, text)
})

afterAll(async () => {
  await server?.stop()
  project.remove()
})

const nameOf = (text: string): string => `block-${String(blocks.findIndex((block) => block.text === text))}`

/** What a program printed, that has to have ended well and by itself. */
const printedBy = (run: ProgramRun): readonly string[] => {
  expect({ exitCode: run.exitCode, stderr: run.stderr }).toEqual({ exitCode: 0, stderr: '' })
  expect(run.lingeredMs).toBeLessThan(longestLingerMs)
  return run.stdout.trimEnd().split('\n')
}

let compilation: Promise<ProgramRun> | undefined
/** All blocks of TypeScript at once, type-checked against the built package. */
const compiled = async (): Promise<void> => {
  const { exitCode, stdout } = await (compilation ??= compileProject(project.path))
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '' })
}

/** Type-checked and run, in the project. */
const typeScript = async (text: string) => {
  await compiled()
  return printedBy(await runProgram(process.execPath, [`${nameOf(text)}.js`], { cwd: project.path }))
}

const serviceFile = (): string => join(project.path, 'service.json')

/** Waits for the block that starts the service, which comes before. */
const needService = () =>
  expect
    .poll(() => existsSync(serviceFile()) && readFileSync(serviceFile(), 'utf8'), { timeout: 60_000 })
    .toMatch(/\n$/)

const sentences = [
  'good evening harbor grill how can i help you',
  'of course which day would you like',
  'thank you goodbye',
]

/**
 * What each block has to do, by the words that it alone has. Blocks run at the same time, and none has a preamble: the
 * one that starts the service leaves `service.json` behind for those below it, which wait for it.
 */
const expectations: Readonly<Record<string, (block: Block) => Promise<void>>> = {
  'npm ci && npm start': async ({ text }) => {
    expect(text).toBe('npm ci && npm start\nnpm test')
    // `npm ci` would take away what this test runs on, and `npm test` is what runs it: that both are commands of the
    // checks is all that can be seen from here.
    // `npm start` builds first by the same script as `npm test` did before this test. To build again here would write
    // the files that other tests read.
    const { scripts } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as {
      readonly scripts: Readonly<Record<string, string>>
    }
    expect(scripts['test']).toContain('vitest run')
    expect(scripts).toMatchObject({ prestart: 'npm run build', pretest: 'npm run build' })
    const steps = readFileSync(join(checkout, '.ci/run'), 'utf8')
    expect(steps).toMatch(/^step npm ci\b/m)
    // All tests: those of `npm test`, and the long ones.
    expect(steps).toMatch(/^step npm run test:all$/m)
    expect(scripts['test:all']).toMatch(/^vitest run(?!.* --project)/)
    const { exitCode, stdout } = await runProgram('npm', ['start', '--silent', '--ignore-scripts'], {
      timeoutMs: 160_000,
    })
    expect(exitCode).toBe(0)
    for (const sentence of sentences) expect(stdout).toContain(sentence)
  },
  "inMemoryService({ modelFolders: ['samples/models'] })\n  const { format, audio }": async ({ text }) => {
    expect(text.split('\n').length).toBeLessThanOrEqual(16)
    // As the page says it: by ts-node, which type-checks it in a project like this one.
    project.write('first.ts', text)
    const lines = printedBy(await runTypeScript('first.ts', { cwd: project.path, timeoutMs: 100_000 }))
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
    await expect.poll(() => readFileSync(serviceFile(), 'utf8'), { timeout: 30_000 }).toMatch(/^\{.*\}\n$/)
    const access = JSON.parse(readFileSync(serviceFile(), 'utf8')) as object
    expect(Object.keys(access).sort()).toEqual(
      ['authUrl', 'ca', 'clientId', 'clientSecret', 'grpc', 'model', 'project', 'tenant', 'wsUrl'].sort(),
    )
  },
  'rxspeech token': async ({ text }) => {
    await needService()
    const { exitCode, stdout, stderr } = await project.shell(`${text}\necho "token $RXSPEECH_TOKEN"`)
    expect({ exitCode, stderr: exitCode === 0 ? '' : stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(stdout).toMatch(/^token [\w-]+\.[\w-]+\.[\w-]+$/m)
    for (const sentence of sentences) expect(stdout).toContain(sentence)
  },
  'recognize({ url: service.wsUrl': async ({ text }) => {
    await needService()
    const lines = await typeScript(text)
    for (const sentence of sentences) expect(lines.slice(-2).join('\n')).toContain(sentence)
  },
  'dataflow({ address': async ({ text }) => {
    await needService()
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

  // Programs in processes of their own, and the compiler.
  describe.concurrent('keeps its word', { timeout: 180_000 }, () => {
    it('that its TypeScript compiles, in the project of a user', async () => {
      await compiled()
    })

    it.each(blocks.map((block) => [block.line, block.text.split('\n')[0] ?? '', block] as const))(
      'in line %i: %s',
      async (_line, _text, block) => {
        const [key = ''] = keysOf(block)
        const run = expectations[key]
        if (run === undefined) throw new Error('This block is of an unknown kind; say in this test what it has to do.')
        await run(block)
      },
    )
  })

  it('leaves no service behind', async () => {
    if (server === undefined) throw new Error('No block started the service.')
    expect(await server.stop()).toBe(0)
  })
})
