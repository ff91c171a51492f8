import type * as t from 'io-ts'
import {
  defineNode,
  type EventEnvelope,
  listOf,
  type NodeContext,
  nodeOptions,
  nonEmptyText,
  wholeNumberFrom,
} from 'rxspeech-server/nodes'
import { eventItem, isOfChannel, matchesPattern, textContains } from 'rxspeech-server/nodes/core/events'
import { foldCase } from 'rxspeech/internal/protocol/fold-words'
import { optionsItem } from 'rxspeech-server/nodes/core/node-options'
import { stepItems } from 'rxspeech-server/nodes/core/node-steps'
import type { Settings } from 'rxspeech/internal/protocol/dataflow-messages'
import { codec } from 'rxspeech/internal/protocol/validation'

const maxTags = 64
const maxTagLength = 256

const fact = codec(
  'the name of a fact of the session, such as CallProperties.Agent or Settings.Team',
  (value): value is string => typeof value === 'string' && /^(CallProperties|Settings)\../u.test(value),
)

const rule = optionsItem(
  'a rule',
  {},
  {
    name: nonEmptyText,
    channel: wholeNumberFrom(-2, 1),
    contains: nonEmptyText,
    tags: listOf(nonEmptyText, maxTags),
    tagsFrom: listOf(fact, maxTags),
    groupId: nonEmptyText,
    groupIdFrom: fact,
  },
)
type Rule = t.TypeOf<typeof rule>

const options = nodeOptions({ rules: listOf(rule, 200) }, {})

/**
 * Adds tags and a GroupId to the events that match rules. A rule matches if all its conditions do: `name` (a pattern
 * with `*`), `channel`, and `contains` (in `Data.Text`, in any letter case). Every matching rule adds its `tags` and
 * the session's facts in `tagsFrom` (each item of a list); the last one with a GroupId decides. An event keeps its own
 * tags, and no tag repeats. Facts are read for each event, so an `Update` applies to later events; a missing fact adds
 * nothing. An event has at most 64 tags of 256 characters.
 */
export const eventTagger = defineNode({
  name: 'event-tagger',
  summary: 'Adds tags and group ids to events by rules.',
  inputs: { events: 'event' },
  outputs: { events: 'event' },
  options,
  open: ({ rules }, context) => {
    const foldedRules = rules.map((given) => ({
      ...given,
      folded: given.contains === undefined ? undefined : foldCase(given.contains),
    }))
    return (input$) =>
      input$.pipe(
        stepItems(() => ({
          take: (item) => (item.type === 'event' ? [eventItem(tagEvent(item.event, foldedRules, context))] : []),
        })),
      )
  },
})

type FoldedRule = Rule & { readonly folded: string | undefined }

const matches = (event: EventEnvelope, { name, channel, folded }: FoldedRule): boolean =>
  (name === undefined || matchesPattern(name, event.name)) &&
  (channel === undefined || isOfChannel(event, channel)) &&
  (folded === undefined || textContains(event, folded))

const tagEvent = (event: EventEnvelope, rules: readonly FoldedRule[], context: NodeContext): EventEnvelope => {
  const matching = rules.filter((candidate) => matches(event, candidate))
  const tags = matching.flatMap(({ tags: own = [], tagsFrom = [] }) => [
    ...own,
    ...tagsFrom.flatMap((name) => factOf(name, context)),
  ])
  const groupId = matching.reduce<string | undefined>(
    (known, candidate) => groupIdOf(candidate, context) ?? known,
    event.groupId,
  )
  const all = [...new Set([...(event.tags ?? []), ...tags.map((tag) => tag.slice(0, maxTagLength))])]
  return {
    ...event,
    ...(groupId === undefined ? {} : { groupId }),
    ...(tags.length === 0 ? {} : { tags: all.slice(0, Math.max(maxTags, event.tags?.length ?? 0)) }),
  }
}

const groupIdOf = ({ groupId, groupIdFrom }: Rule, context: NodeContext): string | undefined =>
  (groupIdFrom === undefined ? undefined : factOf(groupIdFrom, context)[0]?.slice(0, maxTagLength)) ?? groupId

/** The values of a fact as text; none if the session does not have it. */
const factOf = (name: string, { callProperties, settings }: NodeContext): readonly string[] => {
  const dot = name.indexOf('.')
  const facts: Settings = name.slice(0, dot) === 'Settings' ? settings() : callProperties()
  const key = name.slice(dot + 1)
  const value = Object.hasOwn(facts, key) ? facts[key] : undefined
  if (value === undefined) return []
  const values = (Array.isArray(value) ? value : [value]) as readonly unknown[]
  return values.map(String).filter((item) => item !== '')
}
