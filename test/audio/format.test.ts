import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  bytesForMs,
  bytesPerFrame,
  bytesPerSecond,
  encodings,
  msForBytes,
  validateFormat,
  type AudioFormat,
} from '../../src/audio/format.js'

const format: AudioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }
const anyFormat: fc.Arbitrary<AudioFormat> = fc.record({
  encoding: fc.constantFrom(...encodings),
  sampleRateHz: fc.integer({ min: 8000, max: 48000 }),
  channels: fc.constantFrom(1 as const, 2 as const),
})

describe('validateFormat', () => {
  it('returns the same object when every field is valid', () => {
    fc.assert(fc.property(anyFormat, (given) => validateFormat(given) === given))
  })

  it.each([
    ['encoding', { ...format, encoding: 'mp3' }, /^encoding must be .* not "mp3"\.$/],
    ['encoding', { ...format, encoding: { toString: (): string => 'pcm' } }, /^encoding must be .* not an object\.$/],
    ['sampleRateHz', { ...format, sampleRateHz: '8000' }, /^sampleRateHz must be .* not "8000"\.$/],
    ['sampleRateHz', { ...format, sampleRateHz: 8000.5 }, /^sampleRateHz .* 8000 to 48000 Hz, not 8000\.5\.$/],
    ['sampleRateHz', { ...format, sampleRateHz: 7999 }, /^sampleRateHz /],
    ['sampleRateHz', { ...format, sampleRateHz: 48001 }, /^sampleRateHz /],
    ['sampleRateHz', { ...format, sampleRateHz: NaN }, /^sampleRateHz .* not NaN\.$/],
    ['sampleRateHz', { ...format, sampleRateHz: 8000n }, /^sampleRateHz .* not 8000\.$/],
    ['channels', { ...format, channels: 3 }, /^channels must be 1 or 2, not 3\.$/],
    ['channels', { ...format, channels: [1] }, /^channels must be 1 or 2, not an array\.$/],
    ['encoding', undefined, /^encoding must be .* not undefined\.$/],
    ['encoding', null, /^encoding /],
    ['encoding', 'pcm', /^encoding /],
    ['an unknown field', { ...format, sampleRate: 8000 }, /^format has the unknown field "sampleRate"\.$/],
  ])('names %s when it is invalid', (_field, given, message) => {
    expect(() => validateFormat(given)).toThrowError(
      expect.objectContaining({ code: 'invalid-format', message: expect.stringMatching(message) as string }),
    )
  })

  it('keeps its message short for a long value', () => {
    expect(() => validateFormat({ ...format, encoding: 'x'.repeat(10_000) })).toThrowError(/^.{1,120}$/)
  })

  it('rejects junk with its own error', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withNullPrototype: true, withObjectString: true }), (junk) => {
        expect(() => validateFormat(junk)).toThrowError(expect.objectContaining({ code: 'invalid-format' }))
      }),
    )
  })
})

describe('bytesForMs and msForBytes', () => {
  it('gives the suggested 20 ms of telephone audio', () => {
    expect(bytesForMs(format, 20)).toBe(320)
    expect(bytesForMs({ encoding: 'ulaw', sampleRateHz: 8000, channels: 2 }, 20)).toBe(320)
    expect(bytesForMs({ encoding: 'pcm', sampleRateHz: 44100, channels: 2 }, 20)).toBe(3528)
    expect(msForBytes(format, 320)).toBe(20)
  })

  it('converts every whole number of frames to a duration and back', () => {
    fc.assert(
      fc.property(anyFormat, fc.integer({ min: 0, max: 24 * 3600 * 48000 }), (given, frames) => {
        const byteCount = frames * bytesPerFrame(given)
        expect(bytesForMs(given, msForBytes(given, byteCount))).toBe(byteCount)
      }),
    )
  })

  it('rounds down to whole frames', () => {
    fc.assert(
      fc.property(anyFormat, fc.integer({ min: 0, max: 4 * 3600 * 1000 }), (given, durationMs) => {
        const byteCount = bytesForMs(given, durationMs)
        expect(byteCount % bytesPerFrame(given)).toBe(0)
        expect(byteCount).toBe(Math.floor((given.sampleRateHz * durationMs) / 1000) * bytesPerFrame(given))
        expect(msForBytes(given, byteCount)).toBeLessThanOrEqual(durationMs)
      }),
    )
  })

  it('rounds down a frame that a thousandth is missing from', () => {
    fc.assert(
      fc.property(anyFormat, fc.integer({ min: 1, max: 4 * 3600 * 48000 }), (given, frames) => {
        const durationMs = ((frames - 0.001) * 1000) / given.sampleRateHz
        expect(bytesForMs(given, durationMs)).toBe((frames - 1) * bytesPerFrame(given))
      }),
    )
  })

  it('counts one second of all channels', () => {
    fc.assert(fc.property(anyFormat, (given) => bytesForMs(given, 1000) === bytesPerSecond(given)))
  })
})
