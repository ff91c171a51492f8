import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../src/errors/speech-error.js'
import { resolveResumption } from '../../src/client/resumption.js'
import { RetryBudget } from '../../src/client/retry-budget.js'

const lost = new SpeechError('connection-lost', 'Cut.')
const budgetOf = (random: number, budgetMs = 60_000): RetryBudget => {
  const resumption = resolveResumption({ random: () => random, firstDelayMs: 100, maxDelayMs: 1_000, budgetMs })
  if (resumption === undefined) throw new TypeError('Resumption is on.')
  return new RetryBudget(resumption)
}
const delays = (budget: RetryBudget, count: number): (number | undefined)[] =>
  Array.from({ length: count }, () => budget.next(0, lost)?.delayMs)

describe('the budget of attempts', () => {
  it('waits twice as long each time, up to the longest wait, and a random share of that', () => {
    expect(delays(budgetOf(1), 6)).toEqual([100, 200, 400, 800, 1_000, 1_000])
    expect(delays(budgetOf(0.5), 5)).toEqual([50, 100, 200, 400, 500])
    expect(delays(budgetOf(0), 3)).toEqual([0, 0, 0])
    expect(delays(budgetOf(1), 2_000).at(-1)).toBe(1_000)
  })

  it('waits no less than the service asks for, and gives up where that is too long', () => {
    const budget = budgetOf(0.5, 5_000)
    expect(budget.next(0, new SpeechError('overloaded', 'Later.', { retryAfterMs: 3_000 }))).toEqual({
      attempt: 1,
      delayMs: 3_000,
    })
    expect(budget.next(3_000, new SpeechError('overloaded', 'Later.', { retryAfterMs: 2_001 }))).toBeUndefined()
    expect(budget.next(3_000, lost)?.attempt).toBe(2)
  })

  it('ends with its time, counted from the first loss, and begins anew after progress', () => {
    const budget = budgetOf(1, 1_000)
    expect(budget.next(50_000, lost)).toEqual({ attempt: 1, delayMs: 100 })
    expect(budget.next(50_800, lost)).toEqual({ attempt: 2, delayMs: 200 })
    expect(budget.next(50_801, lost)).toBeUndefined()
    budget.renew()
    expect(budget.next(90_000, lost)).toEqual({ attempt: 1, delayMs: 100 })
  })

  it('begins anew for a connection that lasted as long as the longest wait, and for no shorter one', () => {
    const budget = budgetOf(1, 5_000)
    budget.next(0, lost)
    budget.streams(100)
    expect(budget.next(1_099, lost)?.attempt).toBe(2)
    budget.streams(1_200)
    expect(budget.next(2_200, lost)?.attempt).toBe(1)
    expect(budget.next(9_000, lost)).toBeUndefined()
  })
})
