import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig, type TestProjectConfiguration } from 'vitest/config'

/**
 * Each package has up to four kinds of tests, told apart by their names:
 * - `*.test.ts` is pure or runs in virtual time.
 * - `*.live.test.ts` opens sockets, starts processes, workers or engines.
 * - `*.isolated.test.ts` is live and replaces modules, or counts what the whole process holds: each file has a process.
 * - `*.long.test.ts` is live and takes long by nature, as clients in other languages do. Only `npm run test:all` and
 *   `.ci/run` run it, with all of the properties and matrices of which `npm test` tries a share (test/thorough.ts).
 *
 * All pure files of a package and worker share its modules, and so do all live ones, which saves most of their time.
 */
const cores = Math.max(2, availableParallelism() - 1)
const packages = ['engines', 'server', 'nodes', 'nats', 'dialects', 'studio', 'service']
/** Folders of tests of a package that are all live. */
const liveFolders: Readonly<Record<string, string>> = {
  engines: 'contract',
  server: 'contract',
  service: '{cli,docs,faults,interop,package,samples}',
}
const quick = { testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 20_000 } } }
// Only a test that hangs takes as long: machines are slow, and busy with other tests.
const patient = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 60_000 } } }
// They play audio in real time, in browsers and many processes at a time.
const unhurried = { testTimeout: 300_000, hookTimeout: 300_000, expect: { poll: { timeout: 120_000 } } }
/** The folder of another version of RxJS, on which the pure tests then run. */
const { RXSPEECH_RXJS: rxjs } = process.env
const leakedHandles = 'scripts/testing/leaked-handles.mjs'

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** Tests run the sources of all packages, not their builds. */
const alias = [
  { find: /^rxspeech\/internal\/(.*)$/, replacement: source('src/$1.ts') },
  { find: /^rxspeech-(engines|server|nodes|nats|dialects)\/(.*)$/, replacement: source('packages/$1/src/$2.ts') },
  { find: /^rxspeech-service$/, replacement: source('packages/service/src/index.ts') },
  { find: /^rxspeech-service\/(nodes|testing)$/, replacement: source('packages/service/src/$1.ts') },
]

/** @param live patterns of files of the folder that are live by another name */
const kindsOf = (name: string, folder: string, live: readonly string[], isolated: readonly string[]) => {
  const all = `${folder}/**/*.test.ts`
  const liveFiles = [...live, `${folder}/**/*.live.test.ts`]
  const isolatedFiles = [...isolated, `${folder}/**/*.isolated.test.ts`]
  const long = `${folder}/**/*.long.test.ts`
  const projects: TestProjectConfiguration[] = [
    {
      test: {
        ...quick,
        name: `${name}-unit`,
        alias: [...alias, ...(rxjs === undefined ? [] : [{ find: /^rxjs$/, replacement: rxjs }])],
        include: [all],
        exclude: [...liveFiles, ...isolatedFiles, long],
        setupFiles: [leakedHandles, 'scripts/testing/no-handles.mjs'],
        isolate: false,
        maxWorkers: cores,
        sequence: { groupOrder: 1 },
      },
    },
    {
      test: {
        ...patient,
        name: `${name}-live`,
        alias,
        include: liveFiles,
        exclude: [...isolatedFiles, long],
        setupFiles: [leakedHandles],
        isolate: false,
        // Half of their time they wait for sockets, timers and processes.
        maxWorkers: cores + 1,
        sequence: { groupOrder: 2 },
      },
    },
    {
      test: {
        ...patient,
        name: `${name}-isolated`,
        alias,
        include: isolatedFiles,
        setupFiles: [leakedHandles],
        maxWorkers: cores,
        sequence: { groupOrder: 3 },
      },
    },
    {
      test: {
        ...unhurried,
        name: `${name}-long`,
        alias,
        include: [long],
        setupFiles: [leakedHandles],
        // Most of their time they play audio in real time.
        maxWorkers: cores + 1,
        sequence: { groupOrder: 4 },
      },
    },
  ]
  return projects
}

export default defineConfig(({ mode }) => ({
  test: {
    env: mode === 'thorough' ? { RXSPEECH_THOROUGH: '1' } : {},
    reporters: ['./scripts/testing/summary-reporter.mjs'],
    projects: [
      ...kindsOf('rxspeech', 'test', ['test/{docs,faults,package}/**/*.test.ts'], []),
      ...packages
        .filter((name) => existsSync(source(`packages/${name}/test`)))
        .flatMap((name) =>
          kindsOf(
            name,
            `packages/${name}/test`,
            liveFolders[name] === undefined ? [] : [`packages/${name}/test/${liveFolders[name]}/**/*.test.ts`],
            // Engines load native packages and WebAssembly, of which each file has its own.
            name === 'engines' || name === 'nats' ? [`packages/${name}/test/**/*.live.test.ts`] : [],
          ),
        ),
    ],
  },
}))
