import { TestScheduler } from 'rxjs/testing'
import { beforeEach, describe, expect, it } from 'vitest'
import { DrainSignal } from '../../src/transport/drain.js'

const limits = { highWaterMarkBytes: 100, lowWaterMarkBytes: 25 }

describe('DrainSignal', () => {
  let bufferedBytes = 0
  beforeEach(() => {
    bufferedBytes = 0
  })
  const signalOf = (): DrainSignal => new DrainSignal(() => bufferedBytes, limits)

  it('is congested above the high-water mark', () => {
    const signal = signalOf()
    bufferedBytes = 100
    expect(signal.isCongested).toBe(false)
    bufferedBytes = 101
    expect(signal.isCongested).toBe(true)
  })

  it('emits once to each waiting sender when the low-water mark is reached', () => {
    const signal = signalOf()
    const seen: string[] = []
    bufferedBytes = 101
    signal.drain$.subscribe({ next: () => seen.push('one'), complete: () => seen.push('done') })
    signal.drain$.subscribe(() => seen.push('two'))
    bufferedBytes = 26
    signal.update()
    expect(seen).toEqual([])
    bufferedBytes = 25
    signal.update()
    signal.update()
    expect(seen).toEqual(['one', 'done', 'two'])
  })

  it('emits immediately while the low-water mark is not exceeded', () => {
    const seen: string[] = []
    signalOf().drain$.subscribe(() => seen.push('drained'))
    expect(seen).toEqual(['drained'])
  })

  it('emits nothing to a sender that unsubscribed', () => {
    const signal = signalOf()
    const seen: string[] = []
    bufferedBytes = 101
    signal.drain$.subscribe(() => seen.push('drained')).unsubscribe()
    bufferedBytes = 0
    signal.update()
    expect(seen).toEqual([])
  })

  it('lets a sender fill the buffer and wait again while drain$ emits', () => {
    const signal = signalOf()
    const seen: string[] = []
    const waitAgain = (): void => {
      bufferedBytes = 101
      signal.drain$.subscribe(() => seen.push('second'))
    }
    bufferedBytes = 101
    signal.drain$.subscribe(() => {
      seen.push('first')
      waitAgain()
    })
    bufferedBytes = 0
    signal.update()
    expect(seen).toEqual(['first'])
    bufferedBytes = 0
    signal.update()
    expect(seen).toEqual(['first', 'second'])
  })

  it('releases all senders and is never congested once the link has ended', () => {
    const signal = signalOf()
    const seen: string[] = []
    bufferedBytes = 101
    signal.drain$.subscribe(() => seen.push('before'))
    signal.end()
    signal.drain$.subscribe(() => seen.push('after'))
    expect(seen).toEqual(['before', 'after'])
    expect(signal.isCongested).toBe(false)
  })

  it('polls a platform without drain events every 20 ms, and only while a sender waits', () => {
    const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected))
    scheduler.run(({ expectObservable }) => {
      let asked = 0
      const signal = new DrainSignal(
        () => {
          asked += 1
          return scheduler.now() < 50 ? 101 : 0
        },
        limits,
        scheduler,
      )
      expectObservable(signal.drain$).toBe('60ms (r|)', { r: undefined })
      scheduler.schedule(() => expect(asked).toBe(4), 500)
    })
  })
})
