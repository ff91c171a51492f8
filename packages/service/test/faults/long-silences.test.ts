import { Subject, filter, firstValueFrom, lastValueFrom, tap, toArray } from 'rxjs'
import { afterEach, describe, expect, it } from 'vitest'
import { interleaveChannels } from '../../../../src/audio/channels.js'
import type { SessionEvent } from '../../../../src/protocol/session-event.js'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { faultProxy } from '../../../../src/testing/faults/fault-proxy.js'
import { spoken } from '../../../server/test/sessions/spoken.js'
import { plainService } from '../plain-service.js'

const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 2 } as const
const secondBytes = 32_000

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** The project `transcribe` on real sockets, behind a proxy. */
const staged = async () => {
  const service = await plainService()
  closers.push(() => service.close())
  const proxy = await faultProxy({ target: service.started.grpcAddress ?? '' })
  closers.push(() => proxy.close())
  const common = { connection: { insecure: true }, tenant: 'Default', project: 'transcribe', format } as const
  const resumption = { firstDelayMs: 20, maxDelayMs: 200 }
  return { proxy, session: dataflow({ ...common, url: proxy.address, token: service.token, resumption }) }
}

describe('a call of which one side only listens, with our service', () => {
  it('loses nothing when it is cut after 145 s, and replays no more than 35 s', async () => {
    const speech = await spoken(10_000)
    const stereo = interleaveChannels(speech, new Uint8Array(speech.length), 2)
    const { proxy, session } = await staged()
    const received$ = new Subject<SessionEvent>()
    const settled = firstValueFrom(
      received$.pipe(filter((event) => event.type === 'ledger' && event.finalizedMs >= 115_000)),
    )
    const secondOf = (at: number): Uint8Array => stereo.subarray((at % 10) * secondBytes, ((at % 10) + 1) * secondBytes)
    async function* call(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < 145; at += 1) yield secondOf(at)
      await settled
      proxy.reset()
      for (let at = 145; at < 160; at += 1) yield secondOf(at)
    }
    const events = await lastValueFrom(
      session(call()).pipe(
        tap((event) => received$.next(event)),
        toArray(),
      ),
    )
    expect(events.filter(({ type }) => type === 'gap')).toEqual([])
    const replays = events.flatMap((event) => (event.type === 'resumed' ? [event.replayedMs] : []))
    expect(replays).toHaveLength(1)
    expect(replays[0]).toBeGreaterThan(0)
    expect(replays[0]).toBeLessThanOrEqual(35_000)
    const silences = events.flatMap((event) =>
      event.type === 'event' && event.name === 'SR Silence' ? [[event.channel, event.startMs, event.endMs]] : [],
    )
    expect(silences).toEqual([
      [1, 0, 29_640],
      [1, 29_640, 59_640],
      [1, 59_640, 89_640],
      [1, 89_640, 119_640],
      // Another connection counts from the position where it started.
      [1, 119_640, expect.any(Number)],
    ])
    const last = events.filter(({ type }) => type === 'ledger').at(-1)
    expect(last).toMatchObject({ capturedMs: 160_000, finalizedMs: 160_000, droppedMs: 0, pendingMs: 0 })
  })
})
