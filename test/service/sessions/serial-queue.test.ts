import { describe, expect, it } from 'vitest'
import { SerialQueue } from '../../../src/service/sessions/serial-queue.js'
import { PauseCounter } from '../../../src/service/sessions/pause-counter.js'
import { turn } from '../virtual-clock.js'
import { recordedLink } from './recorded-link.js'
import { deferred } from './talk.js'

const unexpected = (error: unknown): void => {
  throw error
}

describe('a line of messages', () => {
  it('handles one at once, and the next only when it is done, while the link is paused', async () => {
    const link = recordedLink()
    const handled: string[] = []
    const slow = deferred<undefined>()
    const line = new SerialQueue<string>(
      link,
      (message) => {
        handled.push(message)
        return message === 'slow' ? slow.promise : undefined
      },
      unexpected,
    )
    line.push('a')
    line.push('slow')
    line.push('b')
    line.push('c')
    expect(handled).toEqual(['a', 'slow'])
    expect(link.calls).toEqual(['pause'])
    slow.resolve(undefined)
    await turn()
    expect(handled).toEqual(['a', 'slow', 'b', 'c'])
    expect(link.calls).toEqual(['pause', 'resume'])
  })

  it('handles what waits before what the link gives on being resumed', async () => {
    const handled: string[] = []
    const slow = deferred<undefined>()
    const link = {
      pause: () => undefined,
      resume: () => {
        line.push('held by the link')
      },
    }
    const line: SerialQueue<string> = new SerialQueue<string>(
      link,
      (message) => {
        handled.push(message)
        return message === 'slow' ? slow.promise : undefined
      },
      unexpected,
    )
    line.push('slow')
    line.push('in flight')
    slow.resolve(undefined)
    await turn()
    expect(handled).toEqual(['slow', 'in flight', 'held by the link'])
  })

  it('stays paused when what waited takes a while as well', async () => {
    const link = recordedLink()
    const slow = [deferred<undefined>(), deferred<undefined>()] as const
    const line = new SerialQueue<0 | 1>(link, (index) => slow[index].promise, unexpected)
    line.push(0)
    line.push(1)
    slow[0].resolve(undefined)
    await turn()
    expect(link.paused).toBe(true)
    slow[1].resolve(undefined)
    await turn()
    expect(link.paused).toBe(false)
  })

  it('handles what a handler causes after it', () => {
    const handled: string[] = []
    const line: SerialQueue<string> = new SerialQueue<string>(
      recordedLink(),
      (message) => {
        if (message === 'a') line.push('caused')
        handled.push(message)
        return undefined
      },
      unexpected,
    )
    line.push('a')
    expect(handled).toEqual(['a', 'caused'])
  })

  it('tells of a handler that throws or rejects, and goes on', async () => {
    const link = recordedLink()
    const failures: unknown[] = []
    const handled: string[] = []
    const line = new SerialQueue<string>(
      link,
      (message) => {
        handled.push(message)
        if (message === 'throws') throw new Error(message)
        return message === 'rejects' ? Promise.reject(new Error(message)) : undefined
      },
      (error) => failures.push(error),
    )
    line.push('throws')
    line.push('rejects')
    line.push('last')
    await turn()
    expect(failures).toEqual([new Error('throws'), new Error('rejects')])
    expect(handled).toEqual(['throws', 'rejects', 'last'])
    expect(link.paused).toBe(false)
  })

  it('forgets what waits when it is cleared', async () => {
    const handled: string[] = []
    const slow = deferred<undefined>()
    const line = new SerialQueue<string>(
      recordedLink(),
      (message) => {
        handled.push(message)
        return slow.promise
      },
      unexpected,
    )
    line.push('slow')
    line.push('b')
    line.clear()
    slow.resolve(undefined)
    await turn()
    expect(handled).toEqual(['slow'])
  })
})

describe('reasons to pause one link', () => {
  it('resumes it when the last is taken back, whoever pauses or resumes how often', () => {
    const link = recordedLink()
    const pauses = new PauseCounter(link)
    const one = pauses.reason()
    const other = pauses.reason()
    one.resume()
    expect(link.calls).toEqual([])
    one.pause()
    one.pause()
    other.pause()
    expect(link.calls).toEqual(['pause'])
    one.resume()
    one.resume()
    expect(link.paused).toBe(true)
    other.resume()
    expect(link.calls).toEqual(['pause', 'resume'])
  })
})
