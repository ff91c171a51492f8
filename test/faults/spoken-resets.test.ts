import { tap } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SessionEvent } from '../../src/protocol/session-event.js'
import { liveService, type LiveService } from '../interop/live-service.js'
import type { Over } from '../interop/session-options.js'
import { outcomeOf } from './proved-session.js'
import {
  callService,
  expectSame,
  overBoth,
  proxiedSession,
  SpokenCall,
  statesOf,
  transcriptOf,
  undisturbed,
  type Heard,
} from './spoken-call.js'

/** The guest has just said "that works for us", and no silence has closed it yet: only a finalize does. */
const [fromMs, untilMs] = [8_800, 18_440]
/** The restaurant is at "quarter", and both sides have said something before. */
const midWordMs = 7_000

let live: LiveService
let call: SpokenCall
let calm: Heard
beforeAll(async () => {
  live = await liveService(callService)
  call = await SpokenCall.between(fromMs, untilMs)
  calm = await undisturbed(live, call)
}, 60_000)
afterAll(() => live.close())

const isFinalizeAnswer = (event: SessionEvent): boolean => event.type === 'response' && /^finalize/i.test(event.request)

/** Broken off in the middle of a word, and again when the service has begun to finalize. */
const brokenTwice = async (over: Over): Promise<Heard> => {
  const { proxy, session } = await proxiedSession(live, over, call)
  let answers = 0
  const resetAtFirstAnswer = tap((event: SessionEvent) => {
    if (isFinalizeAnswer(event) && (answers += 1) === 1) proxy.reset()
  })
  const heard = await outcomeOf(session(call.played(8, midWordMs, () => proxy.reset())).pipe(resetAtFirstAnswer))
  await proxy.close()
  return { over, ...heard }
}

describe.concurrent.each(overBoth)('a call over %s whose line breaks in mid-word and before the final', (over) => {
  it('is read as the undisturbed one', async () => {
    const heard = await brokenTwice(over)
    expectSame(heard, calm, call)
    const states = statesOf(heard.events)
    const finalizing = states.indexOf('finalizing')
    expect(states.slice(0, finalizing)).toContain('resumed')
    expect(states.slice(finalizing)).toContain('resumed')
    // How sure the service is of a part is not taken for the whole: where milestones say nothing of it there may be none.
    for (const event of heard.events) if (event.type === 'final') expect(event.confidence ?? 1).toBeGreaterThan(0.8)
    expect(transcriptOf(calm.events, 0).milestones.join('')).toMatch(/^one moment please .* quarter past eight$/)
    expect(transcriptOf(calm.events, 1).milestones.join('')).toMatch(/^friday .* sure that works for us$/)
  })
})
