import { getEventListeners } from 'node:events'
import { Readable } from 'node:stream'
import {
  concat,
  defer,
  EMPTY,
  finalize,
  from,
  NEVER,
  of,
  range,
  map,
  Subject,
  switchMap,
  take,
  takeUntil,
  tap,
  throwError,
  VirtualTimeScheduler,
  type Observable,
} from 'rxjs'
import { describe, expect, it } from 'vitest'
import { toAsyncIterable } from '../../../src/operators/interop/to-async-iterable.js'
import { startSession, type SessionHandle } from '../../../src/operators/interop/start-session.js'
import { toReadableStream } from '../../../src/operators/interop/to-readable-stream.js'
import { fromAbortSignal } from '../../../src/operators/interop/from-abort-signal.js'
import type { SessionEvent } from '../../../src/protocol/session-event.js'
import { codeThrownBy, marbles } from '../marbles.js'
import { final, milestone, partial, streaming } from '../session-events.js'

/** A source that counts its subscribers. */
const counted = (events$: Observable<SessionEvent>) => {
  const count = { subscribed: 0, open: 0 }
  const source$ = defer(() => {
    count.subscribed += 1
    count.open += 1
    return events$.pipe(finalize(() => (count.open -= 1)))
  })
  return { source$, count }
}
const numbered = (most: number): Observable<SessionEvent> => range(0, most).pipe(map((at) => milestone(String(at))))
const textOf = (event: SessionEvent): string => ('text' in event ? event.text : event.type)

const readAll = async (events: AsyncIterable<SessionEvent>): Promise<string[]> => {
  const seen: string[] = []
  try {
    for await (const event of events) seen.push(textOf(event))
  } catch (error) {
    seen.push(`error ${(error as { code?: string }).code ?? (error as Error).message}`)
  }
  return seen
}

describe('toAsyncIterable', () => {
  it('delivers all events in order, with one subscription for each loop', async () => {
    const { source$, count } = counted(concat(numbered(3), of(final('end'))))
    const events = toAsyncIterable(source$)
    expect(count.subscribed).toBe(0)
    expect(await readAll(events)).toEqual(['0', '1', '2', 'end'])
    expect(await readAll(events)).toEqual(['0', '1', '2', 'end'])
    expect(count).toEqual({ subscribed: 2, open: 0 })
    expect(await readAll(toAsyncIterable(EMPTY))).toEqual([])
  })

  it('throws an error after all events that arrived before it, once', async () => {
    const events = toAsyncIterable(
      concat(
        numbered(3),
        throwError(() => new Error('cut')),
      ),
    )[Symbol.asyncIterator]()
    const received = [await events.next(), await events.next(), await events.next()]
    expect(received.map(({ value }) => value && textOf(value))).toEqual(['0', '1', '2'])
    await expect(events.next()).rejects.toThrow('cut')
    expect(await events.next()).toEqual({ done: true, value: undefined })
  })

  it('waits for a source that pushes, and resolves pending reads when it ends', async () => {
    const source$ = new Subject<SessionEvent>()
    const events = toAsyncIterable(source$)[Symbol.asyncIterator]()
    const [first, two, three] = [events.next(), events.next(), events.next()]
    source$.next(streaming)
    source$.error(new Error('cut'))
    expect(await first).toEqual({ done: false, value: streaming })
    await expect(two).rejects.toThrow('cut')
    expect(await three).toEqual({ done: true, value: undefined })
  })

  it.each(['break', 'throw', 'return'])('unsubscribes when the loop is left by %s', async (way) => {
    const { source$, count } = counted(concat(numbered(2), NEVER))
    const read = async (): Promise<void> => {
      for await (const _ of toAsyncIterable(source$)) {
        if (way === 'break') break
        if (way === 'throw') throw new Error('mine')
        return
      }
    }
    await (way === 'throw' ? expect(read()).rejects.toThrow('mine') : read())
    expect(count).toEqual({ subscribed: 1, open: 0 })
  })

  it('never subscribes when it is left before it is read, and ends a pending read', async () => {
    const { source$, count } = counted(NEVER)
    const unread = toAsyncIterable(source$)[Symbol.asyncIterator]()
    await unread.return?.()
    expect(await unread.next()).toEqual({ done: true, value: undefined })
    expect(count.subscribed).toBe(0)
    const waiting = toAsyncIterable(source$)[Symbol.asyncIterator]()
    const pending = waiting.next()
    await waiting.return?.()
    expect(await pending).toEqual({ done: true, value: undefined })
    expect(count.open).toBe(0)
  })

  it('drops only partials that later results have replaced when it is full', async () => {
    const source$ = from<SessionEvent[]>([
      streaming,
      partial('a', { channel: 0 }),
      partial('other', { channel: 1 }),
      partial('a b', { channel: 0 }),
      milestone('a b', { channel: 0 }),
      partial('c', { channel: 0 }),
      final('end', { channel: 0 }),
    ])
    // The first event resolved the pending read.
    expect(await readAll(toAsyncIterable(source$, { maxQueued: 3 }))).toEqual(['connection', 'other', 'a b', 'end'])
    expect(await readAll(toAsyncIterable(source$, { maxQueued: 6 }))).toHaveLength(7)
  })

  it('ends with an error after the queued events when results alone exceed the limit', async () => {
    const { source$, count } = counted(numbered(1_000_000_000))
    expect(await readAll(toAsyncIterable(source$, { maxQueued: 3 }))).toEqual(['0', '1', '2', '3', 'error overloaded'])
    expect(count.open).toBe(0)
    expect(codeThrownBy(() => toAsyncIterable(EMPTY, { maxQueued: 0 }))).toBe('invalid-options')
  })

  it('is a Node stream with Readable.from, which unsubscribes when it is destroyed', async () => {
    const seen: string[] = []
    for await (const event of Readable.from(toAsyncIterable(numbered(3)))) seen.push(textOf(event as SessionEvent))
    expect(seen).toEqual(['0', '1', '2'])
    const { source$, count } = counted(concat(numbered(1), NEVER))
    const stream = Readable.from(toAsyncIterable(source$))
    await new Promise((resolve) => stream.once('data', resolve))
    expect(count.open).toBe(1)
    stream.destroy()
    await expect.poll(() => count.open).toBe(0)
  })
})

