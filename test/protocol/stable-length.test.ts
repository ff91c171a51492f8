import { describe, expect, it } from 'vitest'
import { keepStable } from '../../src/protocol/stable-length.js'

describe('what another reading of a segment shows', () => {
  it.each<readonly [string, string, number | undefined, string | undefined]>([
    ['', 'good evening', 4, 'good| evening'],
    ['Good evening,', 'Good evening, all', undefined, 'Good evening,| all'],
    ['Good evening,', 'good Evening all of', 16, 'Good evening, all| of'],
    ['Good evening', 'Good evening. All', 4, 'Good evening|. All'],
    ['Good evening', 'good evening. All', 4, 'Good evening| All'],
    ['It costs 3', 'it costs 3.5 million', undefined, 'It costs 3|.5 million'],
    ['twenty', 'Twenty-five people', undefined, 'twenty|-five people'],
    ['他说', '他说“你好”', undefined, '他说|“你好”'],
    ['♪', 'one two', 3, 'one| two'],
    ['Good evening', 'good evening', undefined, 'Good evening|'],
    ['Good evening', 'good', undefined, undefined],
    ['Good even', 'good evening', undefined, undefined],
    ['Good evening', 'good morning all', undefined, undefined],
    ['Good evening', '', undefined, '|'],
    ['你好', '你好吗', 1, '你好|吗'],
    ['你好', '您好吗', 1, undefined],
    ['🙂 one', 'one two', undefined, '🙂 one| two'],
  ])('after the stable "%s" has of "%s" with %s stable "%s"', (stable, text, stableLength, expected) => {
    const shown = keepStable(stable, { text, stableLength })
    const length = shown?.stableLength ?? 0
    expect(shown && `${shown.text.slice(0, length)}|${shown.text.slice(length)}`).toBe(expected)
  })
})
