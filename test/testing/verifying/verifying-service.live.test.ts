import { createHash } from 'node:crypto'
import { from, lastValueFrom, toArray, type Observable } from 'rxjs'
import { afterEach, describe, expect, it } from 'vitest'
import type { SessionEvent } from '../../../src/protocol/session-event.js'
import { dataflow } from '../../../src/client/dataflow/dataflow.js'
import { recognize } from '../../../src/client/recognizer/recognize.js'
import { positionAudio } from '../../../src/testing/verifying/position-audio.js'
import { verifyingService, type VerifyingService } from '../../../src/testing/verifying/verifying-service.js'
import type { VerifyingBehavior } from '../../../src/testing/verifying/recognition.js'

const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
const source = { sampleCount: 20_000, sampleRateHz: 8000 }
const transports = ['websocket', 'grpc'] as const
type Transport = (typeof transports)[number]

const opened: (() => unknown)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

const chunks = (sampleCount: number): readonly Uint8Array[] =>
  Array.from({ length: Math.ceil(sampleCount / 160) }, (_, chunk) =>
    positionAudio(chunk * 160, Math.min(160, sampleCount - chunk * 160)),
  )

const inMemory = (service: VerifyingService, over: Transport, options: object = {}) =>
  over === 'grpc'
    ? dataflow(service.dataflow({ format, ...options }))
    : recognize(service.recognizer({ format, ...options }))

const overSockets = async (behavior: VerifyingBehavior, over: Transport, options: object = {}) => {
  const service = verifyingService(behavior)
  const listening = await service.listen()
  opened.push(() => listening.close())
  const session =
    over === 'grpc'
      ? dataflow({
          format,
          url: listening.address,
          connection: { insecure: true },
          tenant: 'T',
          project: 'p',
          token: 't',
          ...options,
        })
      : recognize({ format, url: listening.url, model: 'm', token: 't', ...options })
  return { service, session }
}

const all = (session$: Observable<SessionEvent>): Promise<readonly SessionEvent[]> =>
  lastValueFrom(session$.pipe(toArray()))
const text = (events: readonly SessionEvent[]): string =>
  events.map((event) => (event.type === 'milestone' ? event.text : '')).join('')

describe.each(transports)('a verifying service over %s', (over) => {
  it('verifies in memory that a source arrived once and was finalized', async () => {
    const service = verifyingService()
    const events = await all(inMemory(service, over)(from(chunks(source.sampleCount))))
    expect(service.verify(source)).toEqual({
      connections: 1,
      missing: [],
      missingMs: 0,
      unfinalized: [],
      unfinalizedMs: 0,
      repeatedMs: 0,
    })
    expect(text(events)).toBe(service.transcript(source))
    expect(service.transcript(source)).toMatch(/^w0 w1 .* w24$/)
    expect(events.filter(({ type }) => type === 'final')).toMatchObject([{ text: service.transcript(source) }])
    const sha256 = createHash('sha256').update(positionAudio(0, source.sampleCount)).digest('hex')
    expect(service.connections).toMatchObject([
      { over, started: true, sha256, audioBytes: 40_000, finalizeRequested: true, isOpen: false },
    ])
  })

  it('verifies the same over a socket', async () => {
    const { service, session } = await overSockets({}, over)
    const events = await all(session(chunks(source.sampleCount)))
    expect(text(events)).toBe(service.transcript(source))
    expect(service.verify(source)).toMatchObject({ connections: 1, missingMs: 0, unfinalizedMs: 0 })
  })

  it('sends results with or without times', async () => {
    for (const times of [true, false]) {
      const events = await all(inMemory(verifyingService({ times }), over)(from(chunks(16_000))))
      const milestones = events.filter((event) => event.type === 'milestone')
      expect(milestones.map(({ startMs, endMs }) => [startMs, endMs])).toEqual(
        times
          ? [
              [0, 1_000],
              [1_000, 2_000],
            ]
          : [
              [undefined, undefined],
              [undefined, undefined],
            ],
      )
    }
  })

  it('reports which samples are missing and which ones were not finalized', async () => {
    const service = verifyingService({ milestoneEveryMs: 500 })
    const holed = chunks(source.sampleCount).filter((_, chunk) => chunk < 30 || chunk >= 40)
    const subscription = inMemory(
      service,
      over,
    )(
      new (await import('rxjs')).Observable<Uint8Array>((subscriber) => holed.forEach((item) => subscriber.next(item))),
    ).subscribe()
    expect(service.verify(source)).toMatchObject({
      missing: [{ from: 4_800, to: 6_400 }],
      missingMs: 200,
      unfinalized: [{ from: 17_600, to: 20_000 }],
      unfinalizedMs: 300,
    })
    expect(service.connections).toMatchObject([{ isOpen: true }])
    subscription.unsubscribe()
    expect(service.connections).toMatchObject([{ isOpen: false }])
  })

  it('refuses a token that it does not accept', async () => {
    const behavior = { accepts: (token: string, connection: number) => token === 'good' && connection > 1 }
    const { service, session } = await overSockets(behavior, over, { token: 'bad', resumption: false })
    await expect(all(session(chunks(100)))).rejects.toMatchObject({ code: 'unauthenticated' })
    expect(service.connections).toMatchObject([{ number: 1, started: false }])
  })

  it('does not answer a finalize with answersFinalize set to false', async () => {
    const { session, service } = await overSockets({ answersFinalize: false }, over, {
      timeouts: { finalizeMs: 100 },
      resumption: false,
    })
    await expect(all(session(chunks(1_600)))).rejects.toMatchObject({ code: 'finalize-timeout' })
    await expect.poll(() => service.connections).toMatchObject([{ finalizeRequested: true }])
  })

  it('sends a malformed message, and continues', async () => {
    const events = await all(
      inMemory(verifyingService({ malformedAfterMs: 300 }), over)(from(chunks(source.sampleCount))),
    )
    expect(events.filter(({ type }) => type === 'unknown')).toHaveLength(1)
    expect(text(events)).toMatch(/w24$/)
  })

  it('goes away after a given amount of audio, with all results', async () => {
    const { session, service } = await overSockets({ goesAwayAfterMs: 1_500 }, over, { resumption: false })
    await expect(all(session(chunks(source.sampleCount)))).rejects.toMatchObject({ code: 'going-away' })
    expect(service.connections[0]?.finalized).toEqual([{ from: 0, to: 12_000 }])
  })

  it('stops reading after a given amount of audio', async () => {
    const service = verifyingService({ stopsReadingAfterBytes: 3_200 })
    const subscription = inMemory(service, over)(from(chunks(160_000))).subscribe({ error: () => undefined })
    expect(service.connections).toMatchObject([{ audioBytes: 3_200 }])
    subscription.unsubscribe()
  })
})
