import type * as t from 'io-ts'
import {
  defineNode,
  type EventEnvelope,
  listOf,
  nodeOptions,
  nonEmptyText,
  numberFrom,
  wholeNumberFrom,
} from 'rxspeech-server/nodes'
import { confidenceOf, eventItem, isOfChannel, matchesPattern } from 'rxspeech-server/nodes/core/events'
import { stepItems } from 'rxspeech-server/nodes/core/node-steps'

const names = listOf(nonEmptyText)

const options = nodeOptions(
  {},
  {
    keep: names,
    drop: names,
    channel: wholeNumberFrom(-2, 1),
    tags: listOf(nonEmptyText, 64),
    minConfidence: numberFrom(0, 1),
  },
)

/**
 * Passes an event that meets all given conditions: its name matches one of `keep` and none of `drop` (patterns with
 * `*`; letter case counts), it belongs to `channel` (events of all channels do), it has one of `tags`, and its
 * `Data.Confidence`, if any, is at least `minConfidence`.
 */
export const eventFilter = defineNode({
  name: 'event-filter',
  summary: 'Keeps or drops events by name, channel, tags and confidence.',
  inputs: { events: 'event' },
  outputs: { events: 'event' },
  options,
  open: (given) => (input$) =>
    input$.pipe(
      stepItems(() => ({
        take: (item) => (item.type === 'event' && passes(item.event, given) ? [eventItem(item.event)] : []),
      })),
    ),
})

const passes = (
  event: EventEnvelope,
  { keep, drop = [], channel, tags, minConfidence = 0 }: t.TypeOf<typeof options>,
): boolean =>
  (keep === undefined || keep.some((pattern) => matchesPattern(pattern, event.name))) &&
  !drop.some((pattern) => matchesPattern(pattern, event.name)) &&
  (channel === undefined || isOfChannel(event, channel)) &&
  (tags === undefined || tags.some((tag) => event.tags?.includes(tag) === true)) &&
  (confidenceOf(event) ?? 1) >= minConfidence
