import { describe, expect, it } from 'vitest'
import { AudioBacklog, PauseCounter, SerialQueue } from '../../src/sessions/back-pressure.js'
import { recordedLink } from './recorded-link.js'

/** A queue in which messages that begin with `slow` need more time. */
const queueOf = (link = recordedLink()) => {
  const handled: string[] = []
  const queue = new SerialQueue<string>(link, (message) => {
    handled.push(message)
    return !message.startsWith('slow')
  })
  return { link, queue, handled }
}

describe('SerialQueue', () => {
  it('handles a message immediately, and the next one only when that is done, while the link is paused', () => {
    const { link, queue, handled } = queueOf()
    for (const message of ['a', 'slow', 'b', 'c']) queue.push(message)
    expect(handled).toEqual(['a', 'slow'])
    expect(link.calls).toEqual(['pause'])
    queue.next()
    expect(handled).toEqual(['a', 'slow', 'b', 'c'])
    expect(link.calls).toEqual(['pause', 'resume'])
  })

  it('handles queued messages before those that the link delivers when it is resumed', () => {
    const handled: string[] = []
    const link = { pause: () => undefined, resume: () => queue.push('held by the link') }
    const queue: SerialQueue<string> = new SerialQueue<string>(link, (message) => {
      handled.push(message)
      return message !== 'slow'
    })
    queue.push('slow')
    queue.push('in flight')
    queue.next()
    expect(handled).toEqual(['slow', 'in flight', 'held by the link'])
  })

  it('keeps the link paused when a queued message needs more time as well', () => {
    const { link, queue } = queueOf()
    queue.push('slow 1')
    queue.push('slow 2')
    queue.next()
    expect(link.paused).toBe(true)
    queue.next()
    expect(link.paused).toBe(false)
  })

  it('does not pause the link for a message that is done within its handler', () => {
    const link = recordedLink()
    const handled: string[] = []
    const queue: SerialQueue<string> = new SerialQueue<string>(link, (message) => {
      handled.push(message)
      queue.next()
      return false
    })
    queue.push('a')
    queue.push('b')
    expect(handled).toEqual(['a', 'b'])
    expect(link.paused).toBe(false)
    expect(link.calls).not.toContain('pause')
  })

  it('handles a message that arrives during the handler after it', () => {
    const handled: string[] = []
    const queue: SerialQueue<string> = new SerialQueue<string>(recordedLink(), (message) => {
      if (message === 'a') queue.push('caused')
      handled.push(message)
      return true
    })
    queue.push('a')
    expect(handled).toEqual(['a', 'caused'])
  })

  it('discards the queued messages when it is cleared', () => {
    const { queue, handled } = queueOf()
    queue.push('slow')
    queue.push('b')
    queue.clear()
    queue.next()
    expect(handled).toEqual(['slow'])
  })
})

describe('PauseCounter', () => {
  it('resumes the link when the last reason ends, however often each is paused or resumed', () => {
    const link = recordedLink()
    const pauses = new PauseCounter(link)
    const first = pauses.reason()
    const second = pauses.reason()
    first.resume()
    expect(link.calls).toEqual([])
    first.pause()
    first.pause()
    second.pause()
    expect(link.calls).toEqual(['pause'])
    first.resume()
    first.resume()
    expect(link.paused).toBe(true)
    second.resume()
    expect(link.calls).toEqual(['pause', 'resume'])
  })
})

const backlogOf = (maxPending: number) => {
  const link = recordedLink()
  return { link, backlog: new AudioBacklog(new PauseCounter(link).reason(), maxPending) }
}

describe('AudioBacklog', () => {
  it('pauses the link above its bound and resumes it at half of it', () => {
    const { link, backlog } = backlogOf(100)
    backlog.given(100)
    expect(link.calls).toEqual([])
    backlog.given(1)
    backlog.given(99)
    expect(link.calls).toEqual(['pause'])
    backlog.taken(149)
    expect(link.paused).toBe(true)
    backlog.taken(1)
    expect(link.calls).toEqual(['pause', 'resume'])
  })

  it('resumes the link when it is released, and does not pause it again', () => {
    const { link, backlog } = backlogOf(100)
    backlog.given(101)
    backlog.release()
    backlog.given(1000)
    expect(link.calls).toEqual(['pause', 'resume'])
  })
})
