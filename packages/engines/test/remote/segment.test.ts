import { Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { SessionEvent } from '../../../../src/protocol/session-event.js'
import type { SegmentListener } from '../../src/engine.js'
import { RemoteSegment } from '../../src/remote/segment.js'

describe('a segment at another service', () => {
  it('has the milestones there and what of a partial is stable there as its own stable text', () => {
    const shown: unknown[] = []
    const listener: SegmentListener = {
      progress: (_sampleCount, partial, stableLength) => shown.push([partial, stableLength]),
      decidedPart: () => undefined,
      decided: () => undefined,
      checked: () => undefined,
      failed: () => undefined,
    }
    const event$ = new Subject<SessionEvent>()
    void new RemoteSegment(0, listener, 800).run(() => event$)
    event$.next({ type: 'partial', text: 'one' })
    event$.next({ type: 'partial', text: 'one  two', stableLength: 3 })
    event$.next({ type: 'partial', text: 'one  two', stableLength: 8 })
    event$.next({ type: 'partial', text: 'one two', stableLength: 7 })
    event$.next({ type: 'milestone', text: 'One two.' })
    event$.next({ type: 'partial', text: ' three' })
    expect(shown).toEqual([
      ['one', 0],
      ['one two', 3],
      ['one two', 7],
      ['One two. three', 8],
    ])
  })
})