describe('toReadableStream', () => {
  it('begins with the first read, delivers all events, and closes', async () => {
    const { source$, count } = counted(numbered(3))
    const stream = toReadableStream(source$)
    await Promise.resolve()
    expect(count.subscribed).toBe(0)
    expect(await readAll(stream)).toEqual(['0', '1', '2'])
    expect(count.open).toBe(0)
  })

  it('errors after the preceding events, and unsubscribes when it is cancelled', async () => {
    expect(
      await readAll(
        toReadableStream(
          concat(
            numbered(2),
            throwError(() => new Error('cut')),
          ),
        ),
      ),
    ).toEqual(['0', '1', 'error cut'])
    const { source$, count } = counted(concat(numbered(1), NEVER))
    const reader = toReadableStream(source$).getReader()
    await reader.read()
    const pending = reader.read()
    await reader.cancel()
    expect(await pending).toEqual({ done: true, value: undefined })
    expect(count).toEqual({ subscribed: 1, open: 0 })
  })
})

describe('fromAbortSignal', () => {
  it('unsubscribes by takeUntil when the signal is aborted, at any time', () => {
    marbles(({ cold, expectObservable, expectSubscriptions, scheduler }) => {
      const controller = new AbortController()
      const source$ = cold('-a-b-c-|')
      const aborted$ = fromAbortSignal(controller.signal)
      scheduler.schedule(() => controller.abort(), 4)
      expectObservable(source$.pipe(takeUntil(aborted$))).toBe('-a-b|')
      expectSubscriptions(source$.subscriptions).toBe('^---!')
    })
  })

  it('can be aborted by the receiver of a value, and removes its listener after any end', () => {
    const controller = new AbortController()
    const { source$, count } = counted(numbered(1_000_000_000))
    const seen: unknown[] = []
    source$.pipe(takeUntil(fromAbortSignal(controller.signal))).subscribe({
      next: (event) => {
        if (seen.push(textOf(event)) === 2) controller.abort()
      },
      complete: () => seen.push('complete'),
    })
    expect(seen).toEqual(['0', '1', 'complete'])
    expect(count).toEqual({ subscribed: 1, open: 0 })
    const { signal } = new AbortController()
    EMPTY.pipe(takeUntil(fromAbortSignal(signal))).subscribe()
    const subscription = NEVER.pipe(takeUntil(fromAbortSignal(signal))).subscribe()
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    subscription.unsubscribe()
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  it('reports an abort once, also one that happened before', () => {
    marbles(({ expectObservable }) => {
      expectObservable(fromAbortSignal(AbortSignal.abort()).pipe(map(() => 'a'))).toBe('(a|)')
      expectObservable(fromAbortSignal(new AbortController().signal)).toBe('-')
    })
  })
})

/** A session that has emitted `text`, and ends with `rest$` when it is finalized. */
const sessionThat = (text: string, rest$: Observable<SessionEvent>) => {
  const count = { finalized: 0, open: 0 }
  const open = (finalize$: Observable<void>): Observable<SessionEvent> =>
    defer(() => {
      count.open += 1
      const ending$ = finalize$.pipe(
        take(1),
        tap(() => (count.finalized += 1)),
        switchMap(() => rest$),
      )
      return concat(of(milestone(text)), ending$).pipe(finalize(() => (count.open -= 1)))
    })
  return { open, count }
}

describe('startSession', () => {
  it('runs immediately, is read in a loop, and completes with its last results', async () => {
    const { open, count } = sessionThat('one', of(final('two')))
    const session = startSession(open)
    expect(count.open).toBe(1)
    const seen: string[] = []
    for await (const event of session) {
      seen.push(textOf(event))
      void session.finish()
    }
    expect(seen).toEqual(['one', 'two'])
    expect(await session.ended).toEqual({ type: 'completed' })
    expect(count).toEqual({ finalized: 1, open: 0 })
  })

  it.each(['break', 'throw'])('is finalized and awaited at the end of its block, left by %s', async (way) => {
    const { open, count } = sessionThat('one', of(final('two')))
    let held: SessionHandle | undefined
    const block = async (): Promise<void> => {
      await using session = startSession(open)
      held = session
      for await (const _ of session) {
        if (way === 'throw') throw new Error('mine')
        break
      }
      expect(count).toEqual({ finalized: 0, open: 1 })
    }
    await (way === 'throw' ? expect(block()).rejects.toThrow('mine') : block())
    expect(count).toEqual({ finalized: 1, open: 0 })
    expect(await held?.ended).toEqual({ type: 'completed' })
  })

  it('delivers its last results to a loop that reads while it is closed, and drops them without a reader', async () => {
    const { open } = sessionThat('one', of(milestone('two'), final('three')))
    const session = startSession(open)
    const reading = readAll(session)
    await session.close()
    expect(await reading).toEqual(['one', 'two', 'three'])
    const unread = startSession(open)
    await unread.close()
    expect(await readAll(unread)).toEqual([])
  })

  it('is aborted when its last results do not arrive in time, or immediately', async () => {
    const scheduler = new VirtualTimeScheduler()
    const silent = sessionThat('one', NEVER)
    const session = startSession(silent.open, { scheduler, closeWithinMs: 500 })
    const closed = session.close()
    scheduler.flush()
    await closed
    expect(scheduler.now()).toBe(500)
    expect(await session.ended).toEqual({ type: 'aborted' })
    expect(silent.count).toEqual({ finalized: 1, open: 0 })
    const hasty = sessionThat('one', NEVER)
    await startSession(hasty.open, { closeWithinMs: 0 }).close()
    expect(hasty.count).toEqual({ finalized: 0, open: 0 })
  })

  it('ends when aborted, and a loop that reads it ends too', async () => {
    const { open, count } = sessionThat('one', NEVER)
    const session = startSession(open)
    const reading = readAll(session)
    session.abort()
    expect(await reading).toEqual(['one'])
    expect(await session.ended).toEqual({ type: 'aborted' })
    await session.close()
    expect(count).toEqual({ finalized: 0, open: 0 })
  })

  it('reports an error in the loop and in its end, never at the end of the block', async () => {
    const error = new Error('cut')
    const session = startSession(() =>
      concat(
        numbered(1),
        throwError(() => error),
      ),
    )
    expect(await readAll(session)).toEqual(['0', 'error cut'])
    expect(await session.ended).toEqual({ type: 'failed', error })
    await expect(session[Symbol.asyncDispose]()).resolves.toBeUndefined()
  })

  it('ends with an error when more events are queued than allowed, and releases the session', async () => {
    const { source$, count } = counted(numbered(1_000_000_000))
    const session = startSession(() => source$, { maxQueued: 2 })
    expect(await session.ended).toMatchObject({ type: 'failed', error: { code: 'overloaded' } })
    expect(count.open).toBe(0)
    expect(await readAll(session)).toEqual(['0', '1', 'error overloaded'])
    expect(codeThrownBy(() => startSession(() => NEVER, { closeWithinMs: -1 }))).toBe('invalid-options')
  })
})
