import { NEVER, Observable, of, Subject, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SessionSet } from '../../src/listen/serve-link.js'
import { flushPromises } from '../../../service/test/virtual-clock.js'

describe('a set of sessions', () => {
  it('holds each until it completes or errors, immediately or later', () => {
    const sessions = new SessionSet()
    const one$ = new Subject<never>()
    const other$ = new Subject<never>()
    sessions.add(one$)
    sessions.add(other$)
    sessions.add(of().pipe())
    sessions.add(throwError(() => new Error('x')))
    expect(sessions.size).toBe(2)
    one$.complete()
    other$.error(new Error('x'))
    expect(sessions.size).toBe(0)
  })

  it('is empty immediately, or when the last one has ended', async () => {
    const sessions = new SessionSet()
    await sessions.empty()
    const one$ = new Subject<never>()
    const other$ = new Subject<never>()
    sessions.add(one$)
    sessions.add(other$)
    let empty = false
    void sessions.empty().then(() => (empty = true))
    one$.complete()
    await flushPromises()
    expect(empty).toBe(false)
    other$.complete()
    await flushPromises()
    expect(empty).toBe(true)
  })

  it('unsubscribes all when it ends them, including those added meanwhile', async () => {
    const sessions = new SessionSet()
    let ended = 0
    const session$ = new Observable<never>(() => () => (ended += 1))
    sessions.add(session$)
    sessions.add(session$)
    sessions.add(NEVER)
    sessions.endAll()
    expect([ended, sessions.size]).toEqual([2, 0])
    await sessions.empty()
  })
})
