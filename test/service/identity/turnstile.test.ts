import { describe, expect, it } from 'vitest'
import { createTurnstile } from '../../../src/service/identity/turnstile.js'

describe('createTurnstile', () => {
  const work = () => {
    const { promise, resolve, reject } = promiseWithEnds()
    return { promise, resolve, reject }
  }
  const promiseWithEnds = () => {
    let resolve = (): void => undefined
    let reject = (_: Error): void => undefined
    const promise = new Promise<void>((done, failed) => {
      resolve = done
      reject = failed
    })
    return { promise, resolve, reject }
  }

  it('runs so many at once, the rest in order of arrival, and refuses when the line is full', async () => {
    const turnstile = createTurnstile({ atOnce: 2, waiting: 1 })
    const jobs = [work(), work(), work(), work()]
    const begun: number[] = []
    const passes = jobs.map((job, index) =>
      turnstile.pass(() => {
        begun.push(index)
        return job.promise
      }),
    )
    await Promise.resolve()
    expect(begun).toStrictEqual([0, 1])
    expect(passes[3]).toBeUndefined()
    jobs[1]?.resolve()
    await passes[1]
    await Promise.resolve()
    expect(begun).toStrictEqual([0, 1, 2])
    jobs[0]?.resolve()
    jobs[2]?.resolve()
    await Promise.all([passes[0], passes[2]])
    expect(await turnstile.pass(() => Promise.resolve('free again'))).toBe('free again')
  })

  it('lets the next in when one fails', async () => {
    const turnstile = createTurnstile({ atOnce: 1, waiting: 1 })
    const failing = work()
    const failed = turnstile.pass(() => failing.promise)
    const next = turnstile.pass(() => Promise.resolve('next'))
    failing.reject(new Error('failed'))
    await expect(failed).rejects.toThrow('failed')
    expect(await next).toBe('next')
  })
})
