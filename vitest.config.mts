import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/**
 * Three kinds of tests, told apart by their names:
 * - `*.test.ts` is pure or runs in virtual time. All of a worker's files share its modules, which saves most of their time.
 * - `*.live.test.ts` opens sockets, starts processes, workers or engines, or replaces modules: each file has a process.
 * - `*.long.test.ts` is live and takes long by its nature. Only `npm run test:all` runs it, as `.ci/run` does, which also
 *   tries all of the properties and matrices of which `npm test` tries a share (test/thorough.ts).
 */
const cores = Math.max(2, availableParallelism() - 1)
const live = ['test/{cli,contract,docs,faults,interop,package,samples}/**/*.test.ts', 'test/**/*.live.test.ts']
const long = 'test/**/*.long.test.ts'
const quick = { testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 20_000 } } }
// Only a test that hangs takes as long: machines are slow, and busy with other tests.
const patient = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 60_000 } } }
const strayHandles = 'scripts/testing/stray-handles.mjs'

export default defineConfig(({ mode }) => ({
  test: {
    env: mode === 'thorough' ? { RXSPEECH_THOROUGH: '1' } : {},
    reporters: ['./scripts/testing/summary-reporter.mjs'],
    projects: [
      {
        test: {
          ...quick,
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...live, long],
          setupFiles: [strayHandles, 'scripts/testing/no-handles.mjs'],
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
          exclude: [long],
          setupFiles: [strayHandles],
          maxWorkers: cores,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...patient,
          name: 'long',
          include: [long],
          setupFiles: [strayHandles],
          maxWorkers: cores,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
}))
