import { afterEach, describe, expect, it } from 'vitest'
import type { AttemptReport } from '../../src/engines/attempt-report.js'
import {
  createAddress,
  encodeRequest,
  engineSubject,
  attemptSubject,
  decodeRequest,
} from '../../src/engines/protocol.js'
import { closeFleet, requests } from './fleet-of.js'
import { VirtualFleet, type VirtualEngine } from './virtual-fleet.js'

let fleet: VirtualFleet
afterEach(async () => {
  await fleet.close()
  await closeFleet()
})

const label = 'Default/calls/1'

/** Engine processes, and what each side reports. */
const reporting = async (engineCount: number) => {
  fleet = new VirtualFleet()
  const atEdge: AttemptReport[] = []
  const atEngines: AttemptReport[] = []
  fleet.fleet.onAttempt = (report) => atEdge.push(report)
  const engines = Array.from({ length: engineCount }, () =>
    fleet.startEngine({ onAttempt: (report) => atEngines.push(report) }),
  )
  await fleet.pass(300)
  const lane = await fleet.openLane({ sessionId: 'session-1' })
  return { atEdge, atEngines, engines, lane }
}

/** Without what differs in each run. */
const brief = ({ sessionId, attempt, startMs, model, lost }: AttemptReport) => ({
  ...{ sessionId, attempt, startMs, model },
  ...(lost !== undefined && { lost }),
})

describe('reports of attempts', () => {
  it('name the session, the segment and the attempt at both ends, also of one that is repeated elsewhere', async () => {
    const { atEdge, atEngines, lane } = await reporting(2)
    lane.open()
    await lane.speak(300)
    const lost = fleet.busy
    lost.kill()
    await lane.speak(300)
    lane.end()
    await fleet.pass(100)
    const [first = { startMs: NaN }] = fleet.attempts
    const segment = { sessionId: 'session-1', startMs: first.startMs }
    expect(fleet.attempts).toEqual([{ ...segment, attempt: 1 }])
    const begun = [1, 2].map((attempt) => ({ ...segment, attempt, model: label }))
    expect(atEdge.map(brief)).toEqual(begun)
    expect(atEdge[0]?.peer).toEqual(lost.host.address)
    expect(atEngines.filter((report) => report.lost === undefined).map(brief)).toEqual(begun)
    expect(atEngines[0]?.peer.name).toBe('edge')
    expect(String(fleet.faults[0]?.cause)).toContain(`${lost.host.address.name} (${lost.host.address.instance})`)
  })

  it('say at an engine process why a segment ended without a result, but not when its edge ended it', async () => {
    const { atEngines, lane } = await reporting(1)
    lane.open()
    await lane.speak(300)
    lane.abort()
    await fleet.pass(100)
    expect(atEngines.map(({ lost }) => lost)).toEqual([undefined])
  })

  it.each<[cause: string, lose: (busy: VirtualEngine) => unknown]>([
    ['bus', () => fleet.broker.setUp(false)],
    ['ended', ({ host }) => host.close()],
    ['edge-silent', () => (fleet.broker.loses = ({ subject }) => subject.endsWith('.in'))],
    ['gap', () => loseOne()],
  ])('say at an engine process that it was because of: %s', async (cause, lose) => {
    const { atEngines, lane } = await reporting(1)
    lane.open()
    await lane.speak(300)
    lose(fleet.busy)
    lane.write()
    lane.write()
    await fleet.pass(3_000)
    const lost = atEngines.filter((report) => report.lost !== undefined)
    expect(lost.slice(0, 1).map(brief)).toMatchObject([
      { sessionId: 'session-1', attempt: 1, model: label, lost: cause },
    ])
  })

  it('say at the edge which engine process did not take a segment', async () => {
    const { atEdge, engines, lane } = await reporting(1)
    fleet.broker.loses = ({ subject }) => subject.endsWith('.in')
    lane.open()
    await fleet.pass(700)
    const [, untaken] = atEdge
    expect(untaken).toMatchObject({
      sessionId: 'session-1',
      attempt: 1,
      lost: 'unanswered',
      peer: engines[0]?.host.address,
    })
  })

  it('need no session: an edge of an older version names none, and gets its result', async () => {
    const { atEngines } = await reporting(1)
    const lane = await fleet.openLane()
    lane.open()
    await lane.speak(300)
    const text = lane.end()
    await fleet.pass(100)
    expect(lane.texts).toEqual([text])
    const open = requests(fleet).find(({ type }) => type === 'open')
    expect(open).not.toHaveProperty('session')
    expect(atEngines).toMatchObject([{ sessionId: undefined, attempt: 1 }])
  })

  it.each(['a b', 'x'.repeat(65), 'line\nbreak', ''])(
    'leave out the session %j, whose segment is recognized',
    async (id) => {
      const { atEngines, engines } = await reporting(1)
      const [engine] = engines
      const edge = createAddress('other')
      const request = { type: 'open', v: 1, model: label, startMs: 0, session: id, attempt: 3, later: true } as const
      fleet.edgeBus.publish(
        engineSubject(engine?.host.address ?? edge),
        encodeRequest(request),
        attemptSubject(edge, 7),
      )
      await fleet.pass(100)
      expect(atEngines[0]).toMatchObject({ sessionId: undefined, attempt: 3, peer: edge })
      expect(engine?.engine.opened()).toBe(1)
    },
  )

  it('send no session that a line of the log cannot have', async () => {
    await reporting(1)
    const lane = await fleet.openLane({ sessionId: 'a b' })
    lane.open()
    await lane.speak(100)
    expect(requests(fleet).find(({ type }) => type === 'open')).not.toHaveProperty('session')
  })
})

/** The next audio is lost on its way. */
const loseOne = (): void => {
  let isLost = false
  fleet.broker.loses = ({ subject, payload }) => {
    const isAudio = !isLost && subject.endsWith('.in') && decodeRequest(payload)?.type === 'audio'
    isLost ||= isAudio
    return isAudio
  }
}
