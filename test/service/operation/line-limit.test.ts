import { expect, it } from 'vitest'
import { LineLimit } from '../../../src/service/operation/line-limit.js'

it('lets so many lines a minute through, and says with the next one how many were left out', () => {
  const clock = { ms: 1_000_000 }
  const limit = new LineLimit(2, () => clock.ms)
  expect([limit.pass(), limit.pass(), limit.pass(), limit.pass()]).toEqual([0, 0, undefined, undefined])
  clock.ms += 59_999
  expect(limit.pass()).toBeUndefined()
  clock.ms += 1
  expect([limit.pass(), limit.pass(), limit.pass()]).toEqual([3, 0, undefined])
  // Minutes in which nothing comes do not add up.
  clock.ms += 600_000
  expect([limit.pass(), limit.pass(), limit.pass()]).toEqual([1, 0, undefined])
})
