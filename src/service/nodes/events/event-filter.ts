import { defineNode } from '../core/define-node.js'
import { confidenceOf, matchesPattern, isOfChannel } from '../core/events.js'
import { listOf, nodeOptions, numberFrom, text, wholeNumberFrom } from '../core/node-options.js'
import { stepItems, eventItem } from '../core/node-steps.js'
import type { EventEnvelope } from '../../../protocol/dataflow-events.js'
import type * as t from 'io-ts'

const names = listOf(text)

const options = nodeOptions(
  {},
  {
    keep: names,
    drop: names,
    channel: wholeNumberFrom(-2, 1),
    tags: listOf(text, 64),
    minConfidence: numberFrom(0, 1),
  },
)

/**
 * Lets an event through when it passes all that is given: its name fits one of `keep` and none of `drop` (patterns with
 * `*`; the letter case counts), it is of `channel` (events of all channels are), it has one of `tags`, and it is no less
 * sure than `minConfidence`, where it has a `Data.Confidence` at all.
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
