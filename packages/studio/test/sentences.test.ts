import { describe, expect, it } from 'vitest'
import { audioWarningOf, clock } from '../src/state/sentences.js'

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
  })
})
