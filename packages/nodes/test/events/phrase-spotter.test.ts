import { describe, expect, it } from 'vitest'
import type { NodeItem } from '../../../server/src/nodes/core/node.js'
import { phraseSpotter } from '../../src/events/phrase-spotter.js'
import { answersTo, event, eventsOf, openNode, testFixedSet } from '../../../server/test/nodes/fixed-set.js'

const milestone = (text: string, more: object = {}, channel = 0): NodeItem =>
  event('SR Milestone', { channel, startMs: 100, endMs: 900, data: { Text: text, ...more } })
const partial = (text: string, channel = 0): NodeItem =>
  event('SR Partial', { channel, startMs: 100, endMs: 500, data: { Text: text } })
const found = (phrase: string, more: object = {}): NodeItem =>
  event('Phrase', { channel: 0, startMs: 100, endMs: 900, data: { Phrase: phrase }, ...more })

const spot = async (options: object, ...items: NodeItem[]): Promise<readonly unknown[]> =>
  eventsOf(answersTo(await openNode(phraseSpotter, options), items), 'Phrase').map(
    ({ data }) => (data as { readonly Phrase: string }).Phrase,
  )

describe('phrase-spotter', () => {
  const item = milestone('I want to cancel')
  testFixedSet({
    open: () => openNode(phraseSpotter, { phrases: ['cancel'] }),
    item,
    first: [item, found('cancel')],
    second: [item, found('cancel')],
  })

  it('finds whole words in any letter case, with any punctuation between them', async () => {
    const phrases = [
      'Cancel, my account!',
      "don't",
      'straße',
      'ΟΔΟΣ',
      'ﬁne',
      'twenty one',
      '取消',
      'cafe',
      'İstanbul',
      'IŞIK',
    ]
    const spoken = [
      'CANCEL my... Account',
      'I DON’T',
      'Hauptstrasse die STRASSE',
      'οδός οδος',
      'Fine',
      'twenty-one',
      '我要取消',
      'istanbul ışık',
    ]
    expect(await spot({ phrases }, ...spoken.map((text) => milestone(text)))).toEqual([
      'Cancel, my account!',
      "don't",
      'straße',
      'ΟΔΟΣ',
      'ﬁne',
      'twenty one',
      '取消',
      'İstanbul',
      'IŞIK',
    ])
    expect(await spot({ phrases: ['can'] }, milestone('cancel the canal'))).toEqual([])
  })

  it('finds phrases that begin in one milestone and end in a later one', async () => {
    const phrases = ['cancel my account', 'my account please']
    expect(await spot({ phrases }, milestone('please cancel'), milestone(' my'), milestone(' account please'))).toEqual(
      phrases,
    )
    expect(await spot({ phrases }, milestone('cancel'), milestone(' my account', {}, 1))).toEqual([])
    expect(
      await spot({ phrases }, milestone('cancel'), event('SR Final', { channel: 0 }), milestone('my account')),
    ).toEqual([])
  })

  it('finds phrases within phrases, each time they occur', async () => {
    const phrases = ['a b', 'b', 'a b c', 'b c']
    expect(await spot({ phrases }, milestone('a b c b'))).toEqual(['a b', 'b', 'a b c', 'b c', 'b'])
  })

  it('does not report again in the milestone what a partial reported', async () => {
    const options = { phrases: ['yes', 'yes please'], in: 'both' }
    const items = [partial('yes'), partial('yes please'), partial('yes'), milestone('yes please yes'), partial('yes')]
    expect(await spot(options, ...items)).toEqual(['yes', 'yes please', 'yes', 'yes'])
    expect(await spot({ ...options, in: 'partials' }, ...items)).toEqual(['yes', 'yes please', 'yes'])
    expect(await spot({ ...options, in: 'milestones' }, ...items)).toEqual(['yes', 'yes please', 'yes'])
  })

  it('uses times and confidence of the words, across milestones too, and keeps the channel', async () => {
    const words = (from: number, ...texts: string[]): object => ({
      Words: texts.map((Text, index) => ({
        Text,
        StartMsec: from + 100 * index,
        EndMsec: from + 100 * index + 90,
        Confidence: 0.9 - index / 10,
      })),
    })
    const node = await openNode(phraseSpotter, { phrases: ['cancel it'], event: 'Churn', tags: ['risk'] })
    const answers = answersTo(node, [
      milestone('please cancel', words(1000, 'please', 'cancel'), 1),
      milestone(' it', words(2000, 'it'), 1),
    ])
    expect(eventsOf(answers, 'Churn')).toEqual([
      {
        name: 'Churn',
        channel: 1,
        startMs: 1100,
        endMs: 2090,
        tags: ['risk'],
        data: { Phrase: 'cancel it', Confidence: 0.8 },
      },
    ])
  })

  it('reads its phrases from a file', async () => {
    const bytes = new TextEncoder().encode('# greetings\nhello there\r\n\n good day \n')
    const resource = () => ({ kind: 'file', fileName: 'greetings.txt', bytes }) as const
    const node = await openNode(phraseSpotter, { phrases: 'greetings' }, { resource })
    const answers = answersTo(node, [milestone('Good day and hello there, greetings')])
    expect(eventsOf(answers, 'Phrase').map(({ data }) => data)).toEqual([
      { Phrase: 'good day' },
      { Phrase: 'hello there' },
    ])
    await expect(openNode(phraseSpotter, { phrases: 'absent' })).rejects.toMatchObject({ code: 'invalid-options' })
  })

  it('reads a long text with many phrases in time that grows only with the text', async () => {
    const phrases = Array.from({ length: 10_000 }, (_none, index) => `${'a '.repeat(index % 50)}b${index}`)
    const node = await openNode(phraseSpotter, { phrases })
    const started = performance.now()
    answersTo(node, [milestone('a '.repeat(50_000))])
    expect(performance.now() - started).toBeLessThan(10_000)
  })

  it('passes on results with invalid data, and other events', async () => {
    const node = await openNode(phraseSpotter, { phrases: ['x'] })
    const items = [event('SR Milestone', { data: { Text: 5 } }), event('SR Milestone'), event('Other')]
    expect(answersTo(node, items)).toEqual(items)
  })
})
