import { describe, expect, it } from 'vitest'
import { paintFor } from '../../../src/cli/view/paint.js'
import { displayWidth, lastColumns, plainText } from '../../../src/cli/view/plain-text.js'
import { clockText, finishedLines, liveLine, type LineStyle } from '../../../src/cli/view/transcript-line.js'

const style: LineStyle = { speakers: ['agent', 'customer'], paint: (_color, text) => text }
const milestone = { channel: 0, startMs: 62_345, text: 'how can i help you' }

describe('a line of a transcript', () => {
  it('has time, speaker and text', () => {
    expect(finishedLines(milestone, style)).toBe('[01:02.3] agent: how can i help you\n')
  })

  it('has no time if the service sends none, and no speaker if there is only one', () => {
    expect(finishedLines({ channel: 0, text: 'yes' }, { ...style, speakers: [] })).toBe('yes\n')
  })

  it('is followed by its words with times and confidence, if the style has them', () => {
    const words = [
      { text: 'how', startMs: 62_345, endMs: 62_500, confidence: 0.934 },
      { text: 'can\u001b[2J', startMs: 62_500, endMs: 63_000, confidence: 1 },
    ]
    const line = '[01:02.3] agent: how can i help you\n'
    expect(finishedLines({ ...milestone, words }, style)).toBe(line)
    expect(finishedLines({ ...milestone, words }, { ...style, hasWords: true })).toBe(
      `${line}  01:02.34 – 01:02.50  0.93  how\n  01:02.50 – 01:03.00  1.00  can [2J\n`,
    )
  })

  it('cannot control the terminal', () => {
    expect(finishedLines({ channel: 1, text: 'a\u001b[2Jb\nc\u202ed' }, style)).toBe('customer: a [2Jb c d\n')
  })

  it('is cut at its beginning while it may change, to the available columns', () => {
    expect(liveLine(milestone, style, 29)).toBe('[01:02.3] agent: … i help you')
    expect(liveLine(milestone, style, 12)).toBe('… i help you')
    for (let columns = 1; columns < 50; columns++) {
      expect(displayWidth(liveLine(milestone, style, columns))).toBeLessThanOrEqual(columns)
    }
  })

  it('is dim where it may change', () => {
    const marked: LineStyle = { speakers: [], paint: (color, text) => (color === 'dim' && text ? `<${text}>` : text) }
    const live = { channel: 0, text: 'how can i help\u001b you' }
    expect(liveLine(live, marked, 40)).toBe('<how can i help  you>')
    expect(liveLine({ ...live, stableLength: 9 }, marked, 40)).toBe('how can i< help  you>')
    expect(liveLine({ ...live, stableLength: 9 }, marked, 14)).toBe('…n i< help  you>')
    expect(liveLine({ ...live, stableLength: 9 }, marked, 6)).toBe('<…  you>')
    expect(liveLine({ ...live, stableLength: 19 }, marked, 6)).toBe('…  you')
  })

  it.each([
    [0, '00:00.0'],
    [59_999, '00:59.9'],
    [3_661_000, '61:01.0'],
  ])('formats %d ms as %s', (ms, text) => expect(clockText(ms)).toBe(text))

  it('has as many decimals as are asked for', () => {
    expect([0, 2].map((decimals) => clockText(59_999, decimals))).toEqual(['00:59', '00:59.99'])
  })
})

describe('the width of text on a terminal', () => {
  it.each([
    ['word', 4],
    ['e\u0301', 1],
    ['日本', 4],
    ['👍', 2],
  ])('of %s is %d', (text, width) => expect(displayWidth(text)).toBe(width))

  it('determines what is cut', () => {
    expect(lastColumns('日本語', 5)).toBe('…本語')
    expect(lastColumns('日本語', 4)).toBe('…語')
    expect(lastColumns('word', 0)).toBe('')
  })
})

describe('plainText', () => {
  it('leaves one line without control characters', () => expect(plainText(' a\u0007\r\n\u009bb\u2028c ')).toBe('a b c'))
})

describe('paintFor', () => {
  it.each([
    [true, {}, '\u001b[36mx\u001b[39m'],
    [false, {}, 'x'],
    [true, { NO_COLOR: '1' }, 'x'],
    [true, { NO_COLOR: '' }, '\u001b[36mx\u001b[39m'],
    [true, { TERM: 'dumb' }, 'x'],
  ])('colors on a terminal (%s) with %j', (isTTY, env, text) => {
    expect(paintFor({ isTTY, write: () => true }, env)('cyan', 'x')).toBe(text)
  })
})
