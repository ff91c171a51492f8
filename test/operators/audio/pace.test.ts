import {
  concat,
  map,
  of,
  Subject,
  take,
  throwError,
  toArray,
  VirtualTimeScheduler,
  type OperatorFunction,
  type SchedulerLike,
} from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { AudioFormat } from '../../../src/audio/format.js'
import { SpeechError } from '../../../src/errors/speech-error.js'
import { pace } from '../../../src/operators/audio/pace.js'
import { codeThrownBy, marbles } from '../marbles.js'

/** A millisecond is 8 bytes, a chunk of 20 ms 160. */
const format: AudioFormat = { encoding: 'ulaw', sampleRateHz: 8000, channels: 1 }
const audio = (durationMs: number): Uint8Array => new Uint8Array(durationMs * 8)
const lengthMs = (): OperatorFunction<Uint8Array, number> => map((bytes) => bytes.length / 8)
const values = { c: 20, s: 10 }

/** An iterable that counts its reads and records whether it was released. */
const watched = (slices: readonly Uint8Array[]): Iterable<Uint8Array> & { asked: number; returned: number } => {
  const source = {
    asked: 0,
    returned: 0,
    [Symbol.iterator]: () => {
      const iterator = slices[Symbol.iterator]()
      return {
        next: () => {
          source.asked += 1
          return iterator.next()
        },
        return: () => {
          source.returned += 1
          return { done: true as const, value: undefined }
        },
      }
    },
  }
  return source
}

/** An async iterable of slices of 20 ms, each available right after it was requested, but not synchronously. */
const promised = (scheduler: SchedulerLike, count: number): AsyncIterable<Uint8Array> & { asked: number } => {
  const source = {
    asked: 0,
    [Symbol.asyncIterator]: () => ({
      next: () => {
        source.asked += 1
        const result = { done: source.asked > count, value: audio(20) }
        // In virtual time a promise would never settle.
        const then = (keep: (is: typeof result) => void) => {
          scheduler.schedule(() => keep(result))
          return { then: () => undefined }
        }
        return { then }
      },
    }),
  }
  return source as unknown as AsyncIterable<Uint8Array> & { asked: number }
}

/** A scheduler whose clock can be set independently of its timers. */
const clockOf = (scheduler: VirtualTimeScheduler): { now: () => number; offsetMs: number } => {
  const clock = { offsetMs: 0, now: () => scheduler.frame + clock.offsetMs }
  return clock
}

