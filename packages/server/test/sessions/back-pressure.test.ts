import { describe, expect, it } from 'vitest'
import { AudioBacklog, PauseCounter } from '../../src/sessions/back-pressure.js'
import { recordedLink } from './recorded-link.js'

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
