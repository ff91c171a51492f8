import { happeningsOf } from '../../../../test/client/happenings.js'
import { interval, lastValueFrom, map, take, toArray } from 'rxjs'
import { afterEach, describe, expect, it } from 'vitest'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { noopMonitor } from '../../../server/src/monitor/service-monitor.js'
import { spoken } from '../../../server/test/sessions/spoken.js'
import { plainService, type PlainService } from '../plain-service.js'

const services: PlainService[] = []
afterEach(() => Promise.all(services.splice(0).map((service) => service.close())))

const chunkMs = 20
const chunkBytes = chunkMs * 16

/** The result of a call of 10 s, sent in 2 s, with connections of limited age, and the number of streams it took. */
const callWith = async (connectionAgeMs: number) => {
  let started = 0
  const monitor = { ...noopMonitor, sessionStarted: () => (started += 1) }
  const limits = { connectionAgeMs, connectionGraceMs: 60_000, maxPacePercent: 0 }
  const service = await plainService({ monitor, limits })
  services.push(service)
  const speech = await spoken(10_000)
  const session = dataflow({
    url: service.started.grpcAddress,
    connection: { insecure: true },
    token: service.token,
    tenant: 'Default',
    project: 'transcribe',
    format: { encoding: 'pcm', sampleRateHz: 8000, channels: 1 },
  })
  const microphone$ = interval(4).pipe(
    take(speech.length / chunkBytes),
    map((index) => speech.slice(index * chunkBytes, (index + 1) * chunkBytes)),
  )
  const events = await lastValueFrom(microphone$.pipe(session, toArray()))
  const states = events.flatMap((event) => happeningsOf(event))
  const milestones = events.flatMap((event) =>
    event.type === 'milestone' ? [[event.text, event.startMs, event.endMs]] : [],
  )
  return { states, milestones, ledger: events.filter(({ type }) => type === 'ledger').at(-1), started }
}

describe('a call that lasts longer than the maximum age of its gRPC connection', () => {
  // Takes some seconds: the call is sent at the pace of a microphone, twice concurrently.
  it('moves to other connections, and neither loses nor repeats anything', async () => {
    const [reference, moved] = await Promise.all([callWith(0), callWith(500)])
    expect(reference.started).toBe(1)
    expect(moved.started).toBeGreaterThan(1)
    expect(moved.states).toContain('resumed')
    expect(moved.states).not.toContain('gap')
    expect(moved.milestones).toEqual(reference.milestones)
    expect(moved.ledger).toMatchObject({ capturedMs: 10_000, finalizedMs: 10_000, droppedMs: 0, pendingMs: 0 })
  })
})
