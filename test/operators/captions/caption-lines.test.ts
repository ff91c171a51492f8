import { from, map, pipe, Subject, take } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { captionLines, type CaptionLinesOptions } from '../../../src/operators/captions/caption-lines.js'
import type { TranscriptLine } from '../../../src/operators/captions/transcript-line.js'
import type { SessionEvent } from '../../../src/protocol/session-event.js'
import { codeThrownBy } from '../marbles.js'
import { itIsAnOperator } from '../operator-laws.js'
import { final, gap, milestone, partial, streaming, wordsOf } from '../session-events.js'

type Lines = readonly TranscriptLine[]
const lists = (events: readonly SessionEvent[], options: CaptionLinesOptions = {}): Lines[] => {
  const seen: Lines[] = []
  from(events)
    .pipe(captionLines(options))
    .subscribe((lines) => seen.push(lines))
  return seen
}

/** `1:good|morning`, `1:good morning.` if definitive, `2:rejected`, `3:gap`. */
const drawn = (line: TranscriptLine): string => {
  if (line.type !== 'speech') return `${line.key}:${line.type}`
  return `${line.key}:${line.committed}${line.isDefinitive ? '.' : `|${line.tentative}`}`
}
const draw = (lines: Lines): string => lines.map(drawn).join(' ')
const last = (events: readonly SessionEvent[], options: CaptionLinesOptions = {}): string =>
  draw(lists(events, options).at(-1) ?? [])

const times = (startMs: number, endMs = startMs + 500, channel = 0) => ({ startMs, endMs, channel })
const noMatch = (startMs: number, channel = 0): SessionEvent => ({
  ...{ type: 'event', name: 'SR No Match', channel, startMs, endMs: startMs + 300, tags: [], data: {} },
})

