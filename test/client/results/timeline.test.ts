import { describe, expect, it, vi } from 'vitest'
import type { FinalEvent, NodeEvent, SessionEvent } from '../../../src/protocol/session-event.js'
import { ReplayBuffer } from '../../../src/client/audio/replay-buffer.js'
import { ChannelResults } from '../../../src/client/results/channel-results.js'
import { ResultTimeline } from '../../../src/client/results/timeline.js'

const stereo = { encoding: 'pcm', sampleRateHz: 8000, channels: 2 } as const
const bytesPerMs = 32

const silence = (channel: number, startMs: number, endMs: number): NodeEvent => ({
  type: 'event',
  name: 'SR Silence',
  channel,
  startMs,
  endMs,
  tags: [],
  data: null,
})
const milestone = (channel: number, startMs: number, endMs: number, text: string): SessionEvent => ({
  type: 'milestone',
  channel,
  startMs,
  endMs,
  text,
})

/** A timeline whose first connection has sent this much; settled positions in milliseconds. */
const timelineAfter = (sentMs: number) => {
  const bounds = {
    maxWaitingMs: Infinity,
    maxChunkBytes: 32_000,
    maxReplayBytes: 60_000 * bytesPerMs,
    preRollMs: 0,
  }
  const buffer = new ReplayBuffer({ format: stereo, ...bounds })
  const timeline = new ResultTimeline(buffer, stereo, { now: () => 0 })
  const send = (ms: number, loudness: readonly [number, number] = [0, 0]): void => {
    const second = new Int16Array(16_000).map((_sample, at) => loudness[at % 2] ?? 0)
    for (let left = ms; left > 0; left -= 1_000) {
      buffer.push(new Uint8Array(second.buffer.slice(0, Math.min(left, 1_000) * bytesPerMs)))
    }
    while (!buffer.isSent) buffer.shift()
  }
  timeline.begin()
  send(sentMs)
  return {
    timeline,
    send,
    settledMs: () => buffer.definitive / bytesPerMs,
    read: (event: SessionEvent) => timeline.read(event),
  }
}

describe('a silence that the service reports', () => {
  it('settles its channel up to its end, and the audio as far as both channels are, and is emitted unchanged', () => {
    const { read, settledMs } = timelineAfter(70_000)
    expect(read(silence(1, 0, 29_640))).toEqual(silence(1, 0, 29_640))
    expect(settledMs()).toBe(0)
    read(milestone(0, 0, 20_000, 'one'))
    expect(settledMs()).toBe(20_000)
    read(milestone(0, 20_000, 40_000, ' two'))
    expect(settledMs()).toBe(29_640)
    read(silence(1, 29_640, 59_640))
    expect(settledMs()).toBe(40_000)
  })

  it.each<readonly [string, NodeEvent]>([
    ['of no channel', silence(-1, 0, 29_640)],
    ['of an unknown channel', silence(2, 0, 29_640)],
    ['without times', silence(0, -1, -1)],
    ['without a start', silence(0, -1, 29_640)],
    ['that ends where it begins', silence(0, 29_640, 29_640)],
    ['of audio that was not sent yet', silence(0, 0, 70_001)],
    ['with another name', { ...silence(0, 0, 29_640), name: 'Silence' }],
  ])('settles nothing %s, and is emitted all the same', (_what, event) => {
    const { read, settledMs } = timelineAfter(70_000)
    read(milestone(0, 0, 10, 'a'))
    read(milestone(1, 0, 10, 'a'))
    expect(read(event)).toEqual(event)
    read(silence(1, 10, 20_000))
    expect(settledMs()).toBe(10)
  })

  it('has the times of the source on another connection, and only its new part is emitted', () => {
    const { timeline, read, send, settledMs } = timelineAfter(70_000)
    read(silence(1, 0, 29_640))
    read(silence(1, 29_640, 59_640))
    read(milestone(0, 0, 40_000, 'one'))
    expect(timeline.begin()).toMatchObject({ replayedMs: 30_000, gaps: [] })
    send(75_000)
    expect(read(silence(1, 0, 19_600))).toBeUndefined()
    expect(read(silence(1, 0, 29_640))).toEqual(silence(1, 59_640, 69_640))
    expect(read(silence(1, 29_640, 59_640))).toEqual(silence(1, 69_640, 99_640))
    read(milestone(0, 0, 60_000, 'two'))
    expect(settledMs()).toBe(99_640)
  })

  it('leaves no overlap with what another connection recognizes before its end', () => {
    const { timeline, read, send } = timelineAfter(70_000)
    read(silence(0, 0, 59_640))
    read(milestone(1, 0, 10_000, 'one'))
    timeline.begin()
    send(70_000)
    expect(read(milestone(0, 20_000, 21_000, 'noise'))).toBeUndefined()
    expect(read(milestone(0, 49_640, 51_000, 'yes'))).toEqual(milestone(0, 59_640, 61_000, 'yes'))
  })
})

