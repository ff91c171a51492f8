import { concat, from, of, Subject, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { CaptionCue } from '../../../src/operators/captions/caption-cue.js'
import { toSrt, toWebVtt } from '../../../src/operators/captions/caption-files.js'
import { codeThrownBy, marbles } from '../marbles.js'

const cue = (details: Partial<CaptionCue> = {}): CaptionCue => ({
  id: 7,
  state: 'final',
  channel: 0,
  startMs: 1000,
  endMs: 2500,
  lines: [],
  text: 'hello',
  times: 'words',
  flicker: 0,
  contradicted: 0,
  ...details,
})
const values = { f: cue(), l: cue({ state: 'live' }), w: cue({ state: 'withdrawn', text: '' }) }

const kinds = [
  {
    kind: 'toWebVtt',
    write: toWebVtt,
    header: ['WEBVTT\n\n'],
    block: (number: number) => `${number}\n00:00:01.000 --> 00:00:02.500\nhello\n\n`,
  },
  {
    kind: 'toSrt',
    write: toSrt,
    header: [] as string[],
    block: (number: number) => `${number}\n00:00:01,000 --> 00:00:02,500\nhello\n\n`,
  },
]

describe.each(kinds)('$kind', ({ write, header, block }) => {
  const h = header[0] ?? ''
  const blocks = { h, a: block(1), b: block(2) }
  /** The first frame of a diagram: the header, if there is one. */
  const first = header.length === 0 ? '-' : 'h'
  const written = (options: { channels?: number }, ...cues: CaptionCue[]): string[] => {
    const seen: string[] = []
    from(cues)
      .pipe(write(options))
      .subscribe((text) => seen.push(text))
    return seen.slice(header.length)
  }

  it('writes each final cue once, numbered from 1, and ignores other cues', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold<CaptionCue>('-l-f-w-f-|', values)
      const subscription = '            ^--------!'
      const expected = `                ${first}--a---b-|`
      expectObservable(source$.pipe(write())).toBe(expected, blocks)
      expectSubscriptions(source$.subscriptions).toBe(subscription)
    })
  })

  it('emits a complete file without cues, and nothing while the source emits nothing', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold<CaptionCue>('--|').pipe(write())).toBe(`${first}-|`, blocks)
      expectObservable(cold<CaptionCue>('-').pipe(write())).toBe(first, blocks)
    })
  })

  it('passes an error on after the queued cues', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold<CaptionCue>('-f-#', values)
      const subscription = '            ^--!'
      const expected = `                ${first}--(a#)`
      expectObservable(source$.pipe(write({ channels: 2 }))).toBe(expected, blocks)
      expectSubscriptions(source$.subscriptions).toBe(subscription)
    })
  })

  it('unsubscribes early, and numbers from 1 again with a new subscription', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold<CaptionCue>('-f-f-|   ', values)
      const early = '                   ^-!      '
      const again = '                   ------^  '
      const subscriptions = ['          ^-!      ', '------^----!']
      const expected = [`               ${first}a`, `------${first}a-b-|`] as const
      const text$ = source$.pipe(write())
      expectObservable(text$, early).toBe(expected[0], blocks)
      expectObservable(text$, again).toBe(expected[1], blocks)
      expectSubscriptions(source$.subscriptions).toBe(subscriptions)
    })
  })

  it('keeps the order when a subscriber causes a cue while it receives a block', () => {
    const source$ = new Subject<CaptionCue>()
    const seen: string[] = []
    source$.pipe(write({ channels: 2 })).subscribe((text) => {
      if (seen.push(text) === header.length + 1)
        source$.next(cue({ channel: 1, startMs: 9000, endMs: 9500, text: 'c' }))
    })
    source$.next(cue({ channel: 0, startMs: 1000, text: 'a' }))
    source$.next(cue({ channel: 0, startMs: 2000, text: 'b' }))
    source$.next(cue({ channel: 1, startMs: 3000, text: 'd' }))
    source$.complete()
    expect(seen.slice(header.length).map((text) => text.split('\n')[2])).toEqual(['a', 'b', 'd', 'c'])
  })

  it('writes the cues of two channels in the order of their starts, each as soon as its position is final', () => {
    const at = (channel: number, startMs: number) =>
      cue({ channel, startMs, endMs: startMs + 500, text: String(startMs) })
    const order = (...cues: CaptionCue[]) => written({ channels: 2 }, ...cues).map((text) => text.split('\n')[2])
    expect(order(at(0, 100), at(0, 900), at(1, 300), at(0, 1500), at(1, 1200))).toEqual([
      '100',
      '300',
      '900',
      '1200',
      '1500',
    ])
    const seen: string[] = []
    concat(
      from([at(0, 100), at(0, 900), at(1, 300)]),
      throwError(() => new Error('cut')),
    )
      .pipe(write({ channels: 2 }))
      .subscribe({ next: (text) => seen.push(text), error: () => seen.push('error') })
    expect(seen.at(-1)).toBe('error')
    expect(seen.slice(header.length, -1).map((text) => text.split('\n')[2])).toEqual(['100', '300', '900'])
    expect(codeThrownBy(() => write({ channels: 0 }))).toBe('invalid-options')
  })

  it('writes hours of any length, and no cue without duration', () => {
    const [long = ''] = written({}, cue({ startMs: 360_000_000.4, endMs: 360_000_000.4 }))
    const mark = header.length === 0 ? ',' : '.'
    expect(long.split('\n')[1]).toBe(`100:00:00${mark}000 --> 100:00:00${mark}001`)
    const [late = ''] = written({}, cue({ startMs: 3_599_999.6, endMs: 3_661_001 }))
    expect(late.split('\n')[1]).toBe(`01:00:00${mark}000 --> 01:01:01${mark}001`)
  })
})

