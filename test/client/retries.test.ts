import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../src/errors/speech-error.js'
import { resolveResumption } from '../../src/client/options.js'
import { afterProgress, nextAttempt, noRetries, type Retries } from '../../src/client/retries.js'

const lost = new SpeechError('connection-lost', 'Cut.')
const resumptionOf = (random: number, budgetMs = 60_000) => {
  const resumption = resolveResumption({ firstDelayMs: 100, maxDelayMs: 1_000, budgetMs }, () => random)
  if (resumption === undefined) throw new TypeError('Resumption is on.')
  return resumption
}

/** Consecutive attempts. */
const attemptsOf = (resumption: ReturnType<typeof resumptionOf>) => {
  let retries: Retries = noRetries
  return {
    next: (nowMs: number, error = lost) => {
      const next = nextAttempt(retries, resumption, error, nowMs)
      retries = next?.retries ?? retries
      return next && { attempt: next.attempt, delayMs: next.delayMs }
    },
    progress: () => (retries = afterProgress(retries)),
    serves: (servesSinceMs: number) => (retries = { ...retries, servesSinceMs }),
  }
}
const delays = (random: number, count: number): (number | undefined)[] => {
  const attempts = attemptsOf(resumptionOf(random))
  return Array.from({ length: count }, () => attempts.next(0)?.delayMs)
}

describe('the attempts to reconnect', () => {
  it('double the delay each time, up to the maximum, and add a random share of it', () => {
    expect(delays(1, 6)).toEqual([100, 200, 400, 800, 1_000, 1_000])
    expect(delays(0.5, 5)).toEqual([50, 100, 200, 400, 500])
    expect(delays(0, 3)).toEqual([0, 0, 0])
    expect(delays(1, 2_000).at(-1)).toBe(1_000)
  })

  it('wait no less than the service requires, and end if that is too long', () => {
    const attempts = attemptsOf(resumptionOf(0.5, 5_000))
    const later = (retryAfterMs: number) => new SpeechError('overloaded', 'Later.', { retryAfterMs })
    expect(attempts.next(0, later(3_000))).toEqual({ attempt: 1, delayMs: 3_000 })
    expect(attempts.next(3_000, later(2_001))).toBeUndefined()
    expect(attempts.next(3_000)?.attempt).toBe(2)
  })

  it('end with the budget, counted from the first loss, which is restored by progress', () => {
    const attempts = attemptsOf(resumptionOf(1, 1_000))
    expect(attempts.next(50_000)).toEqual({ attempt: 1, delayMs: 100 })
    expect(attempts.next(50_800)).toEqual({ attempt: 2, delayMs: 200 })
    expect(attempts.next(50_801)).toBeUndefined()
    attempts.progress()
    expect(attempts.next(90_000)).toEqual({ attempt: 1, delayMs: 100 })
  })

  it('start again after a connection that lasted as long as the longest delay, and after no shorter one', () => {
    const attempts = attemptsOf(resumptionOf(1, 5_000))
    attempts.next(0)
    attempts.serves(100)
    expect(attempts.next(1_099)?.attempt).toBe(2)
    attempts.serves(1_200)
    expect(attempts.next(2_200)?.attempt).toBe(1)
    expect(attempts.next(9_000)).toBeUndefined()
  })
})
