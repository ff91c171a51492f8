import { LongTestScheduler } from '../long-test-scheduler.js'
import { describe, expect, it } from 'vitest'
import { pace } from '../../src/operators/audio/pace.js'
import type { SessionEvent } from '../../src/protocol/session-event.js'
import { dataflow } from '../../src/client/dataflow/dataflow.js'
import { recognize } from '../../src/client/recognizer/recognize.js'
import { faultMarbles } from '../../src/testing/faults/fault-marbles.js'
import { linkFaults } from '../../src/testing/faults/link-faults.js'
import type { VerifyingBehavior } from '../../src/testing/verifying/recognition.js'
import { verifyingService, type VerifyingService } from '../../src/testing/verifying/verifying-service.js'
import { format, sourceOf, transports, type Transport } from './proved-session.js'

interface Run {
  readonly service: VerifyingService
  readonly events: readonly SessionEvent[]
}

/** A session in virtual time with a service that sends no times, at the pace of speech. */
const run = (over: Transport, seconds: number, faults: string, behavior: VerifyingBehavior): Run => {
  const scheduler = new LongTestScheduler(() => undefined)
  const service = verifyingService({ times: false, wordMs: 250, ...behavior })
  const events: SessionEvent[] = []
  scheduler.run(() => {
    const faulty = linkFaults({ scheduler, script: faultMarbles(faults) })
    const audio$ = pace({ format, scheduler })(sourceOf(seconds * 1_000, 100))
    const testing = { scheduler, random: () => 0.5 }
    const { dials } = service
    const session$ =
      over === 'grpc'
        ? dataflow(service.dataflow({ format, testing: { ...testing, dial: faulty.wrap(dials.dataflow) } }))(audio$)
        : recognize(service.recognizer({ format, testing: { ...testing, dial: faulty.wrap(dials.recognizer) } }))(
            audio$,
          )
    session$.subscribe((event) => events.push(event))
  })
  return { service, events }
}

const textOf = (events: readonly SessionEvent[]): string =>
  events.map((event) => (event.type === 'milestone' ? event.text : '')).join('')
const replays = (events: readonly SessionEvent[]): readonly number[] =>
  events.flatMap((event) => (event.type === 'resumed' ? [event.replayedMs] : []))
const completeTranscript = (service: VerifyingService, seconds: number): string =>
  service.transcript({ sampleCount: seconds * 8_000, sampleRateHz: 8_000 })

describe.each(transports)('a session over %s with a service that sends no times', (over) => {
  it.each([2_500, 4_500])('loses no word if milestones arrive %d ms after their speech', (milestoneLagMs) => {
    for (const at of ['5s', '7700ms', '9s', '11200ms']) {
      const { service, events } = run(over, 16, `${at} r`, { milestoneLagMs })
      expect(replays(events)).toHaveLength(1)
      expect(textOf(events), `${milestoneLagMs} ms late, cut after ${at}`).toBe(completeTranscript(service, 16))
    }
  })

  it('replays no more for each further connection that it loses', () => {
    const { service, events } = run(over, 1_000, '2m r 2m o 8s | 2m r 2m r 2m o 8s | 2m r 2m r 2m r', {})
    expect(replays(events)).toHaveLength(8)
    expect(Math.max(...replays(events))).toBeLessThan(8_000)
    expect(events.filter((event) => event.type === 'gap')).toEqual([])
    expect(textOf(events)).toBe(completeTranscript(service, 1_000))
  })
})