describe('pace', () => {
  it('emits audio that is pushed together in chunks at the pace of real time, and completes when the last has elapsed', () => {
    marbles(({ cold, scheduler, expectObservable, expectSubscriptions }) => {
      const source$ = cold('  (a|)', { a: audio(70) })
      const subscription = '  (^!)'
      const expected = '      c 19ms c 19ms c 19ms s 19ms |'
      expectObservable(source$.pipe(pace({ format, scheduler }), lengthMs())).toBe(expected, values)
      expectSubscriptions(source$.subscriptions).toBe(subscription)
    })
  })

  it('passes a live source on without delay', () => {
    marbles(({ cold, scheduler, expectObservable, expectSubscriptions }) => {
      const source$ = cold('  -- a 19ms a 19ms a 19ms |', { a: audio(20) })
      const subscription = '  ^- 20ms   20ms   20ms   !'
      const expected = '      -- c 19ms c 19ms c 19ms |'
      expectObservable(source$.pipe(pace({ format, scheduler }), lengthMs())).toBe(expected, values)
      expectSubscriptions(source$.subscriptions).toBe(subscription)
    })
  })

  it('completes immediately when the source is empty', () => {
    marbles(({ cold, scheduler, expectObservable, expectSubscriptions }) => {
      const source$ = cold<Uint8Array>('|   ')
      const subscription = '            (^!)'
      const expected = '                |   '
      expectObservable(source$.pipe(pace({ format, scheduler }))).toBe(expected)
      expectSubscriptions(source$.subscriptions).toBe(subscription)
      expectObservable(pace({ format, scheduler })([])).toBe('|')
    })
  })

  it('emits nothing while the source emits nothing', () => {
    marbles(({ cold, scheduler, expectObservable, expectSubscriptions }) => {
      const source$ = cold<Uint8Array>('-        ')
      const subscription = '            ^ 1s !   '
      const expected = '                -        '
      expectObservable(source$.pipe(pace({ format, scheduler })), subscription).toBe(expected)
      expectSubscriptions(source$.subscriptions).toBe(subscription)
    })
  })

  it('emits the audio that arrived before an error of the source, then the error in its order', () => {
    marbles(({ cold, scheduler, expectObservable, expectSubscriptions }) => {
      const source$ = cold('  a-#                  ', { a: audio(30) })
      const subscription = '  ^-!                  '
      const expected = '      c 19ms s 9ms 10ms #'
      expectObservable(source$.pipe(pace({ format, scheduler }), lengthMs())).toBe(expected, values)
      expectSubscriptions(source$.subscriptions).toBe(subscription)
    })
  })

  it('unsubscribes from the source and from timers early', () => {
    marbles(({ cold, scheduler, expectObservable, expectSubscriptions, flush }) => {
      const source$ = cold('  a-         ', { a: audio(500) })
      const subscription = '  ^ 49ms !   '
      const expected = '      c 19ms c 19ms c'
      expectObservable(source$.pipe(pace({ format, scheduler }), lengthMs()), subscription).toBe(expected, values)
      expectSubscriptions(source$.subscriptions).toBe(subscription)
      flush()
      expect(scheduler.frame).toBeLessThan(100)
    })
  })

  it('starts again when it is subscribed again', () => {
    marbles(({ cold, scheduler, expectObservable, expectSubscriptions }) => {
      const source$ = cold('  (a|)       ', { a: audio(40) })
      const result$ = source$.pipe(pace({ format, scheduler }), lengthMs())
      const second = '        7ms ^      '
      expectObservable(result$).toBe('    c 19ms c 19ms |', values)
      expectObservable(result$, second).toBe('7ms c 19ms c 19ms |', values)
      expectSubscriptions(source$.subscriptions).toBe(['(^!)', '7ms (^!)'])
    })
  })

  it('keeps the order when a subscriber feeds the source while it receives a chunk', () => {
    marbles(({ scheduler, flush }) => {
      const source$ = new Subject<Uint8Array>()
      const seen: (readonly [number, number | undefined])[] = []
      source$.pipe(pace({ format, scheduler }), take(3)).subscribe((chunk) => {
        seen.push([scheduler.now(), chunk[0]])
        if (seen.length === 1) source$.next(audio(20).fill(2))
      })
      source$.next(Uint8Array.from([...audio(20).fill(0), ...audio(20).fill(1)]))
      flush()
      expect(seen).toEqual([
        [0, 0],
        [20, 1],
        [40, 2],
      ])
    })
  })

  it('pulls an iterable slice by slice, as its audio is consumed, and holds no more than necessary', () => {
    marbles(({ scheduler, expectObservable }) => {
      const source = watched(Array.from({ length: 10 }, () => audio(100)))
      const asked$ = pace({ format, scheduler })(source).pipe(
        take(11),
        map(() => source.asked),
      )
      const [a, b, c] = [1, 2, 3]
      // The next slice is requested when the last chunk of a slice is emitted, so that none is late.
      const expected = 'a 19ms a 19ms a 19ms a 19ms b 19ms b 19ms b 19ms b 19ms b 19ms c 19ms (c|)'
      expectObservable(asked$).toBe(expected, { a, b, c })
    })
  })

  it('never pulls an endless iterable faster than the pace allows', () => {
    marbles(({ scheduler, flush }) => {
      let asked = 0
      const endless = (function* () {
        for (;;) {
          asked += 1
          yield audio(20)
        }
      })()
      const subscription = pace({ format, scheduler })(endless).subscribe()
      scheduler.schedule(() => subscription.unsubscribe(), 1000)
      flush()
      expect(asked).toBeGreaterThanOrEqual(50)
      expect(asked).toBeLessThanOrEqual(53)
    })
  })

  it('releases an iterable when it is unsubscribed, and not when it has ended', () => {
    marbles(({ scheduler, expectObservable, flush }) => {
      const [cut, whole] = [watched([audio(100)]), watched([audio(20)])]
      expectObservable(pace({ format, scheduler })(cut).pipe(lengthMs()), '^ 9ms !').toBe('c', values)
      expectObservable(pace({ format, scheduler })(whole).pipe(lengthMs())).toBe('c 19ms |', values)
      flush()
      expect([cut.returned, whole.returned]).toEqual([1, 0])
    })
  })

  it('joins small slices of an iterable into whole chunks', () => {
    marbles(({ scheduler, expectObservable }) => {
      const source = Array.from({ length: 50 }, () => audio(1))
      expectObservable(pace({ format, scheduler })(source).pipe(lengthMs())).toBe('c 19ms c 19ms s 19ms |', values)
    })
  })

  it('keeps its speed with small slices from promises, and pulls no more than the pace allows', () => {
    marbles(({ scheduler, expectObservable }) => {
      const source = promised(scheduler, 200)
      const seen$ = pace({ format, scheduler, speed: 8 })(source).pipe(
        map((_, index) => ({ lateMs: scheduler.now() - (index * 20) / 8, aheadMs: source.asked * 20 - index * 20 })),
        toArray(),
        map((seen) => ({
          count: seen.length,
          late: seen.filter(({ lateMs }) => lateMs < -1 || lateMs >= 10).length,
          // The audio of one tick, and one slice.
          greedy: seen.filter(({ aheadMs }) => aheadMs > 10 * 8 + 20 + 20).length,
        })),
      )
      // 4 s of audio take 500 ms.
      expectObservable(seen$).toBe('500ms (x|)', { x: { count: 200, late: 0, greedy: 0 } })
    })
  })

  it('runs at another speed', () => {
    marbles(({ scheduler, expectObservable }) => {
      expectObservable(pace({ format, scheduler, speed: 2 })([audio(80)]).pipe(lengthMs())).toBe(
        'c 9ms c 9ms c 9ms c 9ms |',
        values,
      )
      expectObservable(pace({ format, scheduler, speed: 4 })([audio(80)]).pipe(lengthMs())).toBe(
        'c 9ms (cc) 6ms (c|)',
        values,
      )
    })
  })

  it('accepts another chunk length for stereo', () => {
    marbles(({ scheduler, expectObservable }) => {
      const stereo: AudioFormat = { encoding: 'pcm', sampleRateHz: 16_000, channels: 2 }
      const source = [new Uint8Array(64 * 250)]
      const result$ = pace({ format: stereo, everyMs: 100, scheduler })(source).pipe(map((bytes) => bytes.length / 64))
      expectObservable(result$).toBe('a 99ms a 99ms b 59ms |', { a: 100, b: 50 })
    })
  })

  it('errors with too-fast when a pushed source is ahead by more than the bound', () => {
    marbles(({ cold, scheduler, expectObservable, expectSubscriptions }) => {
      const source$ = cold('  a---b-', { a: audio(100), b: audio(50) })
      const subscription = '  ^---!'
      const expected = '      c---#'
      const error = new SpeechError(
        'too-fast',
        'More than 120 ms of audio are waiting to be paced; pass a source that can be pulled, or raise maxBufferMs.',
      )
      expectObservable(source$.pipe(pace({ format, scheduler, maxBufferMs: 120 }), lengthMs())).toBe(
        expected,
        values,
        error,
      )
      expectSubscriptions(source$.subscriptions).toBe(subscription)
    })
  })

  it('errors with cut-sample in its order when the audio ended within a sample', () => {
    marbles(({ scheduler, expectObservable }) => {
      const pcm: AudioFormat = { ...format, encoding: 'pcm' }
      const result$ = pace({ format: pcm, scheduler })([new Uint8Array(321)]).pipe(map((bytes) => bytes.length))
      const error = new SpeechError(
        'cut-sample',
        'The audio ended within a sample: only 1 of its last 2 bytes arrived.',
      )
      expectObservable(result$).toBe('a 19ms #', { a: 320 }, error)
    })
  })

  it('passes an error of an iterable on in its order', () => {
    marbles(({ scheduler, expectObservable }) => {
      const broken = (function* () {
        yield audio(20)
        throw new Error('broken')
      })()
      expectObservable(pace({ format, scheduler })(broken).pipe(lengthMs())).toBe(
        'c 19ms #',
        values,
        new Error('broken'),
      )
    })
  })

  it('catches up after a stall, but not more than the bound', () => {
    const timers = new VirtualTimeScheduler()
    const clock = clockOf(timers)
    const scheduler = { now: clock.now, schedule: timers.schedule.bind(timers) }
    const times: number[] = []
    const subscription = pace({ format, scheduler, maxCatchUpMs: 100 })([audio(60_000)]).subscribe(() =>
      times.push(clock.now()),
    )
    timers.schedule(() => (clock.offsetMs = 10_000), 201)
    timers.schedule(() => subscription.unsubscribe(), 301)
    timers.flush()
    const at = (ms: number): number => times.filter((time) => time === ms).length
    // Ten seconds are lost, of which 100 ms are caught up; then the pace continues.
    expect([at(200), at(10_220), at(10_240), at(10_260)]).toEqual([1, 6, 1, 1])
  })

  it('continues when the clock is set back', () => {
    const timers = new VirtualTimeScheduler()
    const clock = clockOf(timers)
    const scheduler = { now: clock.now, schedule: timers.schedule.bind(timers) }
    let count = 0
    const subscription = pace({ format, scheduler })([audio(60_000)]).subscribe(() => (count += 1))
    timers.schedule(() => (clock.offsetMs = -3_600_000), 201)
    timers.schedule(() => subscription.unsubscribe(), 1001)
    timers.flush()
    expect(count).toBeGreaterThanOrEqual(48)
    expect(count).toBeLessThanOrEqual(51)
  })

  it('does not drift when every timer is late', () => {
    const timers = new VirtualTimeScheduler()
    // A clock that runs 3 percent faster than the timers.
    const scheduler = { now: () => Math.floor(timers.frame * 1.03), schedule: timers.schedule.bind(timers) }
    let count = 0
    const subscription = pace({ format, scheduler })([audio(60_000)]).subscribe(() => (count += 1))
    timers.schedule(() => subscription.unsubscribe(), 20_000)
    timers.flush()
    expect(Math.abs(count - 20_600 / 20)).toBeLessThanOrEqual(2)
  })

  it.each([
    [
      'an async iterable',
      (slices: Uint8Array[]) =>
        (async function* () {
          yield* slices
        })(),
    ],
    ['a Web stream', streamOf],
  ])('pulls %s to its end', async (_, open) => {
    const source = open([audio(20), audio(15)])
    const seen: number[] = []
    await new Promise<void>((resolve, reject) => {
      pace({ format, speed: 100 })(source as AsyncIterable<Uint8Array>).subscribe({
        next: (chunk) => seen.push(chunk.length / 8),
        complete: resolve,
        error: reject,
      })
    })
    expect(seen).toEqual([20, 15])
  })

  it('cancels a Web stream when it is unsubscribed', async () => {
    const cancelled = new Promise((resolve) => {
      const stream = new ReadableStream<Uint8Array>({
        pull: (controller) => controller.enqueue(audio(20)),
        cancel: () => resolve('cancelled'),
      })
      // Like browsers whose streams are not async iterables.
      const plain = { getReader: stream.getReader.bind(stream) } as unknown as typeof stream
      pace({ format, speed: 100 })(plain).pipe(take(1)).subscribe()
    })
    expect(await cancelled).toBe('cancelled')
  })

  it('emits the error of a rejected promise or a failed Observable immediately', () => {
    const errors: unknown[] = []
    concat(
      of(),
      throwError(() => new Error('broken')),
    )
      .pipe(pace({ format }))
      .subscribe({ error: (error: unknown) => errors.push(error) })
    expect(errors).toEqual([new Error('broken')])
  })

  it.each([
    { everyMs: 0 },
    { speed: 0 },
    { speed: NaN },
    { speed: Infinity },
    { maxCatchUpMs: -1 },
    { maxBufferMs: 10 },
  ])('rejects %o immediately', (wrong) => {
    expect(codeThrownBy(() => pace({ format, ...wrong }))).toBe('invalid-options')
  })
})

/** A Web stream that is not an async iterable, as in browsers that lack support. */
const streamOf = (slices: readonly Uint8Array[]): Pick<ReadableStream<Uint8Array>, 'getReader'> => {
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const slice of slices) controller.enqueue(slice)
      controller.close()
    },
  })
  return { getReader: stream.getReader.bind(stream) }
}
