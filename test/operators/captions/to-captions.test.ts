import * as fc from 'fast-check'
import { from, map, pipe, Subject, type OperatorFunction } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { CaptionCue } from '../../../src/operators/captions/caption-cue.js'
import type { CaptionOptions } from '../../../src/operators/captions/caption-options.js'
import { columnsOf } from '../../../src/operators/captions/caption-tokens.js'
import { toCaptions } from '../../../src/operators/captions/to-captions.js'
import type { SessionEvent } from '../../../src/protocol/session-event.js'
import { codeThrownBy, marbles } from '../marbles.js'
import { itIsAnOperator } from '../operator-laws.js'
import { readCharacters } from '../string-work.js'
import { final, gap, ledgerOf, milestone, partial, streaming, wordsOf } from '../session-events.js'

const cues = (options: CaptionOptions, ...events: SessionEvent[]): CaptionCue[] => {
  const seen: CaptionCue[] = []
  from(events)
    .pipe(toCaptions(options))
    .subscribe((cue) => seen.push(cue))
  return seen
}
const finals = (options: CaptionOptions, ...events: SessionEvent[]): CaptionCue[] =>
  cues(options, ...events).filter(({ state }) => state === 'final')
const textsOf = (seen: readonly CaptionCue[]): string[] => seen.map(({ text }) => text)
/** `stable|changing` of each line. */
const linesOf = (seen: readonly CaptionCue[]): string[][] =>
  seen.map(({ lines }) => lines.map(({ stable, changing }) => `${stable}|${changing}`))

const values = {
  p: partial('good', { startMs: 0, endMs: 500 }),
  m: wordsOf('good morning all', 0, 500),
  o: streaming,
}
const toText = (): OperatorFunction<CaptionCue, string> => map(({ state, text }) => `${state} ${text}`)
const texts = { l: 'live good', f: 'final good morning all', w: 'withdrawn ' }

