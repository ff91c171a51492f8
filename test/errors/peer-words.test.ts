import { describe, expect, it } from 'vitest'
import { peerWords } from '../../src/errors/peer-words.js'

describe('peerWords', () => {
  it('is one line without control characters', () => {
    expect(peerWords(' no\r\n\u001b[31mway\u0000 ')).toBe('no [31mway')
  })

  it('has at most 300 characters, however much the peer said', () => {
    expect(peerWords('x'.repeat(1_000_000))).toHaveLength(300)
  })
})
