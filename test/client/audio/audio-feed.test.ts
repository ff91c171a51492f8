import { Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import { from, of, Subject, VirtualTimeScheduler, type ObservableInput, type SchedulerLike } from 'rxjs'
import { describe, expect, it } from 'vitest'
import {
  checkSource,
  feedAudio,
  isPulled,
  pushedAudio,
  unreadSourceMs,
  type AudioFeed,
} from '../../../src/client/audio/audio-feed.js'
import { codeThrownBy } from '../../operators/marbles.js'

const chunks = [1, 2, 3].map((value) => Uint8Array.of(value))

/** A source of three chunks that reports whether it was released. */
interface Kind {
  readonly make: () => { readonly source: ObservableInput<Uint8Array>; readonly released: () => boolean }
  /** The same source, blocked before its first chunk. */
  readonly stuck?: () => { readonly source: ObservableInput<Uint8Array>; readonly released: () => boolean }
  readonly failing: () => ObservableInput<Uint8Array>
}

const webStream = (given: readonly Uint8Array[], end: 'close' | 'stay' | Error) => {
  let cancelled = false
  const waiting = [...given]
  const stream = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        const next = waiting.shift()
        if (next !== undefined) controller.enqueue(next)
        else if (end === 'close') controller.close()
        else if (end !== 'stay') controller.error(end)
      },
      cancel: () => {
        cancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  return { source: stream as unknown as ObservableInput<Uint8Array>, released: () => cancelled }
}

const nodeStream = (given: readonly Uint8Array[], end: 'close' | 'stay' | Error) => {
  const waiting = [...given]
  const stream = new Readable({
    highWaterMark: 1,
    read() {
      const next = waiting.shift()
      if (next !== undefined) this.push(next)
      else if (end === 'close') this.push(null)
      else if (end !== 'stay') this.destroy(end)
    },
  })
  return { source: stream as AsyncIterable<Uint8Array>, released: () => stream.destroyed }
}

const iterable = (given: readonly Uint8Array[], end: 'close' | Error) => {
  let returned = false
  const iterator = given[Symbol.iterator]()
  const source: Iterable<Uint8Array> = {
    [Symbol.iterator]: () => ({
      next: () => {
        const next = iterator.next()
        if (next.done === true && end !== 'close') throw end
        return next
      },
      return: () => {
        returned = true
        return { done: true, value: undefined }
      },
    }),
  }
  return { source, released: () => returned }
}

const asyncIterable = (given: readonly Uint8Array[], end: 'close' | 'stay' | Error) => {
  let returned = false
  const iterator = given[Symbol.iterator]()
  const source: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        const next = iterator.next()
        if (next.done !== true || end === 'close') return Promise.resolve(next)
        return end === 'stay' ? new Promise(() => undefined) : Promise.reject(end)
      },
      return: () => {
        returned = true
        return Promise.resolve({ done: true, value: undefined })
      },
    }),
  }
  return { source, released: () => returned }
}

const broken = new Error('broken')
const pulledKinds: Readonly<Record<string, Kind>> = {
  'an iterable': { make: () => iterable(chunks, 'close'), failing: () => iterable(chunks, broken).source },
  'an async iterable': {
    make: () => asyncIterable(chunks, 'close'),
    stuck: () => asyncIterable([], 'stay'),
    failing: () => asyncIterable(chunks, broken).source,
  },
  'a Web stream': {
    make: () => webStream(chunks, 'close'),
    stuck: () => webStream([], 'stay'),
    failing: () => webStream(chunks, broken).source,
  },
  'a Node stream': {
    make: () => nodeStream(chunks, 'close'),
    stuck: () => nodeStream([], 'stay'),
    failing: () => nodeStream(chunks, broken).source,
  },
}

interface Fed {
  readonly feed: AudioFeed
  readonly got: number[]
  readonly over: Promise<unknown>
  want: number
}

/** Feeds until `want` chunks arrived; `over` resolves to `end`, or to the error. */
const fed = (
  source: ObservableInput<Uint8Array>,
  want = Infinity,
  scheduler: SchedulerLike = new VirtualTimeScheduler(),
): Fed => {
  let settle: (value: unknown) => void = () => undefined
  const over = new Promise<unknown>((resolve) => (settle = resolve))
  const got: number[] = []
  const state: { want: number } = { want }
  const sink = {
    wanted: () => got.length < state.want,
    next: (bytes: Uint8Array) => got.push(bytes[0] ?? -1),
    complete: () => settle('end'),
    error: settle,
  }
  const feed = feedAudio(source, sink, scheduler)
  return {
    feed,
    got,
    over,
    get want() {
      return state.want
    },
    set want(count) {
      state.want = count
    },
  }
}

