import type * as t from 'io-ts'
import {
  bytesPerFrame,
  defineNode,
  type EventEnvelope,
  eventName,
  type NodeContext,
  type NodeItem,
  nodeOptions,
  wholeNumberFrom,
} from 'rxspeech-server/nodes'
import { allChannels, eventItem } from 'rxspeech-server/nodes/core/events'
import { type NodeSteps, stepItems } from 'rxspeech-server/nodes/core/node-steps'
import { isJsonObject } from 'rxspeech/internal/protocol/json-object'
import { ownValue } from 'rxspeech/internal/protocol/parse-json'
import { talkMetrics, TalkTimeline, type ChannelMetrics } from './talk-metrics.js'

const options = nodeOptions(
  {},
  {
    everyMs: wholeNumberFrom(1000, 3_600_000),
    deadAirMs: wholeNumberFrom(100, 600_000),
    interruptionMs: wholeNumberFrom(0, 60_000),
  },
)

/**
 * Computes who talks how much from `Speech Started` and `Speech Ended` of channels 0 and 1. All events pass. The event
 * `Talk Statistics` follows at the end and, if asked, each `everyMs` of audio (from the start until then, `Final`
 * false). Times end with the session's audio if the port `audio` has a wire, and with the latest time of any event if
 * not.
 *
 * - `TalkMsec`: time in which the channel talks. `TalkShare`: its share of the talk of both, 0 to 1.
 * - `OverlapMsec`: time in which both talk. `SilenceMsec`: time in which nobody talks.
 * - `DeadAirMsec`: the sum of the pauses of both of at least `deadAirMs` (default 3000), including those at the
 *   beginning and at the end. `LongestDeadAirMsec`: the longest of them.
 * - `Interruptions`: how often the channel starts while the other talks, both talk for at least `interruptionMs`
 *   (default 200) until the other ends, and the channel continues. "Mhm" within the other's talk does not count.
 * - `Turns`: how often the channel takes the turn: it talks, not only within the other's talk, and the last turn was
 *   the other's, or there was none.
 * - `MeanResponseMsec`: the mean time from the end of the other's talk to the start of the turn that follows. Turns
 *   that begin while the other talks do not count. Null if there is none.
 *
 * Open talk counts up to the end. Beyond 50,000 spans a channel the oldest ones are joined, and `Coarse` is true.
 */
export const talkStatistics = defineNode({
  name: 'talk-statistics',
  summary: 'Talk share, overlap, dead air, interruptions and turns of the two sides of a call.',
  inputs: { events: 'event', audio: 'audio' },
  optionalInputs: ['audio'],
  outputs: { events: 'event' },
  options,
  open: (given, context) => (input$) => input$.pipe(stepItems(() => statisticsSteps(given, context))),
})

const statisticsSteps = (
  { everyMs = Infinity, deadAirMs = 3000, interruptionMs = 200 }: t.TypeOf<typeof options>,
  { inputs: { audio: format }, offsetMs = 0 }: NodeContext,
): NodeSteps => {
  const timeline = new TalkTimeline()
  let frames = 0
  let nextMs = everyMs
  const report = (untilMs: number, isFinal: boolean): NodeItem => {
    const metrics = talkMetrics(timeline.spans(0, untilMs), timeline.spans(1, untilMs), untilMs, {
      deadAirMs,
      interruptionMs,
    })
    return eventItem({
      name: 'Talk Statistics',
      channel: allChannels,
      startMs: 0,
      endMs: Math.round(untilMs),
      data: {
        Final: isFinal,
        DurationMsec: Math.round(untilMs),
        Channels: metrics.channels.map(channelData),
        OverlapMsec: Math.round(metrics.overlapMs),
        SilenceMsec: Math.round(metrics.silenceMs),
        DeadAirMsec: Math.round(metrics.deadAirMs),
        LongestDeadAirMsec: Math.round(metrics.longestDeadAirMs),
        ...(timeline.isCoarse ? { Coarse: true } : {}),
      },
    })
  }
  /** One report for all that are due, because the last one contains the others. */
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
      timeline.extendTo(offsetMs + (frames * 1000) / format.sampleRateHz)
      return due()
    },
    finish: () => [report(timeline.lengthMs, true)],
  }
}

const observe = (timeline: TalkTimeline, { name, channel, startMs = -1, endMs = -1, data }: EventEnvelope): void => {
  timeline.extendTo(endMs)
  if (channel !== 0 && channel !== 1) return
  if (name === eventName.speechEnded) timeline.end(channel, startMs, endMs)
  if (name !== eventName.speechStarted || startMs < 0) return
  const atMs = isJsonObject(data) ? ownValue(data, 'AtMsec') : undefined
  timeline.start(channel, startMs)
  if (typeof atMs === 'number') timeline.extendTo(atMs)
}

const channelData = ({ talkMs, talkShare, turns, interruptions, meanResponseMs }: ChannelMetrics, channel: number) => ({
  Channel: channel,
  TalkMsec: Math.round(talkMs),
  TalkShare: Number(talkShare.toFixed(4)),
  Turns: turns,
  Interruptions: interruptions,
  MeanResponseMsec: meanResponseMs === undefined ? null : Math.round(meanResponseMs),
})
