import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { AudioHash } from '../../src/deepgram-listen/audio-hash.js'

const bytes = Uint8Array.from({ length: 40_000 }, (_one, at) => (at * 7) % 251)

describe('the hash of audio', () => {
  it.each([1, 320, 8_191, 8_192, 8_193, 40_000])('is that of all bytes in pieces of %d', (size) => {
    const hash = new AudioHash()
    for (let at = 0; at < bytes.length; at += size) hash.update(bytes.subarray(at, at + size))
    expect(hash.digest()).toBe(createHash('sha256').update(bytes).digest('hex'))
  })

  it('keeps the order of pieces of any length', () => {
    const hash = new AudioHash()
    for (const [from, to] of [
      [0, 100],
      [100, 20_000],
      [20_000, 20_001],
      [20_001, 40_000],
    ] as const) {
      hash.update(bytes.subarray(from, to))
    }
    expect(hash.digest()).toBe(createHash('sha256').update(bytes).digest('hex'))
  })
})
