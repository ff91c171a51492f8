import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { closeAll, type Opened } from '../../src/start/running-service.js'

const never = (): Promise<void> => new Promise(() => undefined)

describe('closeAll', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  const closed: string[] = []
  const part = (name: string, close: () => Promise<void> | void = () => undefined): Opened[number] => [
    name,
    () => {
      closed.push(name)
      return close()
    },
  ]
  beforeEach(() => {
    closed.length = 0
  })

  it('closes in reverse order, and leaves no timer', async () => {
    await closeAll([part('a'), part('b', () => Promise.resolve()), part('c')])
    expect([closed, vi.getTimerCount()]).toEqual([['c', 'b', 'a'], 0])
  })

  it('closes the rest after a part that fails, and rejects with the first failure', async () => {
    const fail = (text: string) => (): Promise<void> => Promise.reject(new Error(text))
    const closing = closeAll([part('a'), part('b', fail('second')), part('c', fail('first'))])
    await expect(closing).rejects.toThrow('first')
    expect(closed).toEqual(['c', 'b', 'a'])
  })

  it('closes the rest after a part that does not end within 8 s, which it names', async () => {
    const closing = closeAll([part('The engines'), part('The HTTP listener', never), part('c')])
    const rejected = expect(closing).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringContaining('The HTTP listener did not close within 8 s') as unknown,
    })
    await vi.advanceTimersByTimeAsync(7_999)
    expect(closed).toEqual(['c', 'The HTTP listener'])
    await vi.advanceTimersByTimeAsync(1)
    await rejected
    expect(closed).toEqual(['c', 'The HTTP listener', 'The engines'])
  })
})
