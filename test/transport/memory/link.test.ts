import { ignoreElements, map, merge, mergeMap, take, tap } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { beforeEach, describe, expect, it } from 'vitest'
import { SpeechError } from '../../../src/errors/speech-error.js'
import type { Link } from '../../../src/transport/link.js'
import { dialMemory, memoryLinks } from '../../../src/transport/memory/link.js'
import { errorCode } from '../error-code.js'

describe('memoryLinks', () => {
  let scheduler: TestScheduler
  beforeEach(() => {
    scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected))
  })

  it('delivers within send when there is no latency', () => {
    scheduler.run(({ cold, expectObservable, expectSubscriptions }) => {
      const [near, far] = memoryLinks<string, string>()
      const source$ = cold('       -a--b-|')
      const subs = '              ^-----!'
      const expected = '          -a--b-|'
      source$.subscribe({ next: (message) => near.send(message), complete: () => near.finish() })
      expectObservable(far.incoming$).toBe(expected)
      expectSubscriptions(source$.subscriptions).toBe(subs)
    })
  })

  it('delivers messages and the end in order after the latency', () => {
    scheduler.run(({ cold, expectObservable, expectSubscriptions }) => {
      const [near, far] = memoryLinks<string, string>({ latencyMs: 3, scheduler })
      const source$ = cold('       -(ab)c|   ')
      const subs = '              ^-----!   '
      const expected = '          ----(ab)c|'
      source$.subscribe({ next: (message) => near.send(message), complete: () => near.close() })
      expectObservable(far.incoming$).toBe(expected)
      expectSubscriptions(source$.subscriptions).toBe(subs)
    })
  })

  it('counts messages in transit as buffered until they arrive', () => {
    scheduler.run(({ expectObservable }) => {
      const [near, far] = memoryLinks<string, Uint8Array>({
        latencyMs: 5,
        highWaterMarkBytes: 9,
        lowWaterMarkBytes: 0,
        scheduler,
      })
      far.incoming$.subscribe()
      near.send(new Uint8Array(10))
      expect(near.isCongested).toBe(true)
      expect(near.bufferedBytes).toBe(10)
      expectObservable(near.drain$.pipe(map(() => near.bufferedBytes))).toBe('-----(a|)', { a: 0 })
    })
  })

  it('survives two sides that answer each other a thousand times', () => {
    const [near, far] = memoryLinks<number, number>()
    let last = 0
    far.incoming$.subscribe((count) => far.send(count + 1))
    near.incoming$.subscribe((count) => {
      last = count
      if (count < 20_000) near.send(count + 1)
    })
    near.send(0)
    expect(last).toBe(20_001)
  })

  it('measures a message by its texts and bytes, or with the given function', () => {
    const [near] = memoryLinks<unknown, unknown>()
    near.send({ contentType: 1, content: 'four', binaryContent: new Uint8Array(6) })
    near.send('abc')
    near.send(undefined)
    expect(near.bufferedBytes).toBe(13)
    const [other] = memoryLinks<unknown, unknown>({ sizeOf: () => 7 })
    other.send('abc')
    expect(other.bufferedBytes).toBe(7)
  })

  it.each([
    ['latencyMs', { latencyMs: -1 }],
    ['highWaterMarkBytes', { highWaterMarkBytes: 0 }],
    ['lowWaterMarkBytes', { highWaterMarkBytes: 10, lowWaterMarkBytes: 11 }],
    ['maxMessageBytes', { maxMessageBytes: 1.5 }],
    ['closeTimeoutMs', { closeTimeoutMs: 2 ** 31 }],
  ])('rejects %s out of its range by its name', (name, options) => {
    expect(() => memoryLinks(options)).toThrow(
      expect.objectContaining({ code: 'invalid-options', message: expect.stringContaining(name) }),
    )
  })
})

describe('dialMemory', () => {
  it('connects for every subscriber, when it subscribes', () => {
    const accepted: Link<string, string>[] = []
    const dial$ = dialMemory<string, string>((link) => accepted.push(link))
    expect(accepted).toHaveLength(0)
    dial$.subscribe()
    dial$.subscribe()
    expect(accepted).toHaveLength(2)
  })

  it('runs a service that is a function from incoming to outgoing messages', () => {
    const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected))
    scheduler.run(({ cold, expectObservable }) => {
      const dial$ = dialMemory<string, string>(
        (link) => {
          link.incoming$.pipe(map((word) => word.toUpperCase())).subscribe({
            next: (word) => link.send(word),
            complete: () => link.close(),
          })
        },
        { latencyMs: 1, scheduler },
      )
      const message$ = cold('a-b|')
      const received$ = dial$.pipe(
        mergeMap((link) =>
          merge(
            message$.pipe(tap({ next: (word) => link.send(word), complete: () => link.finish() }), ignoreElements()),
            link.incoming$,
          ),
        ),
      )
      // The dial itself stays open when its link ends.
      expectObservable(received$, '^ 9ms !').toBe('--A-B-----', { A: 'A', B: 'B' })
    })
  })

  it('errors with what accept throws', () => {
    const codeOf = (accept: () => void): string => {
      let code = 'none'
      dialMemory(accept).subscribe({ error: (error: unknown) => (code = errorCode(error)) })
      return code
    }
    const refuse = (error: Error) => () => {
      throw error
    }
    expect(codeOf(refuse(new SpeechError('overloaded', '')))).toBe('overloaded')
    expect(codeOf(refuse(new Error('no')))).toBe('connection-failed')
  })

  it('closes the link when it is unsubscribed during its emission', () => {
    let ended = false
    const dial$ = dialMemory<string, string>((link) => link.incoming$.subscribe({ complete: () => (ended = true) }))
    dial$.pipe(take(1)).subscribe()
    expect(ended).toBe(true)
  })
})
