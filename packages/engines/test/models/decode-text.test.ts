import { describe, expect, it } from 'vitest'
import { decodeText, quoteText } from '../../src/models/decode-text.js'

describe('decodeText', () => {
  it('reads UTF-8 and UTF-16 with or without a byte order mark, and nothing else', () => {
    const littleEndian = Buffer.from('\ufeffcafé', 'utf16le')
    for (const bytes of [
      Buffer.from('café'),
      Buffer.from('\ufeffcafé'),
      littleEndian,
      Buffer.from(littleEndian).swap16(),
    ]) {
      expect(decodeText(bytes)).toBe('café')
    }
    for (const bytes of [Buffer.from('café', 'latin1'), Buffer.from('a\0')]) expect(decodeText(bytes)).toBeUndefined()
  })
})

describe('quoteText', () => {
  it('escapes what is not seen', () => {
    expect(quoteText('he said "no"')).toBe(String.raw`"he said \"no\""`)
    expect(quoteText('hel\u200blo\u00ad\ufeff\u202e a\u00a0b\u{e0041}')).toBe(
      String.raw`"hel\u200blo\u00ad\ufeff\u202e a\u00a0b\u{e0041}"`,
    )
    expect(quoteText('नमस्ते é e\u0301')).toBe('"नमस्ते é e\u0301"')
  })
})
