import { tap } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { SessionEvent } from '../../../../src/protocol/session-event.js'
import type { Over } from '../interop/session-options.js'
import { outcomeOf } from '../../../../test/faults/proved-session.js'
import {
  expectSame,
  bothTransports,
  proxiedSession,
  SpokenCall,
  statesOf,
  transcriptOf,
  type CallOutcome,
  spokenTests,
} from './spoken-call.js'

/** The guest has just said "that works for us", and no silence has closed it yet: only a finalize does. */
const [fromMs, untilMs] = [8_800, 18_440]
/** The restaurant is at "quarter", and both speakers have spoken before. */
const midWordMs = 7_000

const tests = spokenTests(() => SpokenCall.between(fromMs, untilMs))

const isFinalizeAnswer = (event: SessionEvent): boolean => event.type === 'response' && /^finalize/i.test(event.request)

/** Reset in the middle of a word, and again when the service has begun to finalize. */
const brokenTwice = async (over: Over): Promise<CallOutcome> => {
  const { proxy, session } = await proxiedSession(tests.live, over, tests.call)
  let answers = 0
  const resetAtFirstAnswer = tap((event: SessionEvent) => {
    if (isFinalizeAnswer(event) && (answers += 1) === 1) proxy.reset()
  })
  const outcome = await outcomeOf(
    session(tests.call.played(8, midWordMs, () => proxy.reset())).pipe(resetAtFirstAnswer),
  )
  await proxy.close()
  return { over, ...outcome }
}

describe.concurrent.each(bothTransports)(
  'a call over %s whose connection breaks within a word and before the final',
  (over) => {
    it('has the same results as the undisturbed call', async () => {
      const outcome = await brokenTwice(over)
      expectSame(outcome, tests.reference, tests.call)
      const states = statesOf(outcome.events)
      const finalizing = states.indexOf('finalizing')
      expect(states.slice(0, finalizing)).toContain('resumed')
      expect(states.slice(finalizing)).toContain('resumed')
      // The confidence of a part does not count for the complete text: if milestones have none, the final may have
      // none.
      for (const event of outcome.events) if (event.type === 'final') expect(event.confidence ?? 1).toBeGreaterThan(0.8)
      expect(transcriptOf(tests.reference.events, 0).milestones.join('')).toMatch(
        /^one moment please .* quarter past eight$/,
      )
      expect(transcriptOf(tests.reference.events, 1).milestones.join('')).toMatch(/^friday .* sure that works for us$/)
    })
  },
)
