import { describe, expect, it } from 'vitest'
import { matchesPattern } from '../../../server/src/nodes/core/events.js'
import { eventFilter } from '../../src/events/event-filter.js'
import { answersTo, event, openNode, testFixedSet } from '../../../server/test/nodes/fixed-set.js'

const namesKept = async (options: object, ...items: ReturnType<typeof event>[]): Promise<readonly string[]> =>
  answersTo(await openNode(eventFilter, options), items).map((item) => (item.type === 'event' ? item.event.name : ''))

describe('event-filter', () => {
  const item = event('DTMF', { channel: 1 })
  testFixedSet({ open: () => openNode(eventFilter, { keep: ['DTMF'] }), item, first: [item], second: [item] })

  it('keeps and drops by name', async () => {
    const items = [event('SR Partial'), event('SR Milestone'), event('DTMF'), event('Speech Started')]
    expect(await namesKept({}, ...items)).toHaveLength(4)
    expect(await namesKept({ keep: ['SR *', 'DTMF'] }, ...items)).toEqual(['SR Partial', 'SR Milestone', 'DTMF'])
    expect(await namesKept({ keep: ['SR *'], drop: ['*Partial'] }, ...items)).toEqual(['SR Milestone'])
    expect(await namesKept({ keep: [] }, ...items)).toEqual([])
  })

  it('keeps those of one channel, and of all channels', async () => {
    const items = [event('a', { channel: 0 }), event('b', { channel: 1 }), event('c', { channel: -2 }), event('d')]
    expect(await namesKept({ channel: 1 }, ...items)).toEqual(['b', 'c'])
  })

  it('keeps those with a tag, and those with sufficient or no confidence', async () => {
    const sure = (name: string, Confidence: number) => event(name, { tags: ['x', name], data: { Confidence } })
    const items = [sure('a', 0.4), sure('b', 0.5), event('c', { tags: ['y'], data: [1] })]
    expect(await namesKept({ minConfidence: 0.5 }, ...items)).toEqual(['b', 'c'])
    expect(await namesKept({ tags: ['y', 'a'] }, ...items)).toEqual(['a', 'c'])
  })
})

describe('matchesPattern', () => {
  it.each([
    ['SR *', 'SR Final', true],
    ['SR *', 'SR ', true],
    ['*', '', true],
    ['a*a', 'a', false],
    ['a*a', 'aa', true],
    ['*b*b*', 'abab', true],
    ['*bc*bc', 'abc', false],
    ['a.c', 'abc', false],
    ['', 'a', false],
  ])('%j on %j is %j', (pattern, name, fits) => {
    expect(matchesPattern(pattern, name)).toBe(fits)
  })

  it('matches a pattern of many stars quickly', () => {
    const started = performance.now()
    expect(matchesPattern(`${'*a'.repeat(2000)}*b`, 'a'.repeat(20_000))).toBe(false)
    // Some milliseconds; a matcher that tries all ways would take years.
    expect(performance.now() - started).toBeLessThan(10_000)
  })
})
