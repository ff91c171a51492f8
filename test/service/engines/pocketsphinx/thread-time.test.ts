import { describe, expect, it } from 'vitest'
import { ThreadTime } from '../../../../src/service/engines/pocketsphinx/library.js'
import { deferred } from '../../sessions/test-connection.js'

const timed = (threads: number) => {
  const clock = { ms: 100 }
  const time = new ThreadTime(threads, () => clock.ms)
  const begin = () => {
    const { promise, resolve, reject } = deferred<string>()
    const result = time.during(promise)
    return { result, end: () => resolve('done'), fail: () => reject(new Error('broken')) }
  }
  return { clock, time, begin }
}

describe('ThreadTime', () => {
  it('counts each of several calls that run at the same time, and nothing between calls', async () => {
    const { clock, time, begin } = timed(4)
    const [first, second] = [begin(), begin()]
    clock.ms += 10
    expect(time.workedMs).toBe(20)
    first.end()
    expect(await first.result).toBe('done')
    clock.ms += 5
    second.end()
    await second.result
    clock.ms += 1000
    expect(time.workedMs).toBe(25)
  })

  it('does not count a call that waits for a thread', async () => {
    const { clock, time, begin } = timed(2)
    const calls = [begin(), begin(), begin()]
    clock.ms += 10
    expect(time.workedMs).toBe(20)
    for (const call of calls) call.end()
    await Promise.all(calls.map(({ result }) => result))
    expect(time.workedMs).toBe(20)
  })

  it('counts a call until it fails, and passes on its failure', async () => {
    const { clock, time, begin } = timed(1)
    const call = begin()
    clock.ms += 7
    call.fail()
    await expect(call.result).rejects.toThrow('broken')
    clock.ms += 100
    expect(time.workedMs).toBe(7)
  })
})