const flushPromises = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe.each(Object.entries(pulledKinds))('%s as a source', (_name, { make, stuck, failing }) => {
  it('is pulled to its end', async () => {
    const { source } = make()
    expect(isPulled(source)).toBe(true)
    const { feed, got, over } = fed(source)
    feed.resume()
    expect(await over).toBe('end')
    expect(got).toEqual([1, 2, 3])
  })

  it('is pulled only on demand', async () => {
    const feed = fed(make().source, 1)
    feed.feed.resume()
    await flushPromises()
    expect(feed.got).toEqual([1])
    feed.want = 2
    await flushPromises()
    expect(feed.got).toEqual([1])
    feed.feed.resume()
    await flushPromises()
    expect(feed.got).toEqual([1, 2])
    feed.feed.close()
  })

  it('emits its error after the preceding chunks', async () => {
    const { feed, got, over } = fed(failing())
    feed.resume()
    expect(await over).toBe(broken)
    expect(got).toEqual([1, 2, 3])
  })

  it('is whole for the next feed if nothing was read of it, and released after a minute without one', async () => {
    const scheduler = new VirtualTimeScheduler(undefined, unreadSourceMs - 1)
    const { source, released } = make()
    fed(source, Infinity, scheduler).feed.close()
    scheduler.flush()
    await flushPromises()
    const second = fed(source, 0, scheduler)
    scheduler.maxFrames = Infinity
    scheduler.flush()
    await flushPromises()
    expect(released()).toBe(false)
    second.want = 1
    second.feed.resume()
    await flushPromises()
    expect(second.got).toEqual([1])
    second.feed.close()

    const abandoned = make()
    fed(abandoned.source, Infinity, scheduler).feed.close()
    scheduler.flush()
    await flushPromises()
    expect(abandoned.released()).toBe(true)
  })

  it('is released while it waits, and between pulls, and emits nothing more', async () => {
    const halfway = make()
    const half = fed(halfway.source, 1)
    half.feed.resume()
    await flushPromises()
    half.feed.close()
    half.want = 3
    half.feed.resume()
    await flushPromises()
    expect([halfway.released(), half.got]).toEqual([true, [1]])

    if (stuck === undefined) return
    const waiting = stuck()
    const { feed, over } = fed(waiting.source)
    feed.resume()
    await flushPromises()
    feed.close()
    await flushPromises()
    expect(waiting.released()).toBe(true)
    expect(await Promise.race([over, flushPromises()])).toBe(undefined)
  })
})

describe('a source that can be read once', () => {
  const generator = function* (): Generator<Uint8Array> {
    yield* chunks
  }
  const asyncGenerator = async function* (): AsyncGenerator<Uint8Array> {
    await Promise.resolve()
    yield* chunks
  }
  const kinds: Readonly<Record<string, () => Iterable<Uint8Array> | AsyncIterable<Uint8Array>>> = {
    'a generator': generator,
    'an async generator': asyncGenerator,
    'an iterator': () => chunks[Symbol.iterator](),
    'a Web stream': () => ReadableStream.from(chunks),
    'a Node stream': () => Readable.from(chunks),
  }

  it.each(Object.entries(kinds))(
    '%s fails when it is fed again, after its first chunk or its end',
    async (_name, make) => {
      for (const want of [1, Infinity]) {
        const source = make()
        const first = fed(source, want)
        first.feed.resume()
        await flushPromises()
        first.feed.close()
        const second = fed(source)
        second.feed.resume()
        expect(await second.over).toMatchObject({ code: 'already-started' })
        expect(second.got).toEqual([])
      }
    },
  )

  it('says so if something else has read, closed or locked it', async () => {
    const ended = Readable.from(chunks)
    await ended.toArray()
    const closed = Readable.from(chunks)
    closed.destroy()
    const locked = ReadableStream.from(chunks)
    locked.getReader()
    for (const stream of [ended, closed, locked]) {
      const { feed, over } = fed(stream)
      feed.resume()
      expect(await over).toMatchObject({
        code: 'source-failed',
        message: expect.stringContaining('read once') as string,
      })
    }
  })

  it('an array is not one', async () => {
    for (let time = 0; time < 2; time++) {
      const { feed, got, over } = fed(chunks)
      feed.resume()
      expect([await over, got]).toEqual(['end', [1, 2, 3]])
    }
  })
})

describe('a source that pushes', () => {
  it('is subscribed once and read to its end: an Observable, a promise', async () => {
    const first = Uint8Array.of(1)
    for (const make of [() => from(chunks), () => Promise.resolve(first)]) {
      expect(isPulled(make())).toBe(false)
      const { feed, got, over } = fed(make(), 0)
      feed.resume()
      feed.resume()
      expect(await over).toBe('end')
      expect(got[0]).toBe(1)
    }
  })

  it('is unsubscribed on close, also during its own first emission, and not subscribed after it', () => {
    const live$ = new Subject<Uint8Array>()
    const live = fed(live$)
    live.feed.resume()
    live$.next(Uint8Array.of(1))
    live.feed.close()
    expect([live$.observed, live.got]).toEqual([false, [1]])
    live.feed.resume()
    expect(live$.observed).toBe(false)

    let count = 0
    const sink = {
      wanted: () => true,
      next: () => {
        count += 1
        feed.close()
      },
      complete: () => (count += 100),
      error: () => (count += 100),
    }
    const feed = feedAudio(of(...chunks), sink, new VirtualTimeScheduler())
    feed.resume()
    expect(count).toBe(1)
  })

  it('leaves no timer when it is closed before its first audio, also if it was used before', () => {
    const clock = new VirtualTimeScheduler()
    const timers = () => clock.actions.filter(({ closed }) => !closed).length
    const source$ = new Subject<Uint8Array>()
    fed(source$, Infinity, clock).feed.resume()
    source$.next(Uint8Array.of(1))
    const again = fed(source$, Infinity, clock)
    again.feed.resume()
    expect(timers()).toBe(1)
    again.feed.close()
    const stereo = pushedAudio(source$, clock).subscribe()
    expect(timers()).toBe(1)
    stereo.unsubscribe()
    expect(timers()).toBe(0)
  })

  it('is rejected by name when it is not an audio source', () => {
    for (const junk of [undefined, null, 5, {}, () => 1]) {
      expect(codeThrownBy(() => checkSource(junk as ObservableInput<Uint8Array>))).toBe('invalid-options')
    }
  })
})
