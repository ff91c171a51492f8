import { describe, expect, it } from 'vitest'
import { Semaphore } from '../src/semaphore.js'

/** A task that runs until the test ends it. */
const createWork = () => {
  const begun: string[] = []
  const ends = new Map<string, (error?: Error) => void>()
  const work = (name: string) => (): Promise<string> => {
    begun.push(name)
    return new Promise((resolve, reject) =>
      ends.set(name, (error) => (error === undefined ? resolve(name) : reject(error))),
    )
  }
  return { begun, work, end: (name: string, error?: Error) => ends.get(name)?.(error) }
}

describe('Semaphore.run', () => {
  it('runs up to its permits, then in the order of arrival, and refuses when too many wait', async () => {
    const semaphore = new Semaphore({ permits: 2, maxWaiting: 2 })
    const { begun, work, end } = createWork()
    const runs = ['a', 'b', 'c', 'd', 'e'].map((name) => semaphore.run(work(name)))
    expect(begun).toEqual(['a', 'b'])
    expect(runs[4]).toBeUndefined()
    end('b')
    await runs[1]
    await Promise.resolve()
    expect(begun).toEqual(['a', 'b', 'c'])
    end('a')
    await runs[0]
    await Promise.resolve()
    end('c')
    end('d')
    for (const [index, name] of ['a', 'b', 'c', 'd'].entries()) expect(await runs[index]).toBe(name)
    expect(semaphore.held).toBe(0)
  })

  it('passes the permit on when the task fails', async () => {
    const semaphore = new Semaphore({ permits: 1, maxWaiting: 1 })
    const { work, end } = createWork()
    const failed = semaphore.run(work('a'))
    const next = semaphore.run(() => Promise.resolve('next'))
    end('a', new Error('failed'))
    await expect(failed).rejects.toThrow('failed')
    expect(await next).toBe('next')
    expect(semaphore.held).toBe(0)
  })

  it('starts the first queued task whose key has a permit', async () => {
    const semaphore = new Semaphore({ permits: 2, permitsPerKey: 1, maxWaiting: 9 })
    const { begun, work, end } = createWork()
    const runs = [semaphore.run(work('a1'), 'a'), semaphore.run(work('a2'), 'a'), semaphore.run(work('b1'), 'b')]
    const waiting = semaphore.run(work('c1'), 'c')
    expect(begun).toEqual(['a1', 'b1'])
    end('b1')
    await runs[2]
    await Promise.resolve()
    expect(begun).toEqual(['a1', 'b1', 'c1'])
    end('a1')
    await runs[0]
    await Promise.resolve()
    expect(begun).toEqual(['a1', 'b1', 'c1', 'a2'])
    end('c1')
    end('a2')
    expect(await Promise.all([...runs, waiting])).toEqual(['a1', 'a2', 'b1', 'c1'])
  })
})

describe('Semaphore.tryAcquire', () => {
  it('limits the permits in total and per key', () => {
    const semaphore = new Semaphore({ permits: 3, permitsPerKey: 2 })
    const taken = ['a', 'a', 'a', 'b', 'c'].map((key) => semaphore.tryAcquire(key))
    expect(taken.map((release) => release !== undefined)).toEqual([true, true, false, true, false])
    taken[0]?.()
    expect(semaphore.tryAcquire('c')).toBeDefined()
  })

  it('returns a permit once, however often it is released', () => {
    const semaphore = new Semaphore({ permits: 2, permitsPerKey: 2 })
    const release = semaphore.tryAcquire('a')
    semaphore.tryAcquire('a')
    release?.()
    release?.()
    expect(semaphore.held).toBe(1)
  })
})

describe('Semaphore.acquire', () => {
  it('waits for a permit until its signal is aborted, and takes none then', async () => {
    const semaphore = new Semaphore({ permits: 1 })
    const leaving = new AbortController()
    const release = await semaphore.acquire(leaving.signal)
    const left = semaphore.acquire(leaving.signal)
    const next = semaphore.acquire(new AbortController().signal)
    leaving.abort(new Error('left'))
    await expect(left).rejects.toThrow('left')
    await expect(semaphore.acquire(leaving.signal)).rejects.toThrow('left')
    release()
    const last = await next
    expect(semaphore.held).toBe(1)
    last()
    expect(semaphore.held).toBe(0)
  })
})
