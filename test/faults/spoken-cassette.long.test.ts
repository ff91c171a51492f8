import { lastValueFrom, timestamp, toArray } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseCassette } from '../../src/cassette/format/read-cassette.js'
import { record } from '../../src/cassette/record/record.js'
import { toMarbles } from '../../src/cassette/chart/to-marbles.js'
import { replay } from '../../src/cassette/replay/replay.js'
import type { SessionEvent } from '../../src/protocol/session-event.js'
import { dataflow } from '../../src/client/dataflow/dataflow.js'
import { recognize } from '../../src/client/recognizer/recognize.js'
import { liveService, type LiveService } from '../interop/live-service.js'
import { outcomeOf } from './proved-session.js'
import {
  callService,
  expectSame,
  midWordMs,
  bothTransports,
  proxiedSession,
  SpokenCall,
  undisturbed,
  type CallOutcome,
} from './spoken-call.js'

let live: LiveService
let call: SpokenCall
let reference: CallOutcome
beforeAll(async () => {
  live = await liveService(callService)
  call = await SpokenCall.shortCall()
  reference = await undisturbed(live, call)
}, 60_000)
afterAll(() => live.close())

const isMilestone = ({ type }: SessionEvent): boolean => type === 'milestone'
const connectionsOf = { grpc: 1, websocket: 2 } as const

describe.concurrent.each(bothTransports)('a cassette of a call over %s whose connection broke', (over) => {
  it('has every connection, shows how the session continued, and replays it', async () => {
    const lines: string[] = []
    const recorded = record((line) => void lines.push(line))
    const { proxy, session } = await proxiedSession(live, over, call, {}, recorded)
    const broken$ = session(call.played(2, midWordMs, () => proxy.reset()))
    const stamped = await lastValueFrom(broken$.pipe(timestamp(), toArray()))
    await proxy.close()
    const outcome = { over, events: stamped.map(({ value }) => value), end: 'complete' }
    expectSame(outcome, reference, call)

    const cassette = parseCassette(lines.join('\n'))
    const count = connectionsOf[over]
    expect(cassette.lines.filter(({ event }) => event === 'dial').length).toBeGreaterThanOrEqual(2 * count)
    const lost = cassette.lines.filter((line) => line.event === 'ended' && line.code === 'connection-lost')
    expect(lost.length).toBeGreaterThanOrEqual(count)
    expect(cassette.lines.at(-1)).toMatchObject({ event: 'end', outcome: 'complete' })
    expect(lines.join('\n')).not.toContain(live.token)

    // A connection, its end as a number of the list, and the next connection in the same row, after a wait that may
    // have columns.
    const drawn = toMarbles(cassette, { width: 100 })
    expect(drawn.match(/^connection[ 12]+┄*━+[\da-z+] *┄*━/gm), drawn).toHaveLength(count)
    expect(drawn.match(/^ *\w+ +[\d.]+ s +connection[ 12]+! connection-lost$/gm)?.length).toBeGreaterThanOrEqual(count)
    const ofEvents = toMarbles(stamped, { width: 100 })
    // The duration of a state decides whether it has its own column among 100.
    expect(ofEvents.match(/^connection .*━/gm)).toHaveLength(1)
    expect(ofEvents.match(/connection +! lost: connection-lost, attempt 1$/gm)?.length).toBeGreaterThanOrEqual(count)

    const buffer = replay(cassette)
    const played = over === 'grpc' ? dataflow(buffer.dataflow()) : recognize(buffer.recognizer())
    const again = await outcomeOf(played(call.played(8)))
    expectSame({ over, ...again }, reference, call)
    // Channel by channel: each has its own connection, and their interleaving depends on the machine.
    const milestonesOf = (events: readonly SessionEvent[], channel: number) =>
      events.filter(isMilestone).filter((event) => 'channel' in event && event.channel === channel)
    for (const channel of [0, 1]) {
      expect(milestonesOf(again.events, channel)).toEqual(milestonesOf(outcome.events, channel))
    }
  })
})