describe('captionLines', () => {
  itIsAnOperator({
    operator: () => pipe(captionLines(), map(draw)),
    values: { p: partial('good'), o: streaming, m: milestone('Good day') },
    outputs: { p: '1:|good', m: '1:Good day.', n: '1:Good day. 2:Good day.' },
    source: '  -p-o-p-m-m-|',
    expected: '-p-----m-n-|',
    failed: '  -p-#',
  })

  it('separates what no longer changes from what can', () => {
    const texts = lists([partial(' we meet', { stableLength: 3 }), partial(' we meet at', { stableLength: 8 })])
    expect(texts.map(draw)).toEqual(['1:we| meet', '1:we meet| at'])
  })

  it('has the channel, its speaker, the times, and the words of a definitive line', () => {
    const line = { ...wordsOf('see you', 1000), channel: 1 }
    expect(lists([line], { speakers: ['Agent', 'Guest'] })[0]).toEqual([
      {
        ...{ type: 'speech', key: 1, channel: 1, speaker: 'Guest', startMs: 1000, endMs: 1600 },
        ...{ committed: 'see you', tentative: '', isDefinitive: true, words: line.words },
      },
    ])
  })

  it('keeps the key and the place of a line that becomes definitive, and all other lines as they are', () => {
    const [first, second, third] = lists([
      partial('yes', times(1000, 1200, 1)),
      partial('no', times(900, 1100)),
      milestone('Yes.', times(1000, 1400, 1)),
    ])
    expect([first, second, third].map((lines) => draw(lines ?? []))).toEqual([
      '1:|yes',
      '2:|no 1:|yes',
      '2:|no 1:Yes..',
    ])
    expect(second?.[1]).toBe(first?.[0])
    expect(third?.[0]).toBe(second?.[0])
  })

  it('orders lines by time, also late ones', () => {
    const late = [milestone('b', times(2000)), milestone('c', times(3000)), milestone('a', times(1000, 1500, 1))]
    expect(last([...late, milestone('d', times(3500)), noMatch(2500, 1), gap(1600, 1700)])).toBe(
      '3:a. 6:gap 1:b. 5:rejected 2:c. 4:d.',
    )
  })

  it('keeps the order of arrival without times', () => {
    expect(last([milestone('a'), partial('b', { channel: 1 }), milestone('c'), milestone('b', { channel: 1 })])).toBe(
      '1:a. 2:b. 3:c.',
    )
  })

  it('hides a line while its partial is empty, and makes it rejected under its key', () => {
    const events = [partial('mm', times(100)), partial('', times(100)), noMatch(100)]
    expect(lists(events).map(draw)).toEqual(['1:|mm', '', '1:rejected'])
    expect(lists([partial('')])).toEqual([])
    expect(lists(events.with(2, partial('hm', times(400)))).map(draw)).toEqual(['1:|mm', '', '1:|hm'])
  })

  it('shows lost audio once while it grows, and no silence', () => {
    const silence = gap(600, 900, { cause: 'silence' })
    const grown = lists([gap(100, 200), gap(200, 300), silence, gap(400, 500), gap(500, 600, { channel: 1 })])
    expect(grown.map(draw)).toEqual(['1:gap', '1:gap', '1:gap 2:gap', '1:gap 2:gap 3:gap'])
    expect(grown.at(-1)?.[0]).toEqual({ type: 'gap', key: 1, cause: 'buffer-full', startMs: 100, endMs: 300 })
  })

  it.each<[string, SessionEvent[], string]>([
    ['repeats the milestones', [milestone('one'), milestone(' two'), final('one two')], '1:one. 2:two.'],
    ['has all of the text', [partial('one'), final('One two')], '1:One two.'],
    [
      'has more than the milestones',
      [milestone('one', times(0)), partial(' two', times(600)), final('one two')],
      '1:one. 2:two.',
    ],
    ['has nothing for a partial', [milestone('one'), partial(' hm'), final('one')], '1:one.'],
  ])('takes of a final what is new: one that %s', (_, events, expected) => {
    expect(last(events)).toBe(expected)
  })

  it('keeps the start of a partial in the line of a final that has none of its own', () => {
    const [line] =
      lists([milestone('one', times(0)), partial(' two', times(600)), final('one two', times(0))])
        .at(-1)
        ?.slice(1) ?? []
    expect(line).toMatchObject({ startMs: 600, committed: 'two', isDefinitive: true })
  })

  it('adds no line for a milestone that is repeated after a reconnect', () => {
    const one = milestone('one', times(0))
    expect(lists([one, { type: 'resumed', replayedMs: 500 }, one]).map(draw)).toEqual(['1:one.'])
  })

  it('keeps the latest lines, and those that can change', () => {
    const events = [
      partial('open', times(0, 100, 1)),
      ...['a', 'b', 'c'].map((text, at) => milestone(text, times(1000 * at + 1000))),
    ]
    expect(last(events, { maxLines: 3 })).toBe('1:|open 3:b. 4:c.')
    expect(last([...events, milestone('late', times(500))], { maxLines: 3 })).toBe('1:|open 3:b. 4:c.')
  })

  it('handles a result that a consumer causes', () => {
    const source$ = new Subject<SessionEvent>()
    const seen: string[] = []
    source$.pipe(captionLines(), map(draw)).subscribe((lines) => {
      seen.push(lines)
      if (seen.length === 1) source$.next(milestone('two'))
    })
    source$.next(milestone('one'))
    source$.next(milestone('three'))
    expect(seen).toEqual(['1:one.', '1:one. 2:two.', '1:one. 2:two. 3:three.'])
  })

  it('unsubscribes from the session when its consumer has enough', () => {
    const source$ = new Subject<SessionEvent>()
    source$.pipe(captionLines(), take(1)).subscribe()
    source$.next(partial('one'))
    expect(source$.observed).toBe(false)
  })

  it('does work by the number of kept lines, and not by the length of the session', () => {
    const results = Array.from({ length: 20_000 }, (_, at) => [
      partial(` word${at}`, times(at * 1000)),
      milestone(` word${at}`, times(at * 1000)),
    ]).flat()
    const started = performance.now()
    let count = 0
    from(results)
      .pipe(captionLines({ maxLines: 100 }))
      .subscribe((lines) => (count = lines.length))
    expect(count).toBe(100)
    expect(performance.now() - started).toBeLessThan(3000)
  })

  it.each([[{ maxLines: 0 }], [{ speakers: [1] }], [{ lines: 1 }]])('refuses the options %j', (options) => {
    expect(codeThrownBy(() => captionLines(options as CaptionLinesOptions))).toBe('invalid-options')
  })
})
