import type * as t from 'io-ts'
import { bytesPerFrame } from '../../../audio/format.js'
import { isJsonObject, ownValue } from '../../../protocol/json-object.js'
import { type EventEnvelope, eventName } from '../../../protocol/dataflow-events.js'
import { defineNode } from '../core/define-node.js'
import { allChannels } from '../core/events.js'
import type { NodeContext, NodeItem } from '../core/node.js'
import { nodeOptions, wholeNumberFrom } from '../core/node-options.js'
import { eventItem, stepItems, type ItemSteps } from '../core/node-steps.js'
import { talkMetrics, type ChannelMetrics } from './talk-metrics.js'
import { TalkTimeline } from './talk-timeline.js'

const options = nodeOptions(
  {},
  {
    everyMs: wholeNumberFrom(1000, 3_600_000),
    deadAirMs: wholeNumberFrom(100, 600_000),
    interruptionMs: wholeNumberFrom(0, 60_000),
  },
)

/**
 * Who talks how much, from `Speech Started` and `Speech Ended` of channels 0 and 1, as the event `Talk Statistics` at the
 * end, and each `everyMs` of audio if asked (from the start until then, `Final` false). All events pass. Times end at the
 * session's length: that of the audio where the port `audio` has a wire, else the latest time that an event told.
 *
 * - `TalkMsec`: time in which the channel talks. `TalkShare`: its part of the talk of both, 0 to 1.
 * - `OverlapMsec`: time in which both talk. `SilenceMsec`: time in which nobody does.
 * - `DeadAirMsec`: the sum of the pauses in which nobody talks for at least `deadAirMs` (default 3000), those at the
 *   beginning and at the end among them; `LongestDeadAirMsec`: the longest of them.
 * - `Interruptions`: how often the channel starts while the other talks, both talk for at least `interruptionMs` (default
 *   200) until the other ends, and the channel goes on after that. "Mhm" within the other's talk is none.
 * - `Turns`: how often the channel takes the word: it talks, not wholly within the other's talk, and the one who did so
 *   last was the other, or nobody.
 * - `MeanResponseMsec`: the mean time from the end of the other's talk to the start of the turn that follows it; turns that
 *   begin while the other talks are left out; null where there is none.
 *
 * What is still being said counts up to the end. Beyond 50,000 spans of talk a channel the oldest are joined, and
 * `Coarse` is true.
 */
export const talkStatistics = defineNode({
  name: 'talk-statistics',
  summary: 'Talk share, overlap, dead air, interruptions and turns of the two sides of a call.',
  inputs: { events: 'event', audio: 'audio' },
  optionalInputs: ['audio'],
  outputs: { events: 'event' },
  options,
  open: (given, context) => (input$) => input$.pipe(stepItems(() => counting(given, context))),
})

const counting = (
  { everyMs = Infinity, deadAirMs = 3000, interruptionMs = 200 }: t.TypeOf<typeof options>,
  { inputs: { audio: format }, offsetMs = 0 }: NodeContext,
): ItemSteps => {
  const timeline = new TalkTimeline()
  let frames = 0
  let nextMs = everyMs
  const report = (untilMs: number, final: boolean): NodeItem => {
    const figures = talkMetrics(timeline.spans(0, untilMs), timeline.spans(1, untilMs), untilMs, {
      deadAirMs,
      interruptionMs,
    })
    return eventItem({
      name: 'Talk Statistics',
      channel: allChannels,
      startMs: 0,
      endMs: Math.round(untilMs),
      data: {
        Final: final,
        DurationMsec: Math.round(untilMs),
        Channels: figures.channels.map(channelData),
        OverlapMsec: Math.round(figures.overlapMs),
        SilenceMsec: Math.round(figures.silenceMs),
        DeadAirMsec: Math.round(figures.deadAirMs),
        LongestDeadAirMsec: Math.round(figures.longestDeadAirMs),
        ...(timeline.isCoarse ? { Coarse: true } : {}),
      },
    })
  }
  /** One report for all that are due: nothing is known between them that the last one does not say. */
  const due = (): readonly NodeItem[] => {
    if (timeline.lengthMs < nextMs) return []
    const atMs = Math.floor(timeline.lengthMs / everyMs) * everyMs
    nextMs = atMs + everyMs
    return [report(atMs, false)]
  }
  return {
    take: (item) => {
      if (item.type === 'event') {
        observe(timeline, item.event)
        return [eventItem(item.event), ...due()]
      }
      if (format === undefined) return []
      frames += item.bytes.byteLength / bytesPerFrame(format)
      timeline.reach(offsetMs + (frames * 1000) / format.sampleRateHz)
      return due()
    },
    end: () => [report(timeline.lengthMs, true)],
  }
}

const observe = (timeline: TalkTimeline, { name, channel, startMs = -1, endMs = -1, data }: EventEnvelope): void => {
  timeline.reach(endMs)
  if (channel !== 0 && channel !== 1) return
  if (name === eventName.speechEnded) timeline.ended(channel, startMs, endMs)
  if (name !== eventName.speechStarted || startMs < 0) return
  const atMs = isJsonObject(data) ? ownValue(data, 'AtMsec') : undefined
  timeline.started(channel, startMs)
  if (typeof atMs === 'number') timeline.reach(atMs)
}

const channelData = ({ talkMs, talkShare, turns, interruptions, meanResponseMs }: ChannelMetrics, channel: number) => ({
  Channel: channel,
  TalkMsec: Math.round(talkMs),
  TalkShare: Number(talkShare.toFixed(4)),
  Turns: turns,
  Interruptions: interruptions,
  MeanResponseMsec: meanResponseMs === undefined ? null : Math.round(meanResponseMs),
})
