import * as t from 'io-ts'
import type { EventEnvelope } from '../../../protocol/dataflow-events.js'
import type { Settings } from '../../../protocol/dataflow-messages.js'
import { defineNode } from '../core/define-node.js'
import { matchesPattern, isOfChannel, tableWith, textContains } from '../core/events.js'
import { foldCase } from '../core/fold-words.js'
import type { NodeContext } from '../core/node.js'
import { listOf, nodeOptions, optionNames, text, wholeNumberFrom } from '../core/node-options.js'
import { eventItem, stepItems } from '../core/node-steps.js'

const maxTags = 64
const maxTagLetters = 256

const isFact = (value: unknown): value is string =>
  typeof value === 'string' && /^(CallProperties|Settings)\../u.test(value)

const fact = new t.Type<string, unknown>(
  'the name of a fact of the session, such as CallProperties.Agent or Settings.Team',
  isFact,
  (input, context) => (isFact(input) ? t.success(input) : t.failure(input, context)),
  (value) => value,
)

const ruleOptions = nodeOptions(
  {},
  {
    name: text,
    channel: wholeNumberFrom(-2, 1),
    contains: text,
    tags: listOf(text, maxTags),
    tagsFrom: listOf(fact, maxTags),
    groupId: text,
    groupIdFrom: fact,
  },
)
const ruleNames = optionNames(ruleOptions) ?? []
const rule = tableWith(ruleOptions, ruleNames, `a rule of ${ruleNames.join(', ')}`)
type Rule = t.TypeOf<typeof rule>

const options = nodeOptions({ rules: listOf(rule, 200) }, {})

/**
 * Adds tags and a GroupId to the events that rules fit. A rule fits when all of these that it names do: `name` (a pattern
 * with `*`), `channel`, and `contains` (in `Data.Text`, in any letter case). Every rule that fits adds its `tags`, those
 * of the session's facts in `tagsFrom` (each of a list), and the last one with a GroupId decides; an event's own tags
 * stay, each stands once. Facts are read for each event, so that an `Update` counts from there on; one that the session
 * does not have adds nothing. An event has at most 64 tags of 256 letters.
 */
export const eventTagger = defineNode({
  name: 'event-tagger',
  summary: 'Adds tags and group ids to events by rules.',
  inputs: { events: 'event' },
  outputs: { events: 'event' },
  options,
  open: ({ rules }, context) => {
    const ready = rules.map((one) => ({
      ...one,
      folded: one.contains === undefined ? undefined : foldCase(one.contains),
    }))
    return (input$) =>
      input$.pipe(
        stepItems(() => ({
          take: (item) => (item.type === 'event' ? [eventItem(tagged(item.event, ready, context))] : []),
        })),
      )
  },
})

type ReadyRule = Rule & { readonly folded: string | undefined }

const fits = (event: EventEnvelope, { name, channel, folded }: ReadyRule): boolean =>
  (name === undefined || matchesPattern(name, event.name)) &&
  (channel === undefined || isOfChannel(event, channel)) &&
  (folded === undefined || textContains(event, folded))

const tagged = (event: EventEnvelope, rules: readonly ReadyRule[], context: NodeContext): EventEnvelope => {
  const fitting = rules.filter((one) => fits(event, one))
  const tags = fitting.flatMap((one) => [
    ...(one.tags ?? []),
    ...(one.tagsFrom ?? []).flatMap((name) => factOf(name, context)),
  ])
  const groupId = fitting.reduce<string | undefined>((known, one) => groupIdOf(one, context) ?? known, event.groupId)
  const all = [...new Set([...(event.tags ?? []), ...tags.map((tag) => tag.slice(0, maxTagLetters))])]
  return {
    ...event,
    ...(groupId === undefined ? {} : { groupId }),
    ...(tags.length === 0 ? {} : { tags: all.slice(0, Math.max(maxTags, event.tags?.length ?? 0)) }),
  }
}

const groupIdOf = ({ groupId, groupIdFrom }: Rule, context: NodeContext): string | undefined =>
  (groupIdFrom === undefined ? undefined : factOf(groupIdFrom, context)[0]?.slice(0, maxTagLetters)) ?? groupId

/** The fact's values as text; none where the session does not have it. */
const factOf = (name: string, { callProperties, settings }: NodeContext): readonly string[] => {
  const dot = name.indexOf('.')
  const facts: Settings = name.slice(0, dot) === 'Settings' ? settings() : callProperties()
  const key = name.slice(dot + 1)
  const value = Object.hasOwn(facts, key) ? facts[key] : undefined
  if (value === undefined) return []
  const values = (Array.isArray(value) ? value : [value]) as readonly unknown[]
  return values.map(String).filter((one) => one !== '')
}
