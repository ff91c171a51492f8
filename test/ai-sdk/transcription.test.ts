import { describe, expect, it } from 'vitest'
import { Transcription } from '../../src/ai-sdk/transcription.js'
import type { SessionEvent } from '../../src/protocol/session-event.js'

const partsOf = (transcription: Transcription, events: readonly SessionEvent[]) =>
  events.flatMap((event) => transcription.add(event) ?? [])

describe('a transcription of the AI SDK', () => {
  it('gives a final the id of the partials that it replaces, by channel', () => {
    const transcription = new Transcription(undefined)
    const parts = partsOf(transcription, [
      { type: 'partial', channel: 0, text: 'one', startMs: 100, endMs: 400 },
      { type: 'partial', channel: 1, text: 'other', startMs: 50, endMs: 300 },
      { type: 'milestone', channel: 0, text: 'one two', startMs: 100, endMs: 900 },
      { type: 'partial', channel: 0, text: ' three', startMs: 1000 },
      { type: 'milestone', channel: 1, text: 'others', startMs: 50, endMs: 950 },
    ])
    expect(parts).toEqual([
      { type: 'transcript-partial', id: '0-0', text: 'one', startSecond: 0.1, durationInSeconds: 0.3, channelIndex: 0 },
      {
        type: 'transcript-partial',
        id: '1-0',
        text: 'other',
        startSecond: 0.05,
        durationInSeconds: 0.25,
        channelIndex: 1,
      },
      { type: 'transcript-final', id: '0-0', text: 'one two', startSecond: 0.1, endSecond: 0.9, channelIndex: 0 },
      { type: 'transcript-partial', id: '0-1', text: 'three', startSecond: 1, channelIndex: 0 },
      { type: 'transcript-final', id: '1-0', text: 'others', startSecond: 0.05, endSecond: 0.95, channelIndex: 1 },
    ])
    expect(transcription.summary().segments.map(({ text }) => text)).toEqual(['others', 'one two'])
  })

  it('has a milestone once that is sent again after a lost connection', () => {
    const transcription = new Transcription(undefined)
    const milestone = { type: 'milestone', channel: 0, text: 'one', startMs: 0, endMs: 500 } as const
    const parts = partsOf(transcription, [milestone, { type: 'resumed', replayedMs: 500 }, milestone])
    expect(parts).toHaveLength(1)
    expect(transcription.summary()).toMatchObject({ text: 'one', segments: [{ text: 'one' }] })
  })

  it('has the text of a service that sends finals only, without times', () => {
    const transcription = new Transcription(undefined)
    const parts = partsOf(transcription, [{ type: 'final', text: 'one two' }])
    expect(parts).toEqual([{ type: 'transcript-final', id: '0-0', text: 'one two', channelIndex: 0 }])
    expect(transcription.summary()).toMatchObject({ text: 'one two', segments: [] })
    expect(transcription.summary()).not.toHaveProperty('words')
  })

  it('says which audio has no text', () => {
    const transcription = new Transcription(undefined)
    const gap = { fromMs: 100, toMs: 300, cause: 'replay-full' } as const
    partsOf(transcription, [{ type: 'gap', ...gap, channel: 1 }])
    expect(transcription.summary().providerMetadata).toEqual({ rxspeech: { gaps: [gap] } })
  })

  it.each([
    ['en-US', 'en'],
    ['auto', undefined],
    [undefined, undefined],
  ])('has the language of %s as %s', (asked, language) => {
    expect(new Transcription(asked).summary().language).toBe(language)
  })
})
