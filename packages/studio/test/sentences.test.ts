import { describe, expect, it } from 'vitest'
import { clock, failureSentence, loadSentence } from '../src/state/sentences.js'
import { audioWarningOf, thinnedMsOf } from '../src/state/service-events.js'
import { initialState } from '../src/state/state.js'

const warning = { type: 'event', name: 'Audio Warning', channel: 0, startMs: 800, endMs: -1, tags: [] } as const

describe('audioWarningOf', () => {
  it('is the sentence of the service about the audio', () => {
    const data = { Kind: 'clipping', Message: 'The audio is clipped.' }
    expect(audioWarningOf({ ...warning, data })).toBe('The audio is clipped.')
  })

  it('is nothing for other events, and for data of another shape', () => {
    for (const data of [null, 'text', {}, { Message: 1 }]) expect(audioWarningOf({ ...warning, data })).toBeUndefined()
    expect(audioWarningOf({ ...warning, name: 'Speech Ended', data: { Message: 'x' } })).toBeUndefined()
    expect(audioWarningOf({ type: 'silent', forMs: 1 })).toBeUndefined()
  })
})

describe('clock', () => {
  it('writes minutes and seconds, with tenths between whole seconds', () => {
    expect([0, 65_000, 3_599_940, 12_400].map(clock)).toEqual(['0:00', '1:05', '59:59.9', '0:12.4'])
    expect([3_600_000, 3_665_200, 36_000_000].map(clock)).toEqual(['1:00:00', '1:01:05.2', '10:00:00'])
  })
})

describe('what a service is behind with', () => {
  it('is said while it withholds partial results, or its text is late', () => {
    expect(thinnedMsOf({ Phase: 'begun', IntervalMsec: 500 })).toBe(500)
    expect(thinnedMsOf({ Phase: 'ended' })).toBeUndefined()
    expect(thinnedMsOf(null)).toBeUndefined()
    const busy = { ...initialState, phase: 'streaming', thinnedMs: 500 } as const
    expect(loadSentence(busy)).toBe(
      'The service is busy: text in progress changes every 0.5 s at most. No word is lost.',
    )
    expect(loadSentence({ ...busy, thinnedMs: undefined })).toBeUndefined()
  })
})

describe('a failure', () => {
  it('says what a person can do, and not what a program can', () => {
    const message = 'The service did not answer the start in time; try again or raise timeouts.startMs.'
    expect(failureSentence({ code: 'start-timeout', message })).toBe(
      'The service did not begin in time. It may be busy, or load the model; try again in a minute.',
    )
  })
})
