import { describe, expect, it } from 'vitest'
import { AudioBacklog } from '../../../src/service/sessions/audio-backlog.js'
import { PauseCounter } from '../../../src/service/sessions/pause-counter.js'
import { recordedLink } from './recorded-link.js'

const flowOf = (channels: number, maxPending: number) => {
  const link = recordedLink()
  return { link, flow: new AudioBacklog(new PauseCounter(link).reason(), channels, maxPending) }
}

describe('the audio under way', () => {
  it('pauses the link above its bound and resumes it at half of it', () => {
    const { link, flow } = flowOf(1, 100)
    flow.given(100)
    expect(link.calls).toEqual([])
    flow.given(1)
    flow.given(99)
    expect(link.calls).toEqual(['pause'])
    flow.taken(0, 149)
    expect(link.paused).toBe(true)
    flow.taken(0, 1)
    expect(link.calls).toEqual(['pause', 'resume'])
  })

  it('waits for the channel that lags', () => {
    const { link, flow } = flowOf(2, 100)
    flow.given(200)
    flow.taken(0, 200)
    expect(link.paused).toBe(true)
    flow.taken(1, 150)
    expect(link.paused).toBe(false)
  })

  it('waits for no channel of which no more is wanted', () => {
    const { link, flow } = flowOf(2, 100)
    flow.taken(1, Infinity)
    flow.given(1000)
    flow.taken(0, 1000)
    expect(link.paused).toBe(false)
    flow.taken(0, Infinity)
    flow.given(1000)
    expect(link.paused).toBe(false)
  })

  it('leaves the link free when it is released, and after that', () => {
    const { link, flow } = flowOf(1, 100)
    flow.given(101)
    flow.release()
    flow.given(1000)
    expect(link.calls).toEqual(['pause', 'resume'])
  })
})
