import { describe, expectTypeOf, it } from 'vitest'
import type { FinalEvent, NodeEvent, ResponseEvent, SessionEvent } from '../../src/protocol/session-event.js'

/** Checked by the compiler (`npm run typecheck`). */
describe('SessionEvent', () => {
  it('has exactly these members, distinguished by type', () => {
    expectTypeOf<SessionEvent['type']>().toEqualTypeOf<
      | 'response'
      | 'event'
      | 'partial'
      | 'milestone'
      | 'final'
      | 'audio'
      | 'connection'
      | 'resumed'
      | 'silent'
      | 'gap'
      | 'ledger'
      | 'unknown'
    >()
    expectTypeOf<Extract<SessionEvent, { type: 'final' }>>().toEqualTypeOf<FinalEvent>()
    expectTypeOf<Extract<SessionEvent, { type: 'event' }>>().toEqualTypeOf<NodeEvent>()
    expectTypeOf<Extract<SessionEvent, { type: 'response' }>>().toEqualTypeOf<ResponseEvent>()
  })
})
