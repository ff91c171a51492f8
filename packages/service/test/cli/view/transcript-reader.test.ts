import { describe, expect, it } from 'vitest'
import { eventLine } from '../../../src/cli/view/ndjson-view.js'
import { progressLine } from '../../../src/cli/view/progress.js'
import { summaryLine, TranscriptReader } from '../../../src/cli/view/transcript-reader.js'
import { accumulate, emptyTranscript, type ResultEvent } from '../../../../../src/operators/results/transcript.js'

const read = (...events: readonly ResultEvent[]) => {
  const reader = new TranscriptReader()
  let transcript = emptyTranscript
  const lines = events.map((event) => reader.take(event, (transcript = accumulate(transcript, event))))
  return { reader, lines: lines.filter((line) => line !== undefined) }
}

describe('TranscriptReader', () => {
  it('returns each milestone once, with its own time, and nothing for a final with the same text', () => {
    const { lines, reader } = read(
      { type: 'partial', channel: 0, startMs: 100, text: 'hel' },
      { type: 'milestone', channel: 0, startMs: 100, endMs: 900, text: 'hello' },
      { type: 'milestone', channel: 0, startMs: 2000, endMs: 2900, text: ' there' },
      { type: 'final', channel: 0, startMs: 100, endMs: 2900, text: 'hello there', confidence: 0.9 },
    )
    expect(lines).toEqual([
      { channel: 0, startMs: 100, text: 'hello' },
      { channel: 0, startMs: 2000, text: 'there' },
    ])
    expect(reader.counts()).toEqual({ words: 2, confidence: 0.9 })
  })

  it('marks a sentence whose audio stopped', () => {
    const { lines } = read({ type: 'milestone', channel: 0, text: 'good evening', isIncomplete: true })
    expect(lines).toEqual([{ channel: 0, text: 'good evening …' }])
  })

  it('returns the text of a final if a service sends no milestones, and no channels', () => {
    const { lines } = read({ type: 'final', text: 'hello there', confidence: 0.5 })
    expect(lines).toEqual([{ channel: 0, text: 'hello there' }])
  })

  it('has the current text of each channel, in the order of the channels', () => {
    const { reader } = read(
      { type: 'partial', channel: 1, startMs: 50, text: 'yes' },
      { type: 'partial', channel: 0, startMs: 70, text: ' no thanks', stableLength: 3 },
    )
    expect(reader.live()).toEqual([
      { channel: 0, startMs: 70, text: 'no thanks', stableLength: 2 },
      { channel: 1, startMs: 50, text: 'yes' },
    ])
  })

  it('takes the 0 of a final as no confidence', () => {
    const { reader } = read({ type: 'final', channel: 0, text: 'one two', confidence: 0 })
    expect(reader.counts()).toEqual({ words: 2, confidence: undefined })
  })

  it('weighs confidences by words', () => {
    const { reader } = read(
      { type: 'final', channel: 0, text: 'one', confidence: 1 },
      { type: 'final', channel: 1, text: 'one two three', confidence: 0.5 },
    )
    expect(reader.counts()).toEqual({ words: 4, confidence: 0.625 })
  })
})

describe('summaryLine', () => {
  it('has audio, words, confidence and real-time factor', () => {
    expect(summaryLine({ words: 12, confidence: 0.914 }, { audioMs: 32_780, elapsedMs: 8195 })).toBe(
      '32.8 s of audio, 12 words, mean confidence 0.91, real-time factor 0.25',
    )
  })

  it('leaves out a confidence that is unknown', () => {
    expect(summaryLine({ words: 1, confidence: undefined }, { audioMs: 0, elapsedMs: 5 })).toBe(
      '0.0 s of audio, 1 word, real-time factor unknown',
    )
  })
})

describe('eventLine', () => {
  it('is one line of JSON, audio in base64', () => {
    expect(eventLine({ type: 'audio', bytes: Uint8Array.of(1, 2, 255) })).toBe('{"type":"audio","bytes":"AQL/"}\n')
  })

  it('contains no control character, and decodes to the same event', () => {
    const event = { type: 'partial', text: 'a\u009b\u2028\u007f\nb' } as const
    expect(eventLine(event)).toMatch(/^[\x20-\x7e]+\n$/)
    expect(JSON.parse(eventLine(event))).toEqual(event)
  })
})

describe('progressLine', () => {
  const line = progressLine((part, { barsize = 0 }) => '#'.repeat(Math.round(part * barsize)).padEnd(barsize, '-'))

  it('shows the completed part, as wide as the space allows', () => {
    expect(line({ doneMs: 5000, totalMs: 20_000 }, 43)).toBe('#####-------------  25 %  00:05.0 / 00:20.0')
    expect(line({ doneMs: 30_000, totalMs: 20_000 }, 200)).toMatch(/^#{40} 100 % {2}00:20.0 \/ 00:20.0$/)
  })

  it('shows only numbers if there is no space, and only the time if the end is unknown', () => {
    expect(line({ doneMs: 5000, totalMs: 20_000 }, 23)).toBe('25 %  00:05.0 / 00:20.0')
    expect(line({ doneMs: 5000, totalMs: 20_000 }, 22)).toBe('25 %')
    expect(line({ doneMs: 5000, totalMs: 20_000 }, 3)).toBe('… %')
    expect(line({ doneMs: 5000 }, 40)).toBe('00:05.0 of audio')
  })
})
