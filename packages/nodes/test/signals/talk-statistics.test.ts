import { describe, expect, it } from 'vitest'
import { TalkTimeline } from '../../src/signals/talk-metrics.js'
import { talkStatistics } from '../../src/signals/talk-statistics.js'
import type { NodeItem } from '../../../server/src/nodes/core/node.js'
import { answersTo, audio, event, eventsOf, openNode, testFixedSet } from '../../../server/test/nodes/fixed-set.js'

type Line = readonly [channel: 0 | 1, startMs: number, endMs: number]

const started = (channel: number, startMs: number): NodeItem =>
  event('Speech Started', { channel, startMs, endMs: -1, data: { AtMsec: startMs } })
const ended = (channel: number, startMs: number, endMs: number): NodeItem =>
  event('Speech Ended', { channel, startMs, endMs })
/** A conversation as events of the two channels, each when it is known. */
const itemsOf = (lines: readonly Line[]): readonly NodeItem[] =>
  lines
    .flatMap(([channel, startMs, endMs]) => [
      { atMs: startMs, item: started(channel, startMs) },
      { atMs: endMs, item: ended(channel, startMs, endMs) },
    ])
    .sort((a, b) => a.atMs - b.atMs)
    .map(({ item }) => item)

interface Statistics {
  readonly Final: boolean
  readonly DurationMsec: number
  readonly Channels: readonly Readonly<Record<string, number | null>>[]
}
const statistics = async (
  lines: readonly Line[],
  options: object = {},
): Promise<Statistics & Record<string, unknown>> => {
  const [last] = eventsOf(answersTo(await openNode(talkStatistics, options), itemsOf(lines)), 'Talk Statistics')
  return last?.data as Statistics & Record<string, unknown>
}
const column = ({ Channels }: Statistics, name: string): readonly unknown[] => Channels.map((channel) => channel[name])

