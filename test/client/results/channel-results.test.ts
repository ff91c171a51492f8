import { describe, expect, it } from 'vitest'
import type { FinalEvent, MilestoneEvent, NodeEvent } from '../../../src/protocol/session-event.js'
import { ChannelResults } from '../../../src/client/results/channel-results.js'

const milestone = (text: string, startMs: number, endMs: number, confidence?: number): MilestoneEvent => ({
  type: 'milestone',
  channel: 0,
  startMs,
  endMs,
  text,
  ...(confidence === undefined ? {} : { confidence }),
})

/** The text is "good evening" until 1900 ms, then another connection continues, from there by default. */
const resumed = (confidence?: number, fromMs = 1_900): ChannelResults => {
  const results = new ChannelResults()
  results.begin(0)
  results.milestone(milestone('good evening', 500, 1_900, confidence), 2_000, 2_000)
  results.begin(fromMs)
  return results
}

const silent: FinalEvent = { type: 'final', channel: 0, startMs: 1_900, endMs: 5_000, text: '', confidence: 0 }
const spoken: FinalEvent = { type: 'final', channel: 0, startMs: 2_500, endMs: 4_000, text: 'madam', confidence: 0.5 }

describe('sound that matches nothing after a resumption', () => {
  const noMatch = (startMs: number, endMs: number): NodeEvent => ({
    ...{ type: 'event', name: 'SR No Match', channel: 0, tags: [], data: null },
    ...{ startMs, endMs },
  })

  it('is the rest of the last word if it begins where the word ended and is short', () => {
    expect(resumed().silence(noMatch(1_900, 2_299))).toBeUndefined()
    expect(resumed().silence(noMatch(1_940, 2_200))).toBeUndefined()
  })

  it('is reported if it is longer or begins later, and without a resumption', () => {
    for (const event of [noMatch(1_900, 2_300), noMatch(1_941, 2_200)]) {
      expect(resumed().silence(event)).toEqual(event)
    }
    const results = new ChannelResults()
    results.begin(0)
    expect(results.silence(noMatch(0, 200))).toEqual(noMatch(0, 200))
  })

  it('is reported if no word came before it', () => {
    const results = new ChannelResults()
    results.begin(0)
    results.begin(0)
    expect(results.silence(noMatch(0, 200))).toEqual(noMatch(0, 200))
    expect(results.silence(noMatch(200, 500))).toEqual(noMatch(200, 500))
  })
})

describe('the partials of a segment that another connection reads again', () => {
  const shown = (results: ChannelResults, text: string, stableLength: number, startMs = 500): string | undefined => {
    const partial = results.partial({ type: 'partial', channel: 0, startMs, endMs: startMs + 900, text, stableLength })
    const { text: all = '', stableLength: length = 0 } = partial ?? {}
    return partial && `${all.slice(0, length)}|${all.slice(length)}`
  }

  it('take back no stable text', () => {
    const results = new ChannelResults()
    results.begin(0)
    expect(shown(results, 'Good evening, all', 13)).toBe('Good evening,| all')
    results.begin(0)
    expect(shown(results, 'good morning all', 0)).toBeUndefined()
    expect(shown(results, 'good evening all of', 0)).toBe('Good evening,| all of')
    results.begin(0)
    expect(shown(results, 'good evening you', 0)).toBe('Good evening,| you')
    results.milestone(milestone('good morning', 500, 1_900), 2_000, 2_000)
    expect(shown(results, 'good morning', 0, 2_000)).toBe('|good morning')
  })

  it('are as they come in a later segment', () => {
    const results = new ChannelResults()
    results.begin(0)
    shown(results, 'good evening', 12)
    results.begin(0)
    expect(shown(results, 'one moment', 0, 1_400)).toBe('|one moment')
  })
})

