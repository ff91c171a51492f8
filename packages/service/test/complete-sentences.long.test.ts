import { lastValueFrom, toArray } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dataflow } from '../../../src/client/dataflow/dataflow.js'
import { recognize } from '../../../src/client/recognizer/recognize.js'
import type { SessionEvent } from '../../../src/protocol/session-event.js'
import { readRecording } from '../../../test/audio/read-recording.js'
import { liveService, type LiveService } from './interop/live-service.js'
import { callFile, turnsOf } from './interop/sample-call.js'
import { sessionOptions, type Over } from './interop/session-options.js'
import { callThrough, LiveFleet, type Heard } from '../../nats/test/engines/live-fleet.js'
import { natsIsSkipped, natsTitle } from '../../nats/test/connection/nats-server.js'

let live: LiveService
beforeAll(async () => {
  live = await liveService()
})
afterAll(() => live.close())

/** The milestones of the sample call, by channel. */
const milestonesOver = async (over: Over, chunkBytes: number, completeSilenceMs?: number) => {
  const { bytes, format } = await readRecording(callFile)
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_none, at) =>
    bytes.subarray(at * chunkBytes, (at + 1) * chunkBytes),
  )
  const { grpc, websocket } = sessionOptions(live, format, 'call')
  const session =
    over === 'grpc'
      ? dataflow({ ...grpc, voiceActivity: { completeSilenceMs } })
      : recognize({ ...websocket, voiceActivity: { ...websocket.voiceActivity, completeSilenceMs } })
  return byChannel(await lastValueFrom(session(chunks).pipe(toArray())))
}

const byChannel = (events: readonly (SessionEvent | (Heard & { readonly type?: never }))[]) =>
  [0, 1].map((channel) =>
    events.flatMap((event) => {
      if (event.type !== undefined && event.type !== 'milestone') return []
      return event.channel === channel ? [{ text: event.text.trim(), startMs: event.startMs, endMs: event.endMs }] : []
    }),
  )

type Milestones = Awaited<ReturnType<typeof milestonesOver>>
const textsOf = (milestones: Milestones): string[] =>
  milestones.map((channel) => channel.map(({ text }) => text).join(' '))

/** How much earlier the segments of `some` end than those of `others` that begin at the same time. */
const earlierMs = (some: Milestones, others: Milestones): number[] =>
  some.flatMap((channel, index) =>
    channel.flatMap(({ startMs, endMs = 0 }) => {
      const other = others[index]?.find((milestone) => milestone.startMs === startMs)
      return other === undefined ? [] : [(other.endMs ?? 0) - endMs]
    }),
  )

describe('complete sentences of the sample call', () => {
  it('end earlier, with the same words, equally over both transports and for any length of messages', async () => {
    const late = await milestonesOver('grpc', 1600, 0)
    const early = await milestonesOver('grpc', 1600)
    const spoken = [0, 1].map((channel) => turnsOf(channel).join(' '))
    expect(textsOf(late)).toEqual(spoken)
    expect(textsOf(early)).toEqual(spoken)
    const gains = earlierMs(early, late)
    expect(gains.filter((ms) => ms >= 150).length).toBeGreaterThanOrEqual(6)
    expect(gains.filter((ms) => ms < 0)).toEqual([])
    expect(await milestonesOver('websocket', 1600)).toEqual(early)
    expect(await milestonesOver('websocket', 1600, 0)).toEqual(late)
    expect(await milestonesOver('grpc', 4_440)).toEqual(early)
  })

  it.skipIf(natsIsSkipped)(
    natsTitle('end where they do with an engine of this process if the engine is another process'),
    async () => {
      const early = await milestonesOver('grpc', 1600)
      const fleet = await LiveFleet.start()
      try {
        await fleet.startEngine()
        const heard = await callThrough(await fleet.startService(), { speed: 8 })
        expect(byChannel(heard)).toEqual(early)
        expect(fleet.faults).toEqual([])
      } finally {
        await fleet.close()
      }
    },
  )
})