describe('talk-statistics', () => {
  const item = event('Speech Ended', { channel: 0, startMs: 1000, endMs: 2000 })
  const none = { TalkMsec: 0, TalkShare: 0, Turns: 0, Interruptions: 0, MeanResponseMsec: null }
  const report = (lengthMs: number, talkMs: number): NodeItem =>
    event('Talk Statistics', {
      channel: -2,
      startMs: 0,
      endMs: lengthMs,
      data: {
        Final: true,
        DurationMsec: lengthMs,
        Channels: [
          { Channel: 0, ...none, ...(talkMs > 0 ? { TalkMsec: talkMs, TalkShare: 1, Turns: 1 } : {}) },
          { Channel: 1, ...none },
        ],
        OverlapMsec: 0,
        SilenceMsec: lengthMs - talkMs,
        DeadAirMsec: 0,
        LongestDeadAirMsec: 0,
      },
    })
  testFixedSet({
    open: () => openNode(talkStatistics, {}),
    item,
    first: [item],
    second: [item],
    end: [[report(2000, 1000)], [report(2000, 1000)], [report(0, 0)]],
  })

  it('counts talk, share, overlap and silence', async () => {
    const data = await statistics([
      [0, 1000, 3000],
      [1, 2500, 4500],
      [0, 6000, 7000],
    ])
    expect(data).toMatchObject({ DurationMsec: 7000, OverlapMsec: 500, SilenceMsec: 2500 })
    expect(column(data, 'TalkMsec')).toEqual([3000, 2000])
    expect(column(data, 'TalkShare')).toEqual([0.6, 0.4])
  })

  it('counts pauses of at least the given length as dead air, including those at the ends', async () => {
    const lines: readonly Line[] = [
      [0, 4000, 5000],
      [1, 7999, 9000],
      [0, 12_000, 12_500],
    ]
    expect(await statistics(lines)).toMatchObject({ DeadAirMsec: 7000, LongestDeadAirMsec: 4000, SilenceMsec: 9999 })
    expect(await statistics(lines, { deadAirMs: 2999 })).toMatchObject({ DeadAirMsec: 9999, LongestDeadAirMsec: 4000 })
  })

  it('counts as interruption who starts while the other talks and continues after', async () => {
    const interrupted = await statistics([
      [0, 0, 2000],
      [1, 1800, 3000],
    ])
    expect(column(interrupted, 'Interruptions')).toEqual([0, 1])
    const short = await statistics([
      [0, 0, 2000],
      [1, 1801, 3000],
    ])
    expect(column(short, 'Interruptions')).toEqual([0, 0])
    const within = await statistics([
      [0, 0, 2000],
      [1, 500, 1500],
    ])
    expect(column(within, 'Interruptions')).toEqual([0, 0])
    const both = await statistics([
      [1, 0, 2000],
      [0, 1000, 3000],
      [1, 2500, 4000],
    ])
    expect(column(both, 'Interruptions')).toEqual([1, 1])
  })

  it('counts turns without what is spoken within the other’s talk, and the response times', async () => {
    const data = await statistics([
      [0, 0, 1000],
      [0, 1200, 2000],
      [1, 1500, 1700],
      [1, 2600, 4000],
      [0, 5000, 6000],
      [1, 5800, 7000],
      [0, 7200, 8000],
    ])
    expect(column(data, 'Turns')).toEqual([3, 2])
    expect(column(data, 'MeanResponseMsec')).toEqual([600, 600])
  })

  it('reports at intervals of audio, up to then, including speech that has not ended', async () => {
    const format = { encoding: 'ulaw', sampleRateHz: 8000, channels: 2 } as const
    const node = await openNode(talkStatistics, { everyMs: 1000 }, { inputs: { audio: format } })
    const second = audio(new Uint8Array(8000))
    const reports = eventsOf(
      answersTo(node, [second, started(1, 250), second, second, second, second]),
      'Talk Statistics',
    )
    expect(
      reports.map(({ endMs, data }) => [
        endMs,
        (data as Statistics).Final,
        (data as Statistics).Channels[1]?.['TalkMsec'],
      ]),
    ).toEqual([
      [1000, false, 750],
      [2000, false, 1750],
      [2500, true, 2250],
    ])
  })

  it('continues with the time of the session when it was opened again', async () => {
    const context = {
      inputs: { audio: { encoding: 'ulaw', sampleRateHz: 8000, channels: 1 } as const },
      offsetMs: 5000,
    }
    const node = await openNode(talkStatistics, {}, context)
    const [last] = eventsOf(answersTo(node, [audio(new Uint8Array(8000))]), 'Talk Statistics')
    expect(last?.endMs).toBe(6000)
  })

  it('handles events that are late, invalid or of other channels', async () => {
    const node = await openNode(talkStatistics, {})
    const items = [
      ended(0, -1, 500),
      ended(5, 0, 900),
      started(1, -1),
      started(0, 1000),
      started(0, 1400),
      ended(0, 1100, 2000),
      ended(0, 1500, 2500),
      ended(1, 2000, 2000),
      event('Speech Started', { channel: 1 }),
    ]
    const [last] = eventsOf(answersTo(node, items), 'Talk Statistics')
    expect(last?.data).toMatchObject({ DurationMsec: 2500, OverlapMsec: 0 })
    expect(column(last?.data as Statistics, 'TalkMsec')).toEqual([1400, 0])
  })

  it('joins the oldest talk beyond its limit, and reports that', () => {
    const timeline = new TalkTimeline(3)
    for (let index = 0; index < 5; index += 1) timeline.end(0, index * 100, index * 100 + 50)
    expect(timeline.isCoarse).toBe(true)
    expect(timeline.spans(0, 1000)).toEqual([
      { startMs: 0, endMs: 250 },
      { startMs: 300, endMs: 350 },
      { startMs: 400, endMs: 450 },
    ])
  })
})
