import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../src/errors/speech-error.js'
import { runs } from '../../thorough.js'
import { chunkMs } from '../fake-recognition.js'
import { virtually } from '../virtual-session.js'
import { lastLedger, refused, run, textOf, wholeLedger, wordsOf, type ServiceSetting } from './several-services.js'

const count = 250
const atMs = fc.integer({ min: 0, max: count * chunkMs })

/** What may be wrong with a service, all of which passes. */
const setting: fc.Arbitrary<ServiceSetting> = fc.record(
  {
    over: fc.constantFrom('websocket', 'grpc'),
    cutAfterChunks: fc.array(fc.integer({ min: 1, max: count }), { maxLength: 4 }),
    outageMs: fc.integer({ min: 0, max: 2_000 }),
    cause: fc.constantFrom(
      new SpeechError('connection-lost', 'Cut.'),
      new SpeechError('going-away', 'Closing.'),
      new SpeechError('engine-failed', 'No engine.'),
    ),
    cutAt: fc.constantFrom('start', 'finalize', 'final'),
    answerMs: fc.integer({ min: 0, max: 300 }),
    refuses: fc.record({
      with: fc.constantFrom(refused, new SpeechError('overloaded', 'Full.', { retryAfterMs: 700 })),
      untilMs: fc.integer({ min: 0, max: 3_000 }),
    }),
    late: fc.record({ fromMs: atMs, byMs: fc.integer({ min: 1, max: 1_500 }) }),
    leavesAtMs: atMs,
  },
  { requiredKeys: [] },
)

describe('a session over several services with any faults that pass', () => {
  it('has each word once, in order, with a ledger that adds up, and leaves nothing open', () => {
    fc.assert(
      fc.property(fc.array(setting, { minLength: 2, maxLength: 3 }), (settings) => {
        virtually((tools) => {
          const { seen, services } = run(tools, settings, { count, slowMs: 400 })
          return () => {
            expect({ end: seen.end, text: textOf(seen) }).toEqual({ end: 'complete', text: wordsOf(count) })
            expect(lastLedger(seen)).toMatchObject(wholeLedger(count))
            for (const event of seen.events) {
              if (event.type !== 'ledger') continue
              const { capturedMs, finalizedMs, pendingMs, replayedPendingMs, droppedMs } = event
              expect(finalizedMs + pendingMs + replayedPendingMs + droppedMs).toBe(capturedMs)
            }
            expect(services.map(({ open }) => open)).toEqual(settings.map(() => 0))
            expect(tools.clock.pending()).toBe(0)
          }
        })
      }),
      { numRuns: runs(150) },
    )
  })
})
