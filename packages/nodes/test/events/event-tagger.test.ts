import { describe, expect, it } from 'vitest'
import type { Settings } from '../../../../src/protocol/dataflow-messages.js'
import { eventTagger } from '../../src/events/event-tagger.js'
import { answersTo, event, openNode, testFixedSet } from '../../../server/test/nodes/fixed-set.js'

describe('event-tagger', () => {
  const item = event('DTMF', { channel: 1, tags: ['own'] })
  const tagged = event('DTMF', { channel: 1, tags: ['own', 'key'], groupId: 'menu' })
  const rules = [{ name: 'DT*', tags: ['key', 'own'], groupId: 'menu' }]
  testFixedSet({ open: () => openNode(eventTagger, { rules }), item, first: [tagged], second: [tagged] })

  it('adds the tags of the rules that match by name, channel and text', async () => {
    const node = await openNode(eventTagger, {
      rules: [
        { name: 'SR *', channel: 1, tags: ['customer'] },
        { contains: 'STRASSE', tags: ['address'] },
        { name: 'SR', tags: ['never'] },
        { name: '*Mile*', groupId: 'a' },
        { groupId: 'b', channel: 0 },
      ],
    })
    const spoken = { Text: 'in der Hauptstraße' }
    expect(
      answersTo(node, [
        event('SR Milestone', { channel: 1, data: spoken }),
        event('SR Partial', { channel: 0, data: spoken }),
        event('Talk Statistics', { channel: -2, groupId: 'own' }),
        event('Other', { channel: 1 }),
      ]),
    ).toEqual([
      event('SR Milestone', { channel: 1, data: spoken, tags: ['customer', 'address'], groupId: 'a' }),
      event('SR Partial', { channel: 0, data: spoken, tags: ['address'], groupId: 'b' }),
      event('Talk Statistics', { channel: -2, groupId: 'b' }),
      event('Other', { channel: 1 }),
    ])
  })

  it('inserts values of the session by name, as they are at each event', async () => {
    let callProperties: Settings = { Agent: 'ann', Queues: ['sales', 'gold'] }
    const node = await openNode(
      eventTagger,
      {
        rules: [
          {
            tagsFrom: ['CallProperties.Agent', 'CallProperties.Queues', 'Settings.Level', 'CallProperties.toString'],
            groupIdFrom: 'CallProperties.CallId',
            groupId: 'none',
          },
        ],
      },
      { callProperties: () => callProperties, settings: () => ({ Level: 3 }) },
    )
    const facts = (tags: readonly string[], groupId: string) => event('E', { tags, groupId })
    expect(answersTo(node, [event('E')])).toEqual([facts(['ann', 'sales', 'gold', '3'], 'none')])
    callProperties = { Agent: 'bob', CallId: 'c-1' }
    expect(answersTo(node, [event('E')])).toEqual([facts(['bob', '3'], 'c-1')])
  })

  it('limits the tags in number and length', async () => {
    const callProperties = { Long: 'x'.repeat(1000), Many: Array.from({ length: 500 }, (_none, index) => index) }
    const node = await openNode(
      eventTagger,
      { rules: [{ tagsFrom: ['CallProperties.Long', 'CallProperties.Many'] }] },
      { callProperties: () => callProperties },
    )
    const [answer] = answersTo(node, [event('E')])
    const tags = answer?.type === 'event' ? (answer.event.tags ?? []) : []
    expect(tags).toHaveLength(64)
    expect(tags[0]).toHaveLength(256)
  })

  it('rejects rules with unknown keys', async () => {
    await expect(openNode(eventTagger, { rules: [{ nmae: 'x' }] })).rejects.toThrow(
      '{"path":["rules","0","nmae"],"message":"is not known; did you mean name?"}',
    )
    await expect(openNode(eventTagger, { rules: [{ tagsFrom: ['Agent'] }] })).rejects.toThrow('rules')
  })
})
