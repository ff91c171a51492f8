// @ts-check
import { DefaultReporter } from 'vitest/node'

/**
 * Counts a run's tests. A file that failed as a whole (it did not load, or a hook threw) and an error that no test
 * caught count as one failure each, so that a run that failed never reads `0 failed`.
 *
 * @param {ReadonlyArray<import('vitest/node').TestModule>} modules
 * @param {ReadonlyArray<unknown>} uncaughtErrors
 */
export const countTests = (modules, uncaughtErrors) => {
  const counts = { passed: 0, failed: uncaughtErrors.length, skipped: 0 }
  for (const module of modules) {
    let failedInModule = 0
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      if (state === 'passed') counts.passed += 1
      else if (state === 'failed') failedInModule += 1
      else counts.skipped += 1
    }
    if (failedInModule === 0 && module.state() === 'failed') failedInModule = 1
    counts.failed += failedInModule
  }
  return counts
}

/** @param {{ readonly passed: number, readonly failed: number, readonly skipped: number }} counts */
export const summaryLine = ({ passed, failed, skipped }) =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`

/** The usual report, and below it one line that people and scripts can read: `N passed, N failed[, N skipped]`. */
export default class SummaryReporter extends DefaultReporter {
  /**
   * @override
   * @type {DefaultReporter['onTestRunEnd']}
   */
  onTestRunEnd(modules, uncaughtErrors, reason) {
    super.onTestRunEnd(modules, uncaughtErrors, reason)
    process.stdout.write(`${summaryLine(countTests(modules, uncaughtErrors))}\n`)
  }
}
