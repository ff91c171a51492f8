import { from } from 'rxjs'
import { afterEach, describe, expect, it } from 'vitest'
import { pace } from '../../src/operators/audio/pace.js'
import type { FaultScript } from '../../src/testing/faults/fault-script.js'
import { expectNoHandles } from '../../src/testing/open-handles.js'
import { format, gapsOf, outcomeOf, sourceOf, stage, timesOf, transports, type Stage } from './proved-session.js'
import { first, longIt } from '../thorough.js'

const opened: Stage[] = []
afterEach(async () => {
  for (const item of opened.splice(0)) await item.close()
})

const set = async (...args: Parameters<typeof stage>): Promise<Stage> => {
  const made = await stage(...args)
  opened.push(made)
  return made
}

const sourceMs = 4_000
/** The gRPC package keeps timers of closed channels for some seconds, which do not keep the process alive. */
const ownTimers = /[\\/]node_modules[\\/](?:@?vitest|@grpc)[\\/]/
const patience = { ignore: ownTimers, withinMs: 20_000 }
const source = { sampleCount: sourceMs * 8, sampleRateHz: 8000 }
/** Eight times as fast as speech. */
const live = () => pace({ format, speed: 8 })(sourceOf(sourceMs, 200))

/** After this number of bytes of the first connection, whatever state the session is in by then. */
const dropAt = (direction: 'to-service' | 'to-client', count: number, outageMs: number): FaultScript => [
  {
    at: { when: 'bytes', direction, count, connection: 1 },
    fault: outageMs === 0 ? { do: 'reset' } : { do: 'outage', forMs: outageMs },
  },
]

const verifyComplete = async ({ session, service }: Stage, over: (typeof transports)[number], audio = live()) => {
  const { events, text, end } = await outcomeOf(session(over)(audio))
  expect(end).toBe('complete')
  expect(text).toBe(service.transcript(source))
  expect(service.verify(source)).toMatchObject({ missing: [], unfinalized: [] })
  expect(gapsOf(events)).toBe(0)
  expect(timesOf(events)).toEqual([...timesOf(events)].sort((a, b) => a - b))
  expect(events.filter(({ type }) => type === 'final')).toHaveLength(1)
  expect(events.filter(({ type }) => type === 'ledger').at(-1)).toMatchObject({
    capturedMs: sourceMs,
    finalizedMs: sourceMs,
    pendingMs: 0,
    replayedPendingMs: 0,
    droppedMs: 0,
  })
  return events
}

// Within the audio, before its first milestone, between milestones, and in the last result.
const moments = [
  ['to-service', 2_000],
  ['to-service', 9_999],
  ['to-service', 33_333],
  ['to-service', 63_000],
  ['to-client', 700],
  ['to-client', 1_501],
  ['to-client', 3_000],
] as const

describe.each(transports)('a session over %s', (over) => {
  it.each(first(2, moments))(
    'loses nothing when it is dropped after %s %d bytes and reconnects immediately',
    async (direction, count) => {
      const stage = await set({}, dropAt(direction, count, 0))
      const events = await verifyComplete(stage, over)
      expect(events.filter((event) => event.type === 'resumed')).toHaveLength(1)
    },
  )

  it.each(
    first(1, [
      ['to-service', 20_000],
      ['to-client', 1_501],
    ] as const),
  )('loses nothing in an outage of 1.5 s after %s %d bytes', async (direction, count) => {
    await verifyComplete(await set({}, dropAt(direction, count, 1_500)), over)
  })

  longIt('loses nothing when the service sends no times', async () => {
    const stage = await set({ times: false }, dropAt('to-service', 33_333, 0))
    const { end, text } = await outcomeOf(stage.session(over)(live()))
    expect(end).toBe('complete')
    expect(stage.service.verify(source)).toMatchObject({ missing: [], unfinalized: [] })
    expect(text).toBe(stage.service.transcript(source))
  })

  it('loses nothing of a pulled source, and of one that has ended before the drop', async () => {
    await verifyComplete(await set({}, dropAt('to-service', 50_000, 0)), over, from(sourceOf(sourceMs)))
    await verifyComplete(await set({}, dropAt('to-client', 900, 300)), over, from(sourceOf(sourceMs)))
  })

  longIt('loses nothing in five drops at any position', async () => {
    const drops = [8_000, 16_000, 30_000, 44_000, 58_000].map((count): FaultScript[number] => ({
      at: { when: 'bytes', direction: 'to-service', count },
      fault: { do: 'reset' },
    }))
    const stage = await set({}, drops)
    const events = await verifyComplete(stage, over)
    expect(events.filter((event) => event.type === 'resumed').length).toBeGreaterThan(3)
  })

  it('loses nothing on a connection that delays, slices and joins', async () => {
    const shapes = [
      { do: 'delay', delayMs: 30, jitterMs: 30 },
      { do: 'slice', bytes: 100 },
    ] as const
    const script = shapes.map((fault): FaultScript[number] => ({ at: { when: 'elapsed', ms: 0 }, fault }))
    await verifyComplete(await set({}, [...script, ...dropAt('to-service', 20_000, 0)]), over)
  })

  it('presents the current token to another connection, and requests a new one if that is refused', async () => {
    const presented: string[] = []
    const accepts = (token: string): boolean => presented.push(token) !== 2
    const stage = await set({ accepts }, dropAt('to-service', 20_000, 0))
    let asked = 0
    const token = { subscribe: undefined, [Symbol.iterator]: () => [`token-${(asked += 1)}`][Symbol.iterator]() }
    const { end } = await outcomeOf(stage.session(over, { token })(live()))
    expect(end).toBe('complete')
    expect(presented).toEqual(['token-1', 'token-1', 'token-2'])
  })

  it('reports an exact gap when the budget ends before the outage', async () => {
    const stage = await set({}, [
      { at: { when: 'bytes', direction: 'to-service', count: 20_000 }, fault: { do: 'outage' } },
    ])
    const session = stage.session(over, { resumption: { budgetMs: 400, firstDelayMs: 20, maxDelayMs: 50 } })
    const { events, end } = await outcomeOf(session(from(sourceOf(sourceMs))))
    expect(end).not.toBe('complete')
    expect(stage.service.verify(source).missingMs).toBeGreaterThan(0)
    // A milestone in transit when the connection broke was not delivered, so its audio is in the gap, too.
    expect(gapsOf(events)).toBe(sourceMs - Math.max(0, ...timesOf(events)))
  })

  it('leaves nothing open after it was unsubscribed in an outage', async () => {
    const stage = await set({}, dropAt('to-service', 20_000, 60_000))
    await expectNoHandles(async () => {
      const states: string[] = []
      const subscription = stage
        .session(over)(live())
        .subscribe((event) => {
          if (event.type === 'connection') states.push(event.state)
        })
      await expect.poll(() => states.filter((state) => state === 'reconnecting').length).toBeGreaterThan(1)
      subscription.unsubscribe()
      // The proxy's own timer of the outage is not the session's.
      stage.proxies[over].restore()
      await stage.close()
    }, patience)
  })

  it('waits for nothing when it is unsubscribed while the peer does not answer', async () => {
    const stage = await set()
    const states: string[] = []
    const subscription = stage
      .session(over)(live())
      .subscribe((event) => {
        if (event.type === 'connection') states.push(event.state)
      })
    await expect.poll(() => states).toContain('streaming')
    stage.proxies[over].halfOpen()
    // The socket is older; the timer that cuts it is not.
    await expectNoHandles(() => subscription.unsubscribe(), patience)
  })
})
