import fc from 'fast-check'
import { concatMap, from, of, timer } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { isSpeechError, SpeechError } from '../../src/errors/speech-error.js'
import type { SessionEvent } from '../../src/protocol/session-event.js'
import { chunkMs, chunkOf } from './fake-recognition.js'
import { fakeDataflow, fakeRecognizer } from './fake-service.js'
import { virtually } from './virtual-session.js'
import { runs } from '../thorough.js'

/** What happens to one session: how its audio is delivered, which connections break, and what the user does when. */
const schedules = fc.record({
  transport: fc.constantFrom('websocket', 'grpc'),
  timed: fc.boolean(),
  waitsMs: fc.array(fc.constantFrom(0, 1, 20, 20, 20, 300), { minLength: 1, maxLength: 80 }),
  cuts: fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 4 }),
  outageMs: fc.constantFrom(0, 1, 150, 1_500, 9_000),
  cause: fc.constantFrom('connection-lost', 'going-away', 'overloaded', 'protocol-violation'),
  cutAt: fc.constantFrom(undefined, 'start', 'finalize', 'final'),
  verb: fc.constantFrom('none', 'finalize', 'stop', 'unsubscribe'),
  verbAtMs: fc.integer({ min: 0, max: 2_500 }),
  maxReplayBytes: fc.constantFrom(0, 640, 6_400, 960_000),
  maxBufferMs: fc.constantFrom(40, 400, 60_000),
  budgetMs: fc.constantFrom(200, 5_000, 60_000),
})

type Schedule = typeof schedules extends fc.Arbitrary<infer One> ? One : never

interface Outcome {
  readonly events: SessionEvent[]
  end: string
  pendingTimers: number
}

const play = (schedule: Schedule): Outcome => {
  const outcome: Outcome = { events: [], end: 'none', pendingTimers: 0 }
  virtually(({ clock, recognizing, flowing }) => {
    const { transport, timed, waitsMs, cuts, outageMs, cutAt, verb, verbAtMs, maxReplayBytes, maxBufferMs } = schedule
    const faults = {
      answerMs: 1,
      cutAfterChunks: cuts,
      outageMs,
      timed,
      cause: new SpeechError(schedule.cause, 'Cut.'),
      ...(cutAt && { cutAt }),
    } as const
    const at$ = timer(verbAtMs, clock)
    const options = {
      buffer: { maxMs: maxBufferMs },
      resumption: { firstDelayMs: 100, budgetMs: schedule.budgetMs, maxReplayBytes },
      ...(verb === 'finalize' && { finalize$: at$ }),
      ...(verb === 'stop' && { stop$: at$ }),
    }
    const audio$ = from(waitsMs.map((waitMs, index) => ({ waitMs, index }))).pipe(
      concatMap(({ waitMs, index }) =>
        waitMs === 0 ? of(index) : timer(waitMs, clock).pipe(concatMap(() => of(index))),
      ),
      concatMap((index) => of(chunkOf(index))),
    )
    const session$ =
      transport === 'websocket'
        ? recognizing({ ...options, dial: fakeRecognizer(clock, faults).dial })(audio$)
        : flowing({ ...options, finalizeBy: 'request', dial: fakeDataflow(clock, faults).dial })(audio$)
    const subscription = session$.subscribe({
      next: (event) => outcome.events.push(event),
      complete: () => (outcome.end = 'complete'),
      error: (error: unknown) => (outcome.end = isSpeechError(error) ? error.code : String(error)),
    })
    if (verb === 'unsubscribe') clock.schedule(() => subscription.unsubscribe(), verbAtMs)
    return () => (outcome.pendingTimers = clock.pending())
  })
  return outcome
}

const gapsOf = (events: readonly SessionEvent[]): readonly (readonly [number, number])[] =>
  events.flatMap((event) => (event.type === 'gap' ? [[event.fromMs, event.toMs] as const] : []))

const check = (schedule: Schedule): void => {
  const { events, end, pendingTimers } = play(schedule)
  expect(pendingTimers).toBe(0)
  let finalized = 0
  let captured = 0
  for (const event of events) {
    if (event.type !== 'ledger') continue
    const { capturedMs, finalizedMs, pendingMs, replayedPendingMs, droppedMs } = event
    expect(finalizedMs + pendingMs + replayedPendingMs + droppedMs).toBe(capturedMs)
    for (const item of [finalizedMs, pendingMs, replayedPendingMs, droppedMs]) expect(item).toBeGreaterThanOrEqual(0)
    expect(finalizedMs).toBeGreaterThanOrEqual(finalized)
    expect(capturedMs).toBeGreaterThanOrEqual(captured)
    finalized = finalizedMs
    captured = capturedMs
  }
  const gaps = [...gapsOf(events)].sort(([a], [b]) => a - b)
  for (const [index, [fromMs, toMs]] of gaps.entries()) {
    expect(toMs).toBeGreaterThan(fromMs)
    expect(fromMs).toBeGreaterThanOrEqual(gaps[index - 1]?.[1] ?? 0)
  }
  const last = events.filter((event) => event.type === 'ledger').at(-1)
  if (end !== 'none') {
    expect([last?.pendingMs, last?.replayedPendingMs]).toEqual([0, 0])
    expect(gaps.reduce((sum, [fromMs, toMs]) => sum + toMs - fromMs, 0)).toBe(last?.droppedMs)
  }
  if (end === 'complete' && schedule.verb !== 'stop') checkWords(events, gaps, last?.capturedMs ?? 0)
}

/** Every captured word is emitted once and in order, except for those in a gap. */
const checkWords = (
  events: readonly SessionEvent[],
  gaps: readonly (readonly [number, number])[],
  endMs: number,
): void => {
  const words = events.flatMap((event) => (event.type === 'milestone' ? event.text.trim().split(/\s+/) : []))
  const numbers = words.filter((word) => word !== '').map((word) => Number(word.slice(1)))
  expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b))
  const wordMs = chunkMs
  for (let word = 0; (word + 1) * wordMs <= endMs; word++) {
    const isTouched = gaps.some(([fromMs, toMs]) => fromMs < (word + 1) * wordMs && toMs > word * wordMs)
    if (!isTouched) expect(numbers).toContain(word)
  }
  const finals = events.filter((event) => event.type === 'final')
  expect(finals).toHaveLength(1)
  expect(finals[0]?.text.trim().split(/\s+/).join(' ')).toBe(words.filter((word) => word !== '').join(' '))
}

describe('the ledger of a session', () => {
  it('accounts for all audio and emits every word once, whatever happens', { timeout: 180_000 }, () => {
    fc.assert(fc.property(schedules, check), { numRuns: runs(600) })
  })
})
