import { NEVER, Observable, Subject, type OperatorFunction } from 'rxjs'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Engine, Hypothesis, SegmentPart } from '../../src/engine.js'
import { openIdleEngine } from '../../src/models/idle-engine.js'
import { flushPromises, VirtualClock } from '../../../service/test/virtual-clock.js'

/** What was done, in order, with the number of the engine. */
let log: string[] = []
let gates: (() => void)[] = []
let opened = 0
let fails = false
const idleMs = 60_000

/** An engine that writes its parts into the log. */
const numbered = (number: number): Engine => ({
  capabilities: { sampleRateHz: 8000, partials: false, words: false, kind: 'dictation', segmentsAtOnce: 1 },
  recognize: (): OperatorFunction<SegmentPart, Hypothesis> => (part$) =>
    new Observable((subscriber) =>
      part$.subscribe({
        next: (part) => log.push(`${part.type} in ${number}`),
        complete: () => subscriber.complete(),
      }),
    ),
  ready: () => Promise.resolve(),
  busyMs: () => 100,
  close: () => {
    log.push(`close ${number}`)
    return new Promise((resolve) => gates.push(resolve))
  },
})

const open = (): Promise<Engine> => {
  opened += 1
  log.push(`open ${opened}`)
  return fails ? Promise.reject(new Error('no memory')) : Promise.resolve(numbered(opened))
}

const openSegment: SegmentPart = { type: 'open', startMs: 0 }

const start = async () => {
  const clock = new VirtualClock()
  const engine = await openIdleEngine(open, { idleMs, scheduler: clock })
  return { engine, elapse: (ms: number) => clock.advanceTo(clock.now() + ms) }
}

beforeEach(() => {
  log = []
  gates = []
  opened = 0
  fails = false
})

describe('an engine that leaves memory', () => {
  it('is closed when no channel has used it for so long, and not while one does', async () => {
    const { engine, elapse } = await start()
    const channel = NEVER.pipe(engine.recognize()).subscribe()
    elapse(10 * idleMs)
    expect([engine.isLoaded?.(), log]).toEqual([true, ['open 1']])
    channel.unsubscribe()
    elapse(idleMs - 1)
    expect(engine.isLoaded?.()).toBe(true)
    elapse(1)
    expect([engine.isLoaded?.(), engine.busyMs?.(), log]).toEqual([false, 100, ['open 1', 'close 1']])
  })

  it('is opened again for the next channel once it has left, and gets every part that came meanwhile', async () => {
    const { engine, elapse } = await start()
    elapse(idleMs)
    const part$ = new Subject<SegmentPart>()
    let end = 'open'
    part$.pipe(engine.recognize()).subscribe({ complete: () => (end = 'complete') })
    part$.next(openSegment)
    part$.next({ type: 'audio', samples: new Int16Array(1) })
    await flushPromises()
    expect(log).toEqual(['open 1', 'close 1'])
    gates[0]?.()
    await flushPromises()
    part$.next({ type: 'close', endMs: 1 })
    part$.complete()
    expect([log.slice(2), end]).toEqual([['open 2', 'open in 2', 'audio in 2', 'close in 2'], 'complete'])
    expect(engine.busyMs?.()).toBe(200)
  })

  it('ends a channel with engine-failed for which it cannot be opened, and is opened for the one after it', async () => {
    const { engine, elapse } = await start()
    elapse(idleMs)
    gates[0]?.()
    fails = true
    const failed = new Promise((resolve) => NEVER.pipe(engine.recognize()).subscribe({ error: resolve }))
    expect(await failed).toMatchObject({
      code: 'engine-failed',
      message: expect.stringMatching(/could not be loaded again/) as unknown,
    })
    fails = false
    const part$ = new Subject<SegmentPart>()
    part$.pipe(engine.recognize()).subscribe()
    part$.next(openSegment)
    await flushPromises()
    expect(log.at(-1)).toBe('open in 3')
  })

  it('closes what it loads, and loads nothing more', async () => {
    const { engine, elapse } = await start()
    elapse(idleMs)
    gates[0]?.()
    let error: unknown
    NEVER.pipe(engine.recognize()).subscribe({ error: (cause: unknown) => (error = cause) })
    const closing = engine.close()
    await flushPromises()
    expect(log).toEqual(['open 1', 'close 1', 'open 2', 'close 2'])
    gates[1]?.()
    await closing
    NEVER.pipe(engine.recognize()).subscribe({ error: (cause: unknown) => (error = cause) })
    await flushPromises()
    expect(error).toMatchObject({ code: 'engine-failed' })
    elapse(10 * idleMs)
    expect(opened).toBe(2)
  })
})
