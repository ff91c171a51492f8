import { lastValueFrom, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { parseCassette } from '../../../../src/cassette/format/read-cassette.js'
import { record } from '../../../../src/cassette/record/record.js'
import { cassetteList } from '../../src/cli/view/cassette-list.js'
import { replay } from '../../../../src/cassette/replay/replay.js'
import type { SessionEvent } from '../../../../src/protocol/session-event.js'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import { outcomeOf } from '../../../../test/faults/proved-session.js'
import { expectSame, midWordMs, bothTransports, proxiedSession, SpokenCall, spokenTests } from './spoken-call.js'

const tests = spokenTests(() => SpokenCall.shortCall())

const isMilestone = ({ type }: SessionEvent): boolean => type === 'milestone'
const connectionsOf = { grpc: 1, websocket: 2 } as const

describe.concurrent.each(bothTransports)('a cassette of a call over %s whose connection broke', (over) => {
  it('has every connection, shows how the session continued, and replays it', async () => {
    const lines: string[] = []
    const recorded = record((line) => void lines.push(line))
    const { proxy, session } = await proxiedSession(tests.live, over, tests.call, {}, recorded)
    const broken$ = session(tests.call.played(2, midWordMs, () => proxy.reset()))
    const events = await lastValueFrom(broken$.pipe(toArray()))
    await proxy.close()
    const outcome = { over, events, end: 'complete' }
    expectSame(outcome, tests.reference, tests.call)

    const cassette = parseCassette(lines.join('\n'))
    const count = connectionsOf[over]
    expect(cassette.lines.filter(({ event }) => event === 'dial').length).toBeGreaterThanOrEqual(2 * count)
    const lost = cassette.lines.filter((line) => line.event === 'ended' && line.code === 'connection-lost')
    expect(lost.length).toBeGreaterThanOrEqual(count)
    expect(cassette.lines.at(-1)).toMatchObject({ event: 'end', outcome: 'complete' })
    expect(lines.join('\n')).not.toContain(tests.live.token)

    const list = cassetteList(cassette)
    expect(list.match(/^[\d.]+ s +\d+ +[\d.]+ s +! +ended: connection-lost/gm)?.length, list).toBeGreaterThanOrEqual(
      count,
    )
    expect(list.match(/^[\d.]+ s +\d+ +0\.00 s +· +open$/gm)?.length, list).toBeGreaterThanOrEqual(2 * count)

    const buffer = replay(cassette)
    const played = over === 'grpc' ? dataflow(buffer.dataflow()) : recognize(buffer.recognizer())
    const again = await outcomeOf(played(tests.call.played(8)))
    expectSame({ over, ...again }, tests.reference, tests.call)
    // Channel by channel: each has its own connection, and their interleaving depends on the machine.
    const milestonesOf = (events: readonly SessionEvent[], channel: number) =>
      events.filter(isMilestone).filter((event) => 'channel' in event && event.channel === channel)
    for (const channel of [0, 1]) {
      expect(milestonesOf(again.events, channel)).toEqual(milestonesOf(outcome.events, channel))
    }
  })
})
