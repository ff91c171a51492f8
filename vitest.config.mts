import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['scripts/testing/stray-handles.mjs'],
    reporters: ['./scripts/testing/summary-reporter.mjs'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Vitest itself would leave one core of two to the process that reports.
    maxWorkers: Math.max(2, availableParallelism() - 1),
  },
})