describe('toCaptions', () => {
  // A partial has a live cue, and its milestone the final one; an error retracts text that is not committed.
  itIsAnOperator({
    operator: () => pipe(toCaptions(), toText()),
    values,
    outputs: texts,
    source: '  -p-m-o-|',
    expected: '-l-f---|',
    failed: '  -l-(w#)',
  })

  it('emits a live cue with a partial, and the final one with its milestone', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold<SessionEvent>('-o-p-p-m-o-|', values)
      const subscription = '              ^----------!'
      const expected = '                  ---l---f---|'
      expectObservable(source$.pipe(toCaptions(), toText())).toBe(expected, texts)
      expectSubscriptions(source$.subscriptions).toBe(subscription)
    })
  })

  it('keeps the order when a subscriber causes an event while it receives a cue', () => {
    const source$ = new Subject<SessionEvent>()
    const seen: string[] = []
    source$.pipe(toCaptions({ maxLines: 1, maxChars: 8, minMs: 0 }), toText()).subscribe((text) => {
      seen.push(text)
      if (seen.length === 1) source$.next(wordsOf(' three four', 2000))
    })
    source$.next(wordsOf('one more two more', 0))
    expect(seen).toEqual(['final one more', 'final two more', 'final three', 'final four'])
  })

  describe('with partials that say what is stable', () => {
    const spoken = (text: string, stableLength: number, endMs: number) =>
      partial(text, { startMs: 0, endMs, stableLength })

    it('shows the stable words as such, and commits the text of the milestone', () => {
      marbles(({ cold, expectObservable, expectSubscriptions }) => {
        const given = {
          a: spoken('good morning', 0, 400),
          b: spoken('good morning', 4, 500),
          c: spoken('good morning all', 12, 700),
          m: wordsOf('good Morning, all', 0, 500),
        }
        const source$ = cold<SessionEvent>('-a-b-c-m-|', given)
        const subscription = '              ^--------!'
        const expected = '                  -a-b-c-m-|'
        const toLines = map((cue: CaptionCue) => linesOf([cue])[0]?.join())
        const lines = { a: '|good morning', b: 'good| morning', c: 'good morning| all', m: 'good Morning, all|' }
        expectObservable(source$.pipe(toCaptions(), toLines)).toBe(expected, lines)
        expectSubscriptions(source$.subscriptions).toBe(subscription)
      })
    })

    it('commits them at once, instead of after `commitAfterMs`', () => {
      const seen = cues(
        { commitAfterMs: 5_000 },
        spoken('good morning', 0, 400),
        spoken('good morning all', 12, 700),
        wordsOf('Good evening all', 0, 700),
      )
      expect(linesOf(seen)).toEqual([['|good morning'], ['good morning| all'], ['good morning all|']])
      expect(seen.at(-1)).toMatchObject({ state: 'final', contradicted: 1 })
    })

    it('counts no word that only begins with the stable text', () => {
      const [, cue] = cues({}, spoken('a', 1, 100), spoken('all good', 1, 400))
      expect(linesOf(cue ? [cue] : [])).toEqual([['|all good']])
    })
  })

  it.each([
    { maxChars: 7 },
    { maxLines: 0 },
    { minMs: -1 },
    { minMs: 5000, maxMs: 4000 },
    { commitAfterMs: Number.NaN },
    { speakers: ['A name that takes more than half'] },
  ])('rejects %o when it is called', (options) => {
    expect(codeThrownBy(() => toCaptions(options))).toBe('invalid-options')
  })

  describe('lines', () => {
    it('breaks between words, and fills lines and cues from the first word', () => {
      const text = 'one two three four five six seven eight nine ten'
      expect(textsOf(finals({ maxChars: 12 }, wordsOf(text, 0, 100)))).toEqual([
        'one two\nthree four',
        'five six\nseven eight',
        'nine ten',
      ])
    })

    it('cuts a word that is longer than a line, and no other', () => {
      expect(textsOf(finals({ maxChars: 8 }, wordsOf('a 123456789012 b', 0)))).toEqual(['a\n12345678', '9012 b'])
    })

    it('reserves space for the name of the speaker in the first line', () => {
      const [cue] = finals({ maxChars: 16, speakers: ['Agent'] }, wordsOf('one two three four', 0))
      expect(cue).toMatchObject({ speaker: 'Agent', text: 'one two\nthree four' })
    })

    it.each([
      [
        'breaks Chinese anywhere except before a punctuation mark',
        '今天天气很好，我们去公园吧。',
        ['今天天气', '很好，我', '们去公园', '吧。'],
      ],
      ['never ends a line with an opening mark', '去今天「公园」吧', ['去今天', '「公园」', '吧']],
      ['never begins a line with small kana', 'きょうはしゃしん', ['きょうは', 'しゃしん']],
      ['breaks Thai between words of the dictionary', 'สวัสดีครับยินดี', ['สวัสดีครับ', 'ยินดี']],
      [
        'keeps words at a no-break space',
        'bien sûr\u00a0? 10\u202f000\u00a0€',
        ['bien', 'sûr\u00a0?', '10\u202f000\u00a0€'],
      ],
      ['keeps characters at a no-break space', '今天天\u00a0气很好', ['今天', '天\u00a0气很', '好']],
      ['keeps what a reader sees as one character', '👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧', ['👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧', '👨‍👩‍👧']],
    ])('%s', (_, text, lines) => {
      const shown = finals(
        { maxChars: 8, maxLines: 10, pauseMs: 100_000 },
        milestone(text, { startMs: 0, endMs: 4000 }),
      )
      expect(textsOf(shown)).toEqual([lines.join('\n')])
    })

    it('never exceeds the maximum line length and never loses a word, with any text', () => {
      const word = fc.string({
        unit: fc.constantFrom('a', 'ö', '文', 'ー', '。', '「', 'ก', '👍', '-', '\u0007'),
        minLength: 1,
        maxLength: 14,
      })
      fc.assert(
        fc.property(fc.array(word, { maxLength: 30 }), fc.integer({ min: 8, max: 30 }), (spoken, maxChars) => {
          const shown = finals({ maxChars }, milestone(spoken.join(' '), { startMs: 0, endMs: spoken.length * 400 }))
          const lines = shown.flatMap(({ text }) => text.split('\n'))
          expect(Math.max(0, ...lines.map(columnsOf))).toBeLessThanOrEqual(maxChars)
          const bare = (text: string): string => text.replace(/[\s\p{Cc}]/gu, '')
          expect(bare(lines.join(''))).toBe(bare(spoken.join('')))
        }),
      )
    })
  })

  describe('changing words', () => {
    const at = (text: string, endMs: number) => partial(text, { startMs: 0, endMs })

    it('distinguishes stable from changing text, and retracts a cue whose words are gone', () => {
      const seen = cues({}, at('i', 300), at('', 400), at('ice', 600), milestone('nice', { startMs: 0, endMs: 1500 }))
      expect(seen.map(({ id, state, flicker }) => [id, state, flicker])).toEqual([
        [1, 'live', 0],
        [1, 'withdrawn', 1],
        [2, 'live', 1],
        [2, 'final', 2],
      ])
      expect(linesOf(seen)).toEqual([['|i'], [], ['|ice'], ['nice|']])
    })

    it('commits a word after its delay, and never changes it', () => {
      const seen = cues(
        { commitAfterMs: 400 },
        at('good', 300),
        at('good even', 600),
        at('good evening', 700),
        at('wood evening all', 1200),
        milestone('wood evening, all friends', { startMs: 0, endMs: 2000 }),
      )
      expect(linesOf(seen)).toEqual([
        ['|good'],
        ['|good even'],
        ['good| evening'],
        ['good evening| all'],
        ['good evening all friends|'],
      ])
      expect(seen.at(-1)).toMatchObject({ state: 'final', flicker: 1, contradicted: 1 })
    })

    it.each([
      ['one word fewer', 'a b x c', 'a b c d', 'a b x c d', 1],
      ['one word more', 'a b c', 'a x b c d', 'a b c d', 1],
      ['other letters', 'a b c', 'A b, C. d', 'a b c d', 0],
      ['none of the text', 'a b', 'x y z', 'a b z', 2],
    ])('continues after committed words when the milestone has %s', (_, spoken, definitive, shown, contradicted) => {
      const [cue] = finals({ commitAfterMs: 0 }, at(spoken, 1000), milestone(definitive, { startMs: 0, endMs: 2000 }))
      expect(cue).toMatchObject({ text: shown, contradicted })
    })

    it('places a partial that starts anew after the committed words', () => {
      const seen = cues({ commitAfterMs: 0 }, at('one two three', 900), at('one', 300), at('one two three four', 1200))
      expect(linesOf(seen).at(-2)).toEqual(['one two three four|'])
      expect(seen.at(-1)).toMatchObject({ state: 'final', flicker: 0, contradicted: 0 })
    })

    it('forgets the committed text of a recognition that ends without it', () => {
      const seen = finals(
        { commitAfterMs: 0 },
        at('one', 1000),
        final('', { startMs: 0, endMs: 1000 }),
        at('one', 5000),
      )
      expect(seen.map(({ text, contradicted }) => [text, contradicted])).toEqual([
        ['one', 1],
        ['one', 1],
      ])
    })

    it('never changes a committed word nor its line, with any text', () => {
      const text = fc
        .array(fc.constantFrom('a', 'bb', 'ccc', 'dddd'), { maxLength: 12 })
        .map((spoken) => spoken.join(' '))
      const spoken = fc.tuple(fc.constantFrom('partial', 'milestone'), text, fc.integer({ min: 50, max: 900 }))
      fc.assert(
        fc.property(fc.array(spoken, { maxLength: 25 }), fc.constantFrom(0, 300, Infinity), (script, commitAfterMs) => {
          let [startMs, endMs] = [0, 0]
          const events = script.map(([type, words, ms]): SessionEvent => {
            endMs += ms
            const span = { startMs, endMs }
            if (type === 'partial') return partial(words, span)
            startMs = endMs
            return milestone(words, span)
          })
          const lines = new Map<number, readonly string[]>()
          const ends = new Map<number, number>()
          const isFinal = new Set<number>()
          for (const cue of cues({ maxChars: 9, minMs: 200, maxMs: 3000, commitAfterMs }, ...events)) {
            expect(isFinal.has(cue.id)).toBe(false)
            const before = lines.get(cue.id) ?? []
            if (cue.state !== 'withdrawn') {
              before.forEach((line, index) => expect((cue.lines[index]?.stable ?? '').startsWith(line)).toBe(true))
              lines.set(
                cue.id,
                cue.lines.map(({ stable }) => stable),
              )
            } else expect(before.join('')).toBe('')
            if (cue.state !== 'final') continue
            isFinal.add(cue.id)
            expect(cue.startMs).toBeGreaterThanOrEqual(ends.get(cue.channel) ?? 0)
            expect(cue.endMs).toBeGreaterThan(cue.startMs)
            ends.set(cue.channel, cue.endMs)
          }
          if (commitAfterMs < Infinity) return
          const definitive = script.filter(([type]) => type === 'milestone').map(([, words]) => words)
          const shown = textsOf(finals({ maxChars: 9, commitAfterMs }, ...events)).join(' ')
          expect(shown.replace(/\s/g, '')).toBe(definitive.join('').replace(/\s/g, ''))
        }),
      )
    })
  })

  describe('times', () => {
    it('takes them from words, and reports that', () => {
      const [cue] = finals({}, wordsOf('one two three', 700, 400))
      expect(cue).toMatchObject({ startMs: 700, endMs: 1900, times: 'words' })
    })

    it('finds them when words and text are written differently', () => {
      const spoken = wordsOf('three p m', 1000, 500)
      const [cue] = finals({ maxChars: 8, maxLines: 1 }, { ...spoken, text: '3 pm' })
      expect(cue).toMatchObject({ text: '3 pm', startMs: 1000, endMs: 2500 })
    })

    it('distributes those of the result when there are no words', () => {
      const shown = finals(
        { maxChars: 8, maxLines: 1, minMs: 0 },
        milestone('aaaaaa bbb', { startMs: 1000, endMs: 4000 }),
      )
      expect(shown.map(({ startMs, endMs, times }) => [startMs, endMs, times])).toEqual([
        [1000, 3000, 'results'],
        [3000, 4000, 'results'],
      ])
    })

    it('uses those of partials for words that were committed before their milestone', () => {
      const [cue] = cues({ commitAfterMs: 0 }, partial('one', { startMs: 200, endMs: 600 }))
      expect(cue).toMatchObject({ startMs: 200, endMs: 600 })
    })

    it('uses the arrival of results when the service sends no times', () => {
      marbles(({ scheduler, cold, expectObservable }) => {
        const source$ = cold<SessionEvent>('s 4999ms m|', { s: streaming, m: milestone('good morning') })
        const shown$ = source$.pipe(
          toCaptions({ scheduler, minMs: 500 }),
          map(({ startMs, endMs, times }) => ({ startMs, endMs, times })),
        )
        expectObservable(shown$).toBe('5000ms a|', {
          a: { startMs: 5000 - 13 * 75, endMs: 5000, times: 'arrival' },
        })
      })
    })

    it('uses the given clock', () => {
      const [cue] = finals({ audioMs: () => 90_000 }, milestone('hi'))
      expect(cue?.endMs).toBeGreaterThanOrEqual(90_000)
    })

    it('shows a cue for its minimum duration, unless the next begins before', () => {
      const next = milestone(' b', { startMs: 700, endMs: 800 })
      const short = milestone('a', { startMs: 0, endMs: 100 })
      expect(finals({ minMs: 1000, pauseMs: 500 }, short, next).map(({ startMs, endMs }) => [startMs, endMs])).toEqual([
        [0, 700],
        [700, 1700],
      ])
    })

    it('joins a part to a cue that is too short to stand alone', () => {
      const shown = finals({}, wordsOf('yes', 0, 300), wordsOf(' of course', 400, 300))
      expect(textsOf(shown)).toEqual(['yes of course'])
    })

    it('begins a new cue after silence, after lost audio, and at the maximum duration', () => {
      expect(textsOf(finals({ minMs: 5000 }, wordsOf('a b', 0), wordsOf(' c', 2500)))).toEqual(['a b', 'c'])
      expect(textsOf(finals({ minMs: 5000 }, wordsOf('a b', 0), gap(600, 900), wordsOf(' c', 900)))).toEqual([
        'a b',
        'c',
      ])
      const other = gap(600, 900, { channel: 1 })
      expect(textsOf(finals({ minMs: 5000 }, wordsOf('a b', 0), other, wordsOf(' c', 900)))).toEqual(['a b c'])
      expect(textsOf(finals({ maxMs: 1000 }, wordsOf('a b c d', 0)))).toEqual(['a b c', 'd'])
    })

    it('ends a short cue as soon as it is known that nothing joins it', () => {
      const seen = cues({}, wordsOf('yes', 0), ledgerOf({ capturedMs: 3000, finalizedMs: 1799 }))
      expect(seen.slice(0, -1).map(({ state }) => state)).toEqual(['live'])
      const early = cues({}, wordsOf('yes', 0), ledgerOf({ capturedMs: 3000, finalizedMs: 1800 }), streaming, streaming)
      expect(early.map(({ state }) => state)).toEqual(['live', 'final'])
    })
  })

  it('keeps two channels separate', () => {
    const seen = cues(
      { speakers: ['Agent', 'Customer'] },
      partial('hello', { channel: 0, startMs: 0, endMs: 300 }),
      partial('hi', { channel: 1, startMs: 100, endMs: 400 }),
      { ...wordsOf('hello there you', 0, 400), channel: 0 },
      { ...wordsOf('hi agent smith', 100, 400), channel: 1 },
    )
    expect(seen.map(({ id, channel, speaker, state, text }) => [id, channel, speaker, state, text])).toEqual([
      [1, 0, 'Agent', 'live', 'hello'],
      [2, 1, 'Customer', 'live', 'hi'],
      [1, 0, 'Agent', 'final', 'hello there you'],
      [2, 1, 'Customer', 'final', 'hi agent smith'],
    ])
  })

  it('shows all milestones of the same times', () => {
    const times = { startMs: 0, endMs: 900 }
    const shown = finals({}, milestone('one', times), milestone(' two', times), milestone(' three', times), final(''))
    expect(textsOf(shown).join(' ')).toBe('one two three')
  })

  it('reads no more text for a result when the session is long', () => {
    const source$ = new Subject<SessionEvent>()
    source$.pipe(toCaptions()).subscribe()
    const speak = (from: number): void => {
      for (let at = from; at < from + 100; at++) {
        const times = { startMs: at * 1000, endMs: at * 1000 + 900 }
        source$.next(partial(' some more', times))
        source$.next(milestone(' some more words', times))
      }
    }
    const early = readCharacters(() => speak(0))
    speak(100)
    speak(200)
    expect(early).toBeGreaterThan(0)
    expect(readCharacters(() => speak(300))).toBeLessThan(early * 1.2)
  })

  it('accepts a milestone once that a resumed session repeats, and text that only the final has', () => {
    const words = wordsOf('one two', 0, 600)
    const shown = finals(
      {},
      words,
      { type: 'resumed', replayedMs: 0 },
      words,
      final('one two three', { startMs: 0, endMs: 2000 }),
    )
    expect(textsOf(shown)).toEqual(['one two', 'three'])
    expect(shown[1]?.startMs).toBeGreaterThanOrEqual(1200)
  })
})
