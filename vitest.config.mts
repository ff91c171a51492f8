import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['scripts/testing/stray-handles.mjs'],
    reporters: ['./scripts/testing/summary-reporter.mjs'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
})
