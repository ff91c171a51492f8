import { expect, it } from 'vitest'
import { joinBytes } from '../../src/audio/pcm.js'

it('joins two byte arrays, including views, in a copy', () => {
  const first = Uint8Array.of(9, 1, 2).subarray(1)
  const both = joinBytes(first, Uint8Array.of(3))
  expect([...both]).toEqual([1, 2, 3])
  first.fill(0)
  expect([...both]).toEqual([1, 2, 3])
})