describe('toWebVtt', () => {
  it('names the speaker in a voice tag, and escapes markup', () => {
    const seen: string[] = []
    of(cue({ speaker: 'R&D <1>', text: 'a < b & c --> d\nnext' }))
      .pipe(toWebVtt())
      .subscribe((text) => seen.push(text))
    expect(seen.join('')).toBe(
      'WEBVTT\n\n1\n00:00:01.000 --> 00:00:02.500\n<v R&amp;D &lt;1&gt;>a &lt; b &amp; c --&gt; d\nnext\n\n',
    )
  })
})

describe('toSrt', () => {
  it('names the speaker before the text, without an arrow in the text', () => {
    const seen: string[] = []
    of(cue({ speaker: 'Agent', text: 'a & b --> c' }))
      .pipe(toSrt())
      .subscribe((text) => seen.push(text))
    expect(seen.join('')).toBe('1\n00:00:01,000 --> 00:00:02,500\nAgent: a & b -> c\n\n')
  })
})

describe('cues of several channels that wait for a limited time', () => {
  const at = (channel: number, startMs: number): CaptionCue =>
    cue({ channel, startMs, endMs: startMs + 500, text: `${startMs}` })
  const values = { a: at(0, 1000), b: at(0, 2000), c: at(1, 1500), d: at(1, 3000) }
  /** The texts and the starts of what is written, and when. */
  const written = (source: string, maxWaitMs: number): string[] => {
    const seen: string[] = []
    marbles(({ cold, scheduler, flush }) => {
      cold<CaptionCue>(source, values, 'broken')
        .pipe(toSrt({ channels: 2, maxWaitMs, scheduler }))
        .subscribe({
          next: (block) =>
            seen.push(
              `${scheduler.now()} ${block.split('\n')[2] ?? ''} at ${block.slice(8, 14)} to ${block.slice(25, 31)}`,
            ),
          error: () => seen.push(`${scheduler.now()} error`),
          complete: () => seen.push(`${scheduler.now()} end`),
        })
      flush()
    })
    return seen
  }

  it('are written when the time is over, although another channel is silent', () => {
    expect(written('a-b-------------|', 5)).toEqual([
      '5 1000 at 01,000 to 01,500',
      '7 2000 at 02,000 to 02,500',
      '16 end',
    ])
  })
  it('are in order if the other channel is in time, and written as soon as it has a later one', () => {
    expect(written('a-b-c-d---------|', 9)).toEqual([
      ...[
        '4 1000 at 01,000 to 01,500',
        '4 1500 at 01,500 to 02,000',
        '6 2000 at 02,000 to 02,500',
        '15 3000 at 03,000 to 03,500',
      ],
      '16 end',
    ])
  })
  it('are moved to the start of the cue before, if they come late', () => {
    expect(written('a-b------c|', 3)).toEqual([
      '3 1000 at 01,000 to 01,500',
      '5 2000 at 02,000 to 02,500',
      '9 1500 at 02,000 to 02,500',
      '10 end',
    ])
  })
  it('are written at the end and before an error, without waiting', () => {
    expect(written('a-|', 50)).toEqual(['2 1000 at 01,000 to 01,500', '2 end'])
    expect(written('a-#', 50)).toEqual(['2 1000 at 01,000 to 01,500', '2 error'])
  })
  it('leave no timer when they are unsubscribed', () => {
    marbles(({ cold, expectObservable, scheduler }) => {
      const options = { channels: 2, maxWaitMs: 5, scheduler }
      expectObservable(cold<CaptionCue>('a---', values).pipe(toSrt(options)), '^---!').toBe('-')
    })
  })
})
