import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { checkout, runProgram } from '../docs/run-program.js'
import { first } from '../thorough.js'

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
  const names = [...readdirSync(modules).filter((name) => !/^[@.]/.test(name) && name !== 'rxspeech'), ...scoped]
  for (const scope of [...scopes, 'rxspeech']) mkdirSync(join(folder, 'node_modules', scope), { recursive: true })
  for (const name of names) if (name !== missing) link(join(modules, name), 'node_modules', name)
  for (const name of ['dist', 'package.json', 'proto', 'samples'])
    link(join(checkout, name), 'node_modules/rxspeech', name)
  return folder
}

const project = [
  'version: 1',
  'nodes: { in: entry, words: recognizer, out: publisher }',
  'wires: [in -> words, words -> out]',
].join('\n')

/** The outcome of a session of half a second in memory, and of a service that starts. */
const program = `
const { of, lastValueFrom, tap } = require('rxjs')
const { inMemoryService } = require('rxspeech/testing')
const { recognize } = require('rxspeech')
const { dataflow } = require('rxspeech/grpc')
const { startDevelopmentService } = require('rxspeech/service')
const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }
const modelFolders = ['node_modules/rxspeech/samples/models']
const ways = {
  recognize: [{}, (service) => recognize(service.recognizer({ format }))],
  dataflow: [{}, (service) => dataflow(service.dataflow({ format }))],
  models: [{ modelFolders }, (service) => recognize(service.recognizer({ format }))],
  project: [
    { projects: { own: ${JSON.stringify(project)} } },
    (service) => dataflow(service.dataflow({ project: 'own', format })),
  ],
}
const describe = (error) => ({ code: error.code, retryable: error.retryable, message: error.message })
const run = async (way) => {
  if (way === 'service') {
    return startDevelopmentService({ modelFolders, stateFolder: 'state' }).then((service) => service.close(), describe)
  }
  const [options, operator] = ways[way]
  const service = inMemoryService(options)
  let reconnects = 0
  const events$ = operator(service)(of(new Uint8Array(8000))).pipe(
    tap((event) => { if (event.type === 'connection' && event.state === 'reconnecting') reconnects += 1 }),
  )
  const end = await lastValueFrom(events$).then(() => 'done', describe)
  await service.close()
  return typeof end === 'string' ? end : { ...end, reconnects }
}
const main = async () => {
  const ends = {}
  for (const way of process.argv.slice(2)) ends[way] = await run(way)
  console.log(JSON.stringify(ends))
}
void main()
`

const endsWithout = async (missing: string, ways: readonly string[]): Promise<Readonly<Record<string, unknown>>> => {
  const cwd = installWithout(missing)
  writeFileSync(join(cwd, 'program.cjs'), program)
  const args = ['--preserve-symlinks', '--preserve-symlinks-main', 'program.cjs', ...ways]
  const { stdout, stderr } = await runProgram(process.execPath, args, { cwd, timeoutMs: 25_000 })
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout) as Readonly<Record<string, unknown>>
}

const missingDependency = (message: string): object => ({ code: 'missing-dependency', retryable: false, message })

// Each starts a program that loads the whole package: 1 s, more on a busy machine.
describe('a package that is not installed', () => {
  it('is named by a session in memory whose model needs it, and needed by no other', async () => {
    const named = missingDependency(
      'This engine needs the package soundswallower, which comes with another: npm install rxspeech-service.',
    )
    const ends = await endsWithout('soundswallower', ['models', 'recognize'])
    expect(ends).toEqual({ models: { ...named, reconnects: 0 }, recognize: 'done' })
  })

  it('is named by a session in memory whose project needs it', async () => {
    const named = missingDependency(
      'Reading projects needs the package yaml, which comes with another: npm install rxspeech-service.',
    )
    const ends = await endsWithout('yaml', ['project', 'dataflow'])
    expect(ends).toEqual({ project: { ...named, reconnects: 0 }, dataflow: 'done' })
  })

  it('is named by a command that needs the embedded model, and needed by no other', async () => {
    const cwd = installWithout('rxspeech-whisper-tiny-en')
    const main = 'node_modules/rxspeech/dist/cjs/cli/main.js'
    const run = (...args: readonly string[]) =>
      runProgram(process.execPath, ['--preserve-symlinks', '--preserve-symlinks-main', main, ...args], { cwd })
    const call = 'node_modules/rxspeech/samples/call.wav'
    const message =
      'rxspeech: The model English, which reads any English speech, is not installed: npm install rxspeech-whisper-tiny-en.\n'
    expect(await run('transcribe', call)).toMatchObject({ exitCode: 1, stdout: '', stderr: message })
    expect((await run('models')).stdout).toMatch(/^TENANT.*\nDefault +call +1 +the sample call only .*\n$/)
  })

  it.each(
    first(1, [
      ['jose', 'The identity service'],
      ['grpc-health-check', 'The health service'],
      ['@grpc/reflection', 'Server reflection'],
    ]),
  )('is named by a service that starts: %s', async (missing, what) => {
    const { service } = await endsWithout(missing, ['service'])
    const installs = 'which comes with another: npm install rxspeech-service.'
    expect(service).toMatchObject({ code: 'missing-dependency', retryable: false })
    expect((service as Error).message).toMatch(new RegExp(`^${what} needs the package ${missing}, ${installs}$`))
  })
})
