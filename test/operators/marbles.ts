import type { TestScheduler } from 'rxjs/testing'
import { expect } from 'vitest'
import { LongTestScheduler } from '../long-test-scheduler.js'

/** Runs a marble test in virtual time; a frame is a millisecond. */
export const marbles = (test: (helpers: MarbleHelpers) => void): void => {
  const scheduler = new LongTestScheduler((actual, expected) => expect(actual).toEqual(expected))
  scheduler.run((helpers) => test({ ...helpers, scheduler }))
}

export type MarbleHelpers = Parameters<Parameters<TestScheduler['run']>[0]>[0] & { readonly scheduler: TestScheduler }

/** The code of an error that a function throws; undefined when it throws none. */
export const codeThrownBy = (act: () => unknown): unknown => {
  try {
    act()
    return undefined
  } catch (error) {
    return (error as { readonly code?: unknown }).code
  }
}