describe('the final of a session with several connections', () => {
  it('ends with the last word and has its confidence, if the last connection recognized none', () => {
    expect(resumed(0.9).final(silent, 5_000, 5_000)).toMatchObject({ startMs: 500, endMs: 1_900, text: 'good evening' })
    expect(resumed(0.9).final(silent, 5_000, 5_000).confidence).toBeCloseTo(0.9)
  })

  it('has no confidence if the connection that knew it is lost', () => {
    expect(resumed().final(silent, 5_000, 5_000)).not.toHaveProperty('confidence')
  })

  it('ends with the last word also if silence followed it', () => {
    const results = resumed(0.9)
    results.silence({
      type: 'event',
      name: 'SR Silence',
      channel: 0,
      startMs: 1_900,
      endMs: 4_500,
      tags: [],
      data: null,
    })
    expect(results.final(silent, 5_000, 5_000)).toMatchObject({ startMs: 500, endMs: 1_900, text: 'good evening' })
  })

  it('counts only for the connection that sent it', () => {
    const results = new ChannelResults()
    results.begin(0)
    results.final(spoken, 5_000, 5_000)
    expect(results.isFinal).toBe(true)
    results.begin(0)
    expect(results.isFinal).toBe(false)
  })

  it('covers the words of all of them', () => {
    const results = resumed(0.9)
    results.milestone(milestone('madam', 2_500, 4_000, 0.5), 4_100, 4_100)
    const final = results.final(spoken, 5_000, 5_000)
    expect(final).toMatchObject({ startMs: 500, endMs: 4_000, text: 'good evening madam' })
    expect(final.confidence).toBeGreaterThan(0.5)
    expect(final.confidence).toBeLessThan(0.9)
  })

  it('is empty if there was no word', () => {
    const results = new ChannelResults()
    results.begin(0)
    results.begin(0)
    expect(results.final({ ...silent, startMs: 0 }, 5_000, 5_000)).toEqual({ ...silent, startMs: 0 })
  })
})

describe('what a final adds to its milestones', () => {
  it('begins where the last one ends', () => {
    const results = new ChannelResults()
    results.begin(0)
    results.milestone(milestone('good evening', 500, 1_900), 2_000, 2_000)
    const added = results.milestoneOf({ ...spoken, startMs: 500, text: 'good evening madam' })
    expect(added).toMatchObject({ startMs: 1_900, endMs: 4_000, text: ' madam' })
  })

  it('is only what lies in new audio if another connection reads a part again', () => {
    const results = resumed(undefined, 1_000)
    const added = results.milestoneOf({ ...spoken, startMs: 1_500, text: 'evening madam' })
    expect(added && results.milestone(added, 5_000, 5_000)).toMatchObject({ startMs: 1_900, text: ' madam' })
  })
})

describe('a partial of a connection that hears a part again', () => {
  const partial = (text: string, stableLength: number) =>
    ({ type: 'partial', channel: 0, startMs: 1_500, endMs: 4_000, text, stableLength }) as const

  it.each([
    ['evening sure madam', 12, 'sure madam', 4],
    ['evening sure madam', 7, 'sure madam', undefined],
    ['evening  sure  madam', 13, 'sure madam', undefined],
  ])('of "%s", with %i stable, has the new words and what of them is stable', (text, stable, shown, shownStable) => {
    const results = resumed(undefined, 1_000)
    const event = results.partial(partial(text, stable))
    expect(event).toMatchObject({ text: shown })
    expect(event?.stableLength).toBe(shownStable)
  })
})

describe('a milestone of a connection that hears a part again', () => {
  it('is none without times either, however much is read again', () => {
    const results = new ChannelResults()
    const texts = Array.from({ length: 300 }, (_none, nth) => `word${nth} of${nth} many${nth}`)
    const read = () => texts.map((text) => results.milestone({ type: 'milestone', channel: 0, text }, 1_000, 0)?.text)
    results.begin(0)
    read()
    results.begin(0)
    expect(read().filter((text) => text !== undefined)).toEqual([])
  })

  it('is new without times if the words before end where the connection begins, whose time is rounded', () => {
    const results = new ChannelResults()
    const read = () => results.milestone({ type: 'milestone', channel: 0, text: 'one' }, 1_000, 0)?.text
    results.begin(0)
    read()
    results.begin(999.5)
    expect(read()).toBe(' one')
  })

  const word = (text: string, startMs: number, endMs: number) => ({ text, startMs, endMs, confidence: 0.8 })

  it('has only the words that lie in new audio, and is none without such words, whatever they are now', () => {
    const again = {
      ...milestone('sure madam', 1_500, 2_900),
      words: [word('sure', 1_500, 1_850), word('madam', 2_400, 2_800)],
    }
    expect(resumed().milestone(again, 3_000, 3_000)).toMatchObject({
      text: expect.stringMatching(/^ ?madam$/) as string,
    })
    const { words, ...rest } = again
    const tail = { ...rest, text: 'sure', endMs: 2_100, words: words.slice(0, 1) }
    expect(resumed().milestone(tail, 3_000, 3_000)).toBeUndefined()
  })
})
