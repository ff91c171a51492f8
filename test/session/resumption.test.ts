import { concatMap, from, of, timer, type Observable, type SchedulerLike } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { SessionEvent } from '../../src/protocol/session-event.js'
import { chunkMs, chunkOf, provingDataflow, provingRecognizer, type Faults } from './proving-service.js'
import { virtually, type Tools } from './virtual-session.js'

const chunkCount = 60

/** A microphone: a chunk every 20 ms. */
const spoken = (scheduler: SchedulerLike, count = chunkCount): Observable<Uint8Array> =>
  from(Array.from({ length: count }, (_, index) => index)).pipe(
    concatMap((index) => timer(chunkMs, scheduler).pipe(concatMap(() => of(chunkOf(index))))),
  )

const resumption = { random: () => 0.5, firstDelayMs: 100, maxDelayMs: 2_000, budgetMs: 60_000 }

interface Seen {
  readonly events: SessionEvent[]
  end?: string
}

const run = (
  transport: 'websocket' | 'grpc',
  tools: Tools,
  faults: Faults,
  audio$: Observable<Uint8Array> = spoken(tools.clock),
): { seen: Seen; proof: ReturnType<typeof provingRecognizer>['proof'] } => {
  const { clock, recognizing, flowing } = tools
  const seen: Seen = { events: [] }
  const open = (): [Observable<SessionEvent>, ReturnType<typeof provingRecognizer>['proof']] => {
    if (transport === 'websocket') {
      const { dial, proof } = provingRecognizer(clock, faults)
      return [recognizing({ dial, resumption })(audio$), proof]
    }
    const { dial, proof } = provingDataflow(clock, faults)
    return [flowing({ dial, resumption, finalizeBy: 'request' })(audio$), proof]
  }
  const [session$, proof] = open()
  session$.subscribe({
    next: (event) => seen.events.push(event),
    complete: () => (seen.end = 'complete'),
    error: (error: unknown) => (seen.end = String(error)),
  })
  return { seen, proof }
}

const milestones = (events: readonly SessionEvent[]): string =>
  events.flatMap((event) => (event.type === 'milestone' ? [event.text] : [])).join('')
const finals = (events: readonly SessionEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'final' ? [event.text] : []))
const whole = Array.from({ length: chunkCount / 5 }, (_, index) => `word${index}`).join(' ')

const checkLedger = (events: readonly SessionEvent[]): void => {
  for (const event of events) {
    if (event.type !== 'ledger') continue
    const { capturedMs, finalisedMs, pendingMs, replayedPendingMs, droppedMs } = event
    expect(finalisedMs + pendingMs + replayedPendingMs + droppedMs).toBeCloseTo(capturedMs, 6)
    expect(Math.min(finalisedMs, pendingMs, replayedPendingMs, droppedMs)).toBeGreaterThanOrEqual(0)
  }
}

const checkTimes = (events: readonly SessionEvent[]): void => {
  let endMs = 0
  for (const event of events) {
    if (event.type !== 'milestone' || event.startMs === undefined || event.endMs === undefined) continue
    expect(event.startMs).toBeGreaterThanOrEqual(endMs)
    expect(event.endMs).toBeGreaterThanOrEqual(event.startMs)
    endMs = event.endMs
  }
}

describe.each(['websocket', 'grpc'] as const)('a session that loses its connection, over %s', (transport) => {
  it.each([0, 1_500, 8_000, 30_000])('loses no word wherever it breaks, after an outage of %d ms', (outageMs) => {
    for (const timed of [true, false]) {
      for (let at = 1; at <= chunkCount; at++) {
        virtually((tools) => {
          const { seen, proof } = run(transport, tools, { cutAfterChunks: [at], outageMs, timed })
          return () => {
            const where = `cut after ${at}, ${timed ? 'timed' : 'without times'}`
            expect(milestones(seen.events), where).toBe(whole)
            expect(finals(seen.events), where).toEqual([whole])
            expect(seen.end, where).toBe('complete')
            expect(new Set(proof.arrived.flat()).size, where).toBe(chunkCount)
            expect(seen.events.filter((event) => event.type === 'connection' && event.state === 'gap')).toEqual([])
            checkLedger(seen.events)
            checkTimes(seen.events)
            const last = seen.events.filter((event) => event.type === 'ledger').at(-1)
            expect([last?.finalisedMs, last?.capturedMs], where).toEqual([1_200, 1_200])
          }
        })
      }
    }
  })
})
