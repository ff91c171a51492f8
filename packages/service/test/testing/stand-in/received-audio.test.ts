import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { AudioTrack } from '../../../src/testing/stand-in/received-audio.js'

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

describe('the audio that a stand-in received', () => {
  it('has the hash of any range of samples, however it arrived', () => {
    const audio = Uint8Array.from({ length: 1_000 }, (_, at) => at % 251)
    const track = new AudioTrack()
    for (const [from, to] of [
      [0, 1],
      [1, 333],
      [333, 1_000],
    ] as const)
      track.take(audio.subarray(from, to))
    expect([track.samples, track.sha256]).toEqual([500, hashOf(audio)])
    expect(track.hash(100, 200)).toBe(hashOf(audio.subarray(200, 400)))
    expect(track.hash(500, 500)).toBe(hashOf(new Uint8Array()))
    for (const [from, to] of [
      [0, 501],
      [-1, 5],
      [5, 4],
      [0.5, 2],
    ] as const)
      expect(() => track.hash(from, to)).toThrow('There are samples 0 to 500.')
  })

  it('keeps the first 16 MiB, and nothing of what is forgotten; the count and the hash are those of all', () => {
    const track = new AudioTrack()
    const part = new Uint8Array(8 * 1_048_576)
    for (let count = 0; count < 3; count += 1) track.take(part)
    expect(track.hash(0, 8 * 1_048_576)).toBe(hashOf(new Uint8Array(16 * 1_048_576)))
    expect(() => track.hash(0, 8 * 1_048_576 + 1)).toThrow('of those the first 8388608 are kept')
    track.forget()
    track.take(part)
    expect(() => track.hash(0, 1)).toThrow('of those the first 0 are kept')
    expect([track.samples, track.sha256]).toEqual([16 * 1_048_576, hashOf(new Uint8Array(32 * 1_048_576))])
  })
})
