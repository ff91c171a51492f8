import { describe, expect, it } from 'vitest'
import { sanitizePeerText } from '../../src/errors/refusal.js'

describe('sanitizePeerText', () => {
  it('is one line without control characters', () => {
    expect(sanitizePeerText(' no\r\n\u001b[31mway\u0000 ')).toBe('no [31mway')
  })

  it('has at most 300 characters, however long the text of the peer is', () => {
    expect(sanitizePeerText('x'.repeat(1_000_000))).toHaveLength(300)
  })
})
