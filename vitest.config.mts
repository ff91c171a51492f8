import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/**
 * Four kinds of tests, told apart by their names:
 * - `*.test.ts` is pure or runs in virtual time.
 * - `*.live.test.ts` opens sockets, starts processes, workers or engines.
 * - `*.isolated.test.ts` is live and replaces modules, or counts what the whole process holds: each file has a process.
 * - `*.long.test.ts` is live and takes long by its nature, as clients in other languages do. Only `npm run test:all` runs
 *   it, as `.ci/run` does, which also tries all of the properties and matrices of which `npm test` tries a share
 *   (test/thorough.ts).
 *
 * All pure files of a worker share its modules, and so do all live ones, which saves most of their time.
 */
const cores = Math.max(2, availableParallelism() - 1)
const live = ['test/{cli,contract,docs,faults,interop,package,samples}/**/*.test.ts', 'test/**/*.live.test.ts']
const isolated = ['test/**/*.isolated.test.ts', 'test/service/engines/**/*.live.test.ts']
const long = 'test/**/*.long.test.ts'
const quick = { testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 20_000 } } }
// Only a test that hangs takes as long: machines are slow, and busy with other tests.
const patient = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 60_000 } } }
// They play audio in real time, in browsers and many processes at a time.
const unhurried = { testTimeout: 300_000, hookTimeout: 300_000, expect: { poll: { timeout: 120_000 } } }
/** The folder of another version of RxJS, on which the pure tests then run. */
const { RXSPEECH_RXJS: rxjs } = process.env
const leakedHandles = 'scripts/testing/leaked-handles.mjs'

export default defineConfig(({ mode }) => ({
  test: {
    env: mode === 'thorough' ? { RXSPEECH_THOROUGH: '1' } : {},
    reporters: ['./scripts/testing/summary-reporter.mjs'],
    projects: [
      {
        test: {
          ...quick,
          name: 'unit',
          ...(rxjs === undefined ? {} : { alias: { rxjs } }),
          include: ['test/**/*.test.ts'],
          exclude: [...live, ...isolated, long],
          setupFiles: [leakedHandles, 'scripts/testing/no-handles.mjs'],
          isolate: false,
          maxWorkers: cores,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...patient,
          name: 'live',
          include: live,
          exclude: [...isolated, long],
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
          name: 'isolated',
          include: isolated,
          setupFiles: [leakedHandles],
          maxWorkers: cores,
          sequence: { groupOrder: 3 },
        },
      },
      {
        test: {
          ...unhurried,
          name: 'long',
          include: [long],
          setupFiles: [leakedHandles],
          // Most of their time they play audio in real time.
          maxWorkers: cores + 1,
          sequence: { groupOrder: 4 },
        },
      },
    ],
  },
}))
