import { concat, EMPTY, from, map, NEVER, of, pipe, Subject, take, type Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { spot, type SpottedPhrase } from '../../../src/operators/phrases/spot.js'
import type { SessionEvent } from '../../../src/protocol/session-event.js'
import { codeThrownBy } from '../marbles.js'
import { itIsAnOperator } from '../operator-laws.js'
import { final, milestone, partial, streaming, wordsOf } from '../session-events.js'

const spotted = (phrases: readonly string[], ...events: SessionEvent[]): SpottedPhrase[] => {
  const found: SpottedPhrase[] = []
  from(events)
    .pipe(spot(phrases))
    .subscribe((one) => found.push(one))
  return found
}

/** `1 live cancel` for each value. */
const report = ({ id, state, phrase }: SpottedPhrase): string => `${id} ${state} ${phrase}`
const reports = (phrases: readonly string[], ...events: SessionEvent[]): string[] =>
  spotted(phrases, ...events).map(report)

const noMatch: SessionEvent = {
  type: 'event',
  name: 'SR No Match',
  channel: 0,
  startMs: 0,
  endMs: 1,
  tags: [],
  data: {},
}

describe('spot', () => {
  itIsAnOperator({
    operator: () => pipe(spot(['stop']), map(report)),
    values: { p: partial('please stop'), o: streaming, m: milestone('please stop') },
    outputs: { l: '1 live stop', f: '1 final stop', k: '2 live stop', g: '2 final stop', w: '1 withdrawn stop' },
    source: '  -p-o-p-m-p-m|',
    expected: '-l-----f-k-g|',
    failed: '  -l-(w#)',
  })

  it('emits an occurrence once while partials change, and decides it with the milestone', () => {
    const partials = ['i want', 'i want to cancel', 'i want to can', 'i want to cancel it'].map((text) => partial(text))
    expect(reports(['cancel'], ...partials, milestone('I want to cancel it.'))).toEqual([
      '1 live cancel',
      '1 final cancel',
    ])
    expect(reports(['cancel'], ...partials, milestone('I want to counsel it.'))).toEqual([
      '1 live cancel',
      '1 withdrawn cancel',
    ])
  })

  it('finds each occurrence, also without partials', () => {
    expect(reports(['yes'], milestone('yes yes'), milestone(' oh yes'))).toEqual([
      '1 final yes',
      '2 final yes',
      '3 final yes',
    ])
    expect(spotted(['yes'], partial('yes'), milestone('yes yes')).map(({ id, isFirst }) => [id, isFirst])).toEqual([
      [1, true],
      [1, false],
      [2, true],
    ])
  })

  it('has the times and the confidence of words, and those of the result without', () => {
    const [live, certain] = spotted(
      ['to cancel'],
      partial('want to cancel', { startMs: 100, endMs: 900, channel: 1 }),
      { ...wordsOf(' want to cancel', 100), channel: 1 },
    )
    expect(live).toEqual({
      ...{ id: 1, state: 'live', isFirst: true, phrase: 'to cancel', channel: 1 },
      ...{ startMs: 100, endMs: 900, times: 'results' },
    })
    expect(certain).toMatchObject({ state: 'final', startMs: 400, endMs: 1000, times: 'words', confidence: 0.9 })
  })

  it('finds a phrase that begins in one result and ends in the next, with the times of its words', () => {
    const found = spotted(
      ['cancel my account'],
      wordsOf('please cancel', 0),
      partial(' my account', { startMs: 600, endMs: 1200 }),
      wordsOf(' my account', 600),
    )
    expect(found.map(report)).toEqual(['1 live cancel my account', '1 final cancel my account'])
    expect(found[1]).toMatchObject({ startMs: 300, endMs: 1200, times: 'words' })
  })

  it.each([
    ['another channel', [milestone('cancel'), milestone('it', { channel: 1 })]],
    ['the next recognition', [milestone('cancel'), final('cancel'), milestone(' it')]],
  ])('does not continue a phrase in %s', (_, events: SessionEvent[]) => {
    expect(reports(['cancel it'], ...events)).toEqual([])
  })

  it('keeps what a partial shows beyond a milestone that decides its beginning', () => {
    const long = partial('we close at nine so cancel', { endMs: 3000 })
    const first = milestone('We close at nine,', { startMs: 0, endMs: 2000 })
    const rest = partial(' so cancel it', { startMs: 2000, endMs: 3500 })
    expect(reports(['cancel'], long, first, rest, milestone(' so cancel it'))).toEqual([
      '1 live cancel',
      '1 final cancel',
    ])
    expect(reports(['cancel'], long, first, partial(' so can'), milestone(' so can sell it'))).toEqual([
      '1 live cancel',
      '1 withdrawn cancel',
    ])
    // The milestone has all of its audio.
    expect(reports(['cancel', 'other'], long, { ...first, endMs: 3000 }, milestone(' other'))).toEqual([
      '1 live cancel',
      '1 withdrawn cancel',
      '2 final other',
    ])
  })

  it.each<[string, Observable<SessionEvent>]>([
    ['an empty partial', concat(of(partial('')), NEVER)],
    ['a segment without text', concat(of(noMatch), NEVER)],
    ['the final', concat(of(final('')), NEVER)],
    ['the end of the session', EMPTY],
  ])('withdraws what is live at %s', (_, rest$) => {
    const seen: string[] = []
    concat(of(partial('stop')), rest$)
      .pipe(spot(['stop']))
      .subscribe((found) => seen.push(report(found)))
      .unsubscribe()
    expect(seen).toEqual(['1 live stop', '1 withdrawn stop'])
  })

  it('takes a final as definitive text as far as it has more than the milestones', () => {
    expect(reports(['stop'], partial('stop'), final('stop'))).toEqual(['1 live stop', '1 final stop'])
    expect(reports(['stop'], milestone('stop'), final('stop now stop'))).toEqual(['1 final stop', '2 final stop'])
  })

  it('counts a milestone once that is repeated after a reconnect', () => {
    const stop = milestone('stop', { startMs: 0, endMs: 500 })
    expect(reports(['stop'], stop, { type: 'resumed', replayedMs: 500 }, stop)).toEqual(['1 final stop'])
  })

  it.each([
    ["Don't", 'you DON’T say', true],
    ['twenty-one', 'Twenty one!', true],
    ['24/7', 'open 24/7.', true],
    ['1,000', 'about 1,000 euros', true],
    ['STRASSE', 'die Straße', true],
    ['naïve', 'nai\u0308ve', true],
    ['取消', '我要取消', true],
    ['can', 'cancel the canal', false],
    ['cafe', 'café', false],
  ])('compares %s with "%s" by whole words', (phrase, text, isFound) => {
    expect(reports([phrase], milestone(text))).toEqual(isFound ? [`1 final ${phrase}`] : [])
  })

  it('finds phrases within phrases', () => {
    expect(reports(['a b', 'b', 'a b c'], milestone('a b c'))).toEqual(['1 final a b', '2 final b', '3 final a b c'])
  })

  it('emits values in order when a consumer causes the next event', () => {
    const source$ = new Subject<SessionEvent>()
    const seen: string[] = []
    source$.pipe(spot(['one', 'two', 'three'])).subscribe((found) => {
      seen.push(report(found))
      if (seen.length === 1) source$.next(milestone(' three'))
    })
    source$.next(milestone('one two'))
    expect(seen).toEqual(['1 final one', '2 final two', '3 final three'])
  })

  it('stops searching when its consumer has enough', () => {
    const source$ = new Subject<SessionEvent>()
    const seen: string[] = []
    source$.pipe(spot(['one', 'two']), take(1)).subscribe((found) => seen.push(report(found)))
    source$.next(milestone('one two'))
    expect({ seen, isObserved: source$.observed }).toEqual({ seen: ['1 final one'], isObserved: false })
  })

  it('does work by the length of results, not by the number of phrases or results', () => {
    const phrases = Array.from({ length: 1000 }, (_, at) => `${'go '.repeat(at % 20)}word${at}`)
    const results = Array.from({ length: 2000 }, (_, at) => [
      partial('go go go go go go go go word8'),
      milestone(` go go go go go go go go word${at % 1000}`),
    ]).flat()
    const started = performance.now()
    const found = spotted(phrases, ...results)
    expect(found.length).toBeGreaterThan(2000)
    expect(performance.now() - started).toBeLessThan(2000)
  })

  it.each<[string, unknown]>([
    ['none', []],
    ['no text', ['']],
    ['no word', ['...']],
    ['a number', [5]],
    ['no list', 'stop'],
    ['too many', Array.from({ length: 10_001 }, () => 'a')],
  ])('refuses phrases: %s', (_, phrases) => {
    expect(codeThrownBy(() => spot(phrases as string[]))).toBe('invalid-options')
  })
})
