import { describe, expect, it } from 'vitest'
import { ChannelText } from '../../../src/client/results/channel-text.js'

const commit = (text: ChannelText, part: string): string => text.commit(part, text.newPart(part))
const finalText = (text: ChannelText, part: string): string => {
  text.commitFinal(part)
  return text.text
}

describe('the text of a channel', () => {
  it('is the sent text while there is one connection', () => {
    const text = new ChannelText()
    expect([commit(text, 'one'), commit(text, ' two'), text.text]).toEqual(['one', ' two', 'one two'])
    expect(finalText(text, 'one two three')).toBe('one two three')
  })

  it('gets the separator that the first text of another connection lacks', () => {
    const text = new ChannelText()
    commit(text, 'one')
    text.begin([])
    expect([commit(text, 'two'), text.text]).toEqual([' two', 'one two'])
  })

  it.each([
    ['今日は', '良い', '今日は良い'],
    ['မြန်မာ', 'စာ', 'မြန်မာစာ'],
    ['one', 'two', 'one two'],
    ['one ', 'two', 'one two'],
  ])('joins “%s” and “%s” to “%s”', (a, b, whole) => {
    const text = new ChannelText()
    commit(text, a)
    text.begin([])
    commit(text, b)
    expect(text.text).toBe(whole)
  })

  it('omits what is repeated, over several texts, and then nothing more', () => {
    const text = new ChannelText()
    commit(text, 'one two three four')
    text.begin(['one', 'two', 'three', 'four'])
    expect(commit(text, 'two three')).toBe('')
    expect(text.isRepeating).toBe(true)
    expect(commit(text, ' four five')).toBe(' five')
    expect(text.isRepeating).toBe(false)
    expect(commit(text, ' five')).toBe(' five')
    expect(text.text).toBe('one two three four five five')
  })

  it('repeats words at most once', () => {
    const text = new ChannelText()
    commit(text, 'one two three')
    text.begin(['one', 'two', 'three'])
    expect([commit(text, 'one two'), commit(text, ' one two')]).toEqual(['', ' one two'])
  })

  it('may repeat words behind a text without any, and none behind one that is new by its times', () => {
    const text = new ChannelText()
    commit(text, 'one two')
    text.begin(['one', 'two'])
    expect([commit(text, ''), text.isRepeating]).toEqual(['', true])
    expect([text.commit('one', 'one'), text.isRepeating]).toEqual([' one', false])
  })

  it('compares no other words than may be repeated', () => {
    const text = new ChannelText()
    commit(text, 'one two three')
    text.begin(['three'])
    expect(commit(text, 'two')).toBe(' two')
  })

  it('adds what a final adds to the milestones of its connection, without what it repeats', () => {
    const repeating = (): ChannelText => {
      const text = new ChannelText()
      commit(text, 'one two')
      text.begin(['one', 'two'])
      return text
    }
    expect(finalText(repeating(), 'two three')).toBe('one two three')
    expect(finalText(repeating(), 'two')).toBe('one two')
    const text = repeating()
    commit(text, 'two three')
    expect(text.addedBy('two three four')).toBe(' four')
    // A final that differs from its milestones adds nothing that could be distinguished from them.
    expect([text.addedBy('Two, three.'), finalText(text, 'Two, three.')]).toEqual(['', 'one two three'])
    expect(finalText(text, 'two three four')).toBe('one two three four')
  })

  it('is of one recognition, and separates what follows the final of another', () => {
    const text = new ChannelText()
    commit(text, 'one')
    expect([finalText(text, 'one two')]).toEqual(['one two'])
    text.close()
    text.begin([])
    expect([commit(text, 'three'), text.text]).toEqual([' three', 'three'])
    expect(finalText(text, 'three four')).toBe('three four')
    text.close()
    expect(text.text).toBe('')
  })
})
