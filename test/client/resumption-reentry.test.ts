import { concatMap, from, of, Subject, timer } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { SessionEvent } from '../../src/protocol/session-event.js'
import { chunkMs, chunkOf } from './fake-recognition.js'
import { fakeRecognizer } from './fake-service.js'
import { virtually } from './virtual-session.js'

const labelOf = (event: SessionEvent): string => (event.type === 'connection' ? event.state : event.type)

describe.each(['reconnecting', 'resumed', 'ledger', 'milestone', 'gap'])(
  'a handler of %s that acts during the event',
  (at) => {
    it.each(['unsubscribe', 'stop', 'finalize'] as const)('can %s, and nothing is left open', (act) => {
      virtually(({ clock, recognizing }) => {
        const stop$ = new Subject<undefined>()
        const finalize$ = new Subject<undefined>()
        const audio$ = from(Array.from({ length: 60 }, (_, index) => index)).pipe(
          concatMap((index) => timer(chunkMs, clock).pipe(concatMap(() => of(chunkOf(index))))),
        )
        const { dial } = fakeRecognizer(clock, { cutAfterChunks: [18], outageMs: 300, answerMs: 1 })
        const resumption = { firstDelayMs: 100, maxReplayBytes: 1_600 }
        let end = 'none'
        let acted = 0
        const subscription = recognizing({ dial, resumption, stop$, finalize$ })(audio$).subscribe({
          next: (event) => {
            if (labelOf(event) !== at) return
            acted += 1
            if (act === 'unsubscribe') subscription.unsubscribe()
            else if (act === 'stop') stop$.next(undefined)
            else finalize$.next(undefined)
          },
          complete: () => (end = 'complete'),
          error: (error: unknown) => (end = String(error)),
        })
        return () => {
          expect(acted).toBeGreaterThan(0)
          expect(end).toBe(act === 'unsubscribe' ? 'none' : 'complete')
          expect(clock.pending()).toBe(0)
        }
      })
    })
  },
)
