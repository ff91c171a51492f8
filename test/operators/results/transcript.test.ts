import * as fc from 'fast-check'
import { from, map, pipe, of, Subject, type OperatorFunction } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { transcript, type Transcript } from '../../../src/operators/results/transcript.js'
import type { SessionEvent } from '../../../src/protocol/session-event.js'
import { marbles } from '../marbles.js'
import { itIsAnOperator } from '../operator-laws.js'
import { readCharacters } from '../string-work.js'
import { final, milestone, partial, streaming } from '../session-events.js'

const transcripts = (...events: SessionEvent[]): Transcript[] => {
  const seen: Transcript[] = []
  from(events)
    .pipe(transcript())
    .subscribe((transcript) => seen.push(transcript))
  return seen
}
const last = (...events: SessionEvent[]): Transcript | undefined => transcripts(...events).at(-1)

const at = { startMs: 100, endMs: 900 }
const resumed = { type: 'resumed', replayedMs: 0 } as const

const values = {
  p: partial('good'),
  m: milestone('good morning'),
  f: final('good morning', { confidence: 0.9 }),
  o: streaming,
} as const
const texts = { p: 'good', m: 'good morning' }
const toText = (): OperatorFunction<Transcript, string> => map(({ text }) => text)

describe('transcript', () => {
  // A transcript for each result, and none for other events.
  itIsAnOperator({
    operator: () => pipe(transcript(), toText()),
    values,
    outputs: texts,
    source: '  -p-o-m-f-o-|',
    expected: '-p---m-m---|',
    failed: '  -p-#',
  })

  it('handles an event that a subscriber causes while it receives a transcript', () => {
    const source$ = new Subject<SessionEvent>()
    const seen: string[] = []
    source$.pipe(transcript(), toText()).subscribe((text) => {
      seen.push(text)
      if (seen.length === 1) source$.next(milestone(' day'))
    })
    source$.next(milestone('good'))
    source$.next(milestone('!'))
    expect(seen).toEqual(['good', 'good day', 'good day!'])
  })

  it('replaces a partial by the next, and clears it with its milestone', () => {
    const channels = transcripts(partial('a'), partial('a b'), milestone('A B'), partial('c')).map(
      (transcript) => transcript.channels[0],
    )
    expect(channels).toEqual([
      { channel: 0, committed: '', partial: 'a', closed: false },
      { channel: 0, committed: '', partial: 'a b', closed: false },
      { channel: 0, committed: 'A B', partial: '', closed: false },
      { channel: 0, committed: 'A B', partial: 'c', closed: false },
    ])
  })

  it('says what of a partial is stable, until the next result', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const stable = { a: partial('one two', { stableLength: 3 }), b: partial('one two', { stableLength: 7 }) }
      const source$ = cold<SessionEvent>('-a-b-m-a-p-f-|', { ...values, ...stable })
      const subscription = '              ^------------!'
      const expected = '                  -3-7-0-3-0-0-|'
      const toStable = map(({ channels }: Transcript) => channels[0]?.stableLength ?? 0)
      const lengths = { 0: 0, 3: 3, 7: 7 }
      expectObservable(source$.pipe(transcript(), toStable)).toBe(expected, lengths)
      expectSubscriptions(source$.subscriptions).toBe(subscription)
    })
  })

  it('keeps channels separate, in their order, and keeps the identity of unchanged channels', () => {
    const [first, second, third] = transcripts(
      milestone('yes', { channel: 1 }),
      partial('shall we', { channel: 0 }),
      partial('shall we go', { channel: 0 }),
    )
    expect(second).toMatchObject({
      text: 'shall we\nyes',
      channels: [{ channel: 0 }, { channel: 1, committed: 'yes' }],
    })
    expect(second?.channels[1]).toBe(first?.channels[0])
    expect(third?.channels[1]).toBe(first?.channels[0])
  })

  it('emits the same transcript again for a result that changes nothing', () => {
    const [first, second] = transcripts(partial('good'), partial('good'))
    expect(second).toBe(first)
  })

  it('closes the channel with the final, its confidence and its error', () => {
    expect(last(milestone('one'), partial('two'), final('one', { confidence: 0.5, error: 'internal: sorry' }))).toEqual(
      {
        text: 'one',
        channels: [
          { channel: 0, committed: 'one', partial: '', closed: true, confidence: 0.5, error: 'internal: sorry' },
        ],
      },
    )
  })

  it.each([
    ['is the text without milestones', [final('one two')], 'one two'],
    ['adds what the milestones lack', [milestone('one'), final('one two')], 'one two'],
    ['adds nothing when it repeats them', [milestone('one'), milestone(' two'), final('one two')], 'one two'],
    ['ignores a leading space', [milestone(' one'), final('one two')], ' one two'],
    ['never retracts definitive text', [milestone('one two'), final('ten twenty thirty')], 'one two'],
    ['never shrinks the text', [milestone('one two'), final('one')], 'one two'],
    ['adds nothing when it is empty', [milestone('one'), final('')], 'one'],
  ])('accepts a final that %s', (_, events: SessionEvent[], text) => {
    expect(last(...events)?.text).toBe(text)
  })

  it.each([
    [
      'all of the same times',
      [milestone('one', at), milestone(' two', at), milestone(' three', at), final('')],
      'one two three',
    ],
    ['equal words of the same times', [milestone('yes', at), milestone(' yes', at)], 'yes yes'],
    ['the same times on two channels', [milestone('one', at), milestone('two', { ...at, channel: 1 })], 'one\ntwo'],
    ['the same times after a reconnect', [milestone('one', at), resumed, milestone(' two', at)], 'one two'],
    [
      'equal words in the next recognition',
      [milestone('one', at), { ...resumed, isNextRecognition: true } as const, milestone(' one', at)],
      'one one',
    ],
    ['equal words after a reconnect without times', [milestone('no'), resumed, milestone(' no')], 'no no'],
  ])('counts milestones with %s', (_, events: SessionEvent[], text) => {
    expect(last(...events)?.text).toBe(text)
  })

  it('counts a milestone once that is repeated after a reconnect, by channel, times and text', () => {
    const seen = transcripts(milestone('one', at), resumed, milestone('one', at), milestone(' one', at))
    expect(seen.map(({ text }) => text)).toEqual(['one', 'one', 'one one'])
    expect(seen[1]).toBe(seen[0])
    const other = { ...at, channel: 1 }
    const onOther = [milestone('one', at), milestone('two', other), { ...resumed, channel: 1 }]
    expect(last(...onOther, milestone('two', other), milestone(' one', at))?.text).toBe('one one\ntwo')
  })

  it('reads no more of the text for a result when the text is long', () => {
    const results = (from: number): SessionEvent[] =>
      Array.from({ length: 100 }, (_, n) => n + from).flatMap((n) => [
        partial(' some more words', { startMs: n, endMs: n + 1 }),
        milestone(' some more words', { startMs: n, endMs: n + 1, recognitionId: `${Math.floor(n / 10)}` }),
        ...(n % 10 === 9 ? [final(' some more words'.repeat(10), { recognitionId: `${Math.floor(n / 10)}` })] : []),
      ])
    const source$ = new Subject<SessionEvent>()
    source$.pipe(transcript()).subscribe()
    const work = (from: number): number => readCharacters(() => results(from).forEach((event) => source$.next(event)))
    const early = work(0)
    results(100)
      .concat(results(200), results(300))
      .forEach((event) => source$.next(event))
    expect(early).toBeGreaterThan(0)
    expect(work(400)).toBeLessThan(early * 1.2)
  })

  it('appends the text of the next recognition to the earlier text', () => {
    const seen = transcripts(
      milestone('one', { recognitionId: 'a' }),
      final('one two', { recognitionId: 'a' }),
      partial('thr', { recognitionId: 'b' }),
      milestone('three', { recognitionId: 'b' }),
      final('three four', { recognitionId: 'b' }),
    )
    expect(seen.map(({ text }) => text)).toEqual([
      'one',
      'one two',
      'one two thr',
      'one two three',
      'one two three four',
    ])
    expect(seen.map(({ channels }) => channels[0]?.closed)).toEqual([false, true, false, false, true])
  })

  it('reopens a closed channel for results without an id', () => {
    expect(last(final('one'), milestone('two'), final('two'))).toMatchObject({
      text: 'one two',
      channels: [{ closed: true }],
    })
  })

  it('counts a repeated final once', () => {
    expect(last(final('one two', { recognitionId: 'a' }), final('one two', { recognitionId: 'a' }))?.text).toBe(
      'one two',
    )
  })

  it('inserts no space between parts in a script without spaces, nor before punctuation', () => {
    expect(last(milestone('你好'), partial('世界'))?.text).toBe('你好世界')
    expect(last(milestone('well'), partial(', then'))?.text).toBe('well, then')
  })

  it('never shrinks the committed text of a channel, with any events', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', ' '), maxLength: 6 })
    const details = fc.record(
      {
        channel: fc.constantFrom(0, 1),
        startMs: fc.constantFrom(0, 10),
        endMs: fc.constantFrom(20, 30),
        recognitionId: fc.constantFrom('r', 's'),
      },
      { requiredKeys: [] },
    )
    const make = fc.constantFrom(partial, milestone, final)
    const event = fc.tuple(make, text, details).map(([build, content, more]): SessionEvent => build(content, more))
    fc.assert(
      fc.property(fc.array(event, { maxLength: 30 }), (events) => {
        const committed = new Map<number, string>()
        const seen = transcripts(...events)
        expect(seen.length).toBe(events.length)
        for (const channel of seen.flatMap(({ channels }) => channels)) {
          expect(channel.committed.startsWith(committed.get(channel.channel) ?? '')).toBe(true)
          committed.set(channel.channel, channel.committed)
        }
      }),
    )
  })

  it('makes one transcript for one event', () => {
    const seen: number[] = []
    of(values.m)
      .pipe(transcript())
      .subscribe(({ channels }) => seen.push(channels.length))
    expect(seen).toEqual([1])
  })
})