describe('the words that another connection may repeat', () => {
  it('are those of the audio that is kept for it, also if the other channel has no results', () => {
    const forget = vi.spyOn(ChannelResults.prototype, 'forget')
    const { timeline, read, send } = timelineAfter(50_000)
    read(milestone(0, 0, 40_000, 'one'))
    send(50_000)
    read(milestone(0, 40_000, 90_000, ' two'))
    expect(forget.mock.calls.slice(-2)).toEqual([[40_000], [40_000]])
    forget.mockRestore()
    expect(timeline.begin()).toMatchObject({ replayedMs: 60_000, gaps: [{ fromMs: 0, toMs: 40_000 }] })
  })
})

describe('words without times', () => {
  it('are new on another connection if their audio was not kept for it', () => {
    const { timeline, read, send } = timelineAfter(10_000)
    const spoken: SessionEvent = { type: 'milestone', channel: 0, text: 'one two' }
    read(spoken)
    send(70_000)
    timeline.begin()
    send(1_000)
    expect(read(spoken)).toMatchObject({ text: ' one two' })
  })
})

describe('speech that matches nothing', () => {
  const noMatch = (channel: number, startMs: number, endMs: number): NodeEvent => ({
    ...silence(channel, startMs, endMs),
    name: 'SR No Match',
  })

  it('settles its channel up to its end like a silence', () => {
    const { read, settledMs } = timelineAfter(20_000)
    read(milestone(1, 0, 15_000, 'one'))
    expect(read(noMatch(0, 11_000, 12_000))).toEqual(noMatch(0, 11_000, 12_000))
    expect(settledMs()).toBe(12_000)
  })

  it('is not emitted if another connection reads only the end of a sentence that has its milestone', () => {
    const { timeline, read, send } = timelineAfter(20_000)
    read(milestone(0, 0, 12_800, 'one'))
    read(milestone(1, 12_200, 13_300, 'sure'))
    expect(timeline.begin()).toMatchObject({ replayedMs: 7_200, gaps: [] })
    send(20_000)
    expect(read(noMatch(1, 0, 530))).toBeUndefined()
    expect(read(noMatch(1, 2_000, 3_000))).toEqual(noMatch(1, 14_800, 15_800))
  })
})

describe('finals after a finalize request, of a service that has ended a recognition by itself', () => {
  const loud = [1_000, 1_000] as const
  const final = (channel: number, heardMs?: number): FinalEvent => ({
    ...{ type: 'final', channel, text: 'one' },
    ...(heardMs === undefined ? {} : { heardMs }),
  })

  it.each<
    [string, readonly [number, number], readonly FinalEvent[], 'requested' | 'confirmed' | 'not needed', boolean]
  >([
    ['leave audio unread without times', loud, [final(0), final(1)], 'requested', true],
    ['leave that of the one channel without times unread', loud, [final(0, 1_000), final(1)], 'requested', true],
    ['leave no silence unread', [0, 1_000], [final(0), final(1, 1_000)], 'requested', false],
    ['leave nothing unread that they report as read', loud, [final(0, 1_000), final(1, 1_000)], 'requested', false],
    ['leave nothing unread if the service confirms the request', loud, [final(0), final(1)], 'confirmed', false],
    ['leave nothing unread if the request has no answer', loud, [final(0), final(1)], 'not needed', false],
  ])('%s', (_title, loudness, finals, answer, isUnread) => {
    const { timeline, send, read } = timelineAfter(0)
    for (const event of [final(0), final(1)]) read(event)
    timeline.begin()
    send(1_000, loudness)
    timeline.expectFinals()
    if (answer === 'not needed') timeline.confirmFinals()
    for (const event of finals) read(event)
    if (answer === 'confirmed') timeline.confirmFinals()
    expect(timeline.isUnread).toBe(isUnread)
  })

  it.each<[string, (timeline: ResultTimeline) => unknown]>([
    ['after a request that is refused', (timeline) => timeline.expectFinals()],
    ['on a connection before one that was lost', (timeline) => timeline.begin()],
  ])('leave audio unread also if it ended that one %s', (_title, happens) => {
    const { timeline, send, read } = timelineAfter(0)
    for (const event of [final(0), final(1)]) read(event)
    happens(timeline)
    timeline.begin()
    send(1_000, loud)
    timeline.expectFinals()
    for (const event of [final(0), final(1)]) read(event)
    expect(timeline.isUnread).toBe(true)
  })

  it.each<[string, readonly FinalEvent[], boolean]>([
    ['only because of them if they have no times', [final(0), final(1)], true],
    ['also if one of them has none', [final(0, 1_000), final(1)], true],
    ['as ever if they say how far the audio was read', [final(0, 1_000), final(1, 1_000)], false],
    ['as ever if they have an end', [final(0), final(1)].map((event) => ({ ...event, endMs: 900 })), false],
    ['as ever if there is none', [], false],
  ])('are followed by another connection, %s', (_title, finals, isRepeated) => {
    const { timeline, send, read } = timelineAfter(0)
    for (const event of [final(0), final(1)]) read(event)
    timeline.begin()
    send(1_000, loud)
    timeline.expectFinals()
    for (const event of finals) read(event)
    expect(timeline.begin()).toMatchObject({ isRepeated })
    expect(timeline.isAnswered).toBe(false)
  })
})
