import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodings, type AudioFormat } from '../../src/audio/format.js'
import { samplesOf } from '../../src/audio/pcm.js'
import { readWav } from '../../src/audio/read-wav.js'
import { wavHeader } from '../../src/audio/wav-header.js'
import {
  chunkOf,
  dataOf,
  drained,
  extensibleBody,
  fmt,
  formatBody,
  invalidWav,
  joined,
  junk,
  plain,
  read,
  riffOf,
  samples,
  slicedSource,
  slicings,
  wavIn,
  wavOf,
} from './wav-bytes.js'

const unpadded = junk.subarray(0, -1)
const odd = joined(formatBody(), new Uint8Array(31))
const whole = dataOf(samples)
const [half, otherHalf] = [samples.subarray(0, 16), samples.subarray(16)]
const streamedRiff = (...chunks: readonly Uint8Array[]): Uint8Array => riffOf([fmt, ...chunks], 0xffffffff)

describe('readWav', () => {
  it('returns format, duration and samples', async () => {
    const { format, durationMs, audio } = await readWav(slicedSource(plain))
    expect(format).toEqual({ encoding: 'pcm', sampleRateHz: 8000, channels: 1 })
    expect(durationMs).toBe(2)
    expect(await drained(audio)).toMatchObject({ bytes: samples, error: undefined })
  })

  it.each<[string, Uint8Array]>([
    ['chunks before the format', riffOf([junk, fmt, whole])],
    ['chunks between format and data', wavOf(junk, junk, whole)],
    ['chunks after the data', wavOf(whole, junk)],
    ['an empty chunk', wavOf(chunkOf('fact', new Uint8Array(0)), whole)],
    ['a longer format chunk', riffOf([chunkOf('fmt ', odd), whole])],
    ['a chunk after the data that is cut off', wavOf(whole, chunkOf('LIST', Uint8Array.of(1, 2), 500))],
    ['the tag of a player', wavOf(whole, Buffer.alloc(128, 'TAGme'))],
    ['two data chunks', wavOf(dataOf(half), junk, dataOf(otherHalf))],
    ['an empty data chunk between others', wavOf(dataOf(half), dataOf(new Uint8Array(0)), dataOf(otherHalf))],
    ['a second data chunk of a streamed length', wavOf(dataOf(half), dataOf(otherHalf, 0xffffffff))],
    ['two files, one behind the other', joined(wavOf(dataOf(half), junk), wavOf(dataOf(otherHalf), junk))],
    ['a streamed file behind another', joined(wavOf(dataOf(half), junk), riffOf([fmt, dataOf(otherHalf, 0)], 36))],
    ['a file behind a streamed one', joined(streamedRiff(dataOf(half, 0xffffffff)), wavOf(dataOf(otherHalf), junk))],
    [
      'a file of 64-bit lengths behind a streamed one',
      joined(
        streamedRiff(dataOf(half, 0)),
        Buffer.from('BW64'),
        streamedRiff(dataOf(otherHalf, 0xffffffff)).subarray(4),
      ),
    ],
    ['no byte after an odd chunk before the format', riffOf([unpadded, fmt, whole])],
    ['no byte after an odd chunk before the data', wavOf(unpadded, whole)],
    ['no byte after an odd chunk before another chunk', riffOf([unpadded, unpadded, junk, fmt, junk, whole])],
    ['no byte after an odd format', riffOf([chunkOf('fmt ', odd).subarray(0, -1), whole])],
    [
      'a byte after an odd chunk that is not zero',
      riffOf([joined(unpadded, Uint8Array.of(88)), chunkOf('fmt ', odd).fill(88, -1), whole]),
    ],
    [
      'such a byte before another chunk',
      riffOf([joined(unpadded, Uint8Array.of(121)), junk, chunkOf('fmt ', odd).fill(32, -1), whole]),
    ],
    [
      'such a byte before a chunk of another name',
      riffOf([joined(unpadded, Uint8Array.of(255)), chunkOf('abcd', odd), junk, fmt, whole]),
    ],
  ])('reads the samples and nothing else of a file with %s', async (_title, bytes) => {
    for (const sizes of slicings) {
      expect(await read(bytes, sizes)).toMatchObject({ bytes: samples, error: undefined })
    }
  })

  it('does not take samples for a file that begins', async () => {
    const data = Buffer.from('RIFRIFF\x04\0\0\0WAVBBWRIFRF64RIFFBW6')
    const format = chunkOf('fmt ', formatBody({ bits: 8 }))
    const bytes = riffOf([format, dataOf(data, 0xffffffff).subarray(0, 8 + data.length)])
    for (const sizes of slicings) {
      const { bytes: found, error } = await read(bytes, sizes)
      expect([...samplesOf(found)]).toEqual([...data].map((sample) => (sample - 128) * 256))
      expect(error).toBeUndefined()
    }
  })

  it('reads zeros behind the data as silence', async () => {
    const { bytes, error } = await read(joined(plain, new Uint8Array(512)))
    expect([...bytes]).toEqual([...samples, ...new Uint8Array(512)])
    expect(error).toBeUndefined()
  })

  it.each(['RF64', 'BW64'])('reads the data length of %s, or to the end where it was never set', async (name) => {
    const wide = (dataBytes: number): Uint8Array => {
      const lengths = new DataView(new ArrayBuffer(28))
      lengths.setBigUint64(8, BigInt(dataBytes), true)
      const sizes = chunkOf('ds64', new Uint8Array(lengths.buffer))
      const file = riffOf([sizes, fmt, dataOf(samples, 0xffffffff), junk], 0xffffffff)
      return joined(Buffer.from(name), file.subarray(4))
    }
    const { durationMs, audio } = await readWav(slicedSource(wide(32), [7]))
    expect(durationMs).toBe(2)
    expect(await drained(audio)).toMatchObject({ bytes: samples, error: undefined })
    const streamed = await readWav(slicedSource(wide(0)))
    expect(streamed).not.toHaveProperty('durationMs')
    expect((await drained(streamed.audio)).bytes).toHaveLength(32 + junk.length)
    const huge = await readWav(slicedSource(wide(5 * 2 ** 32)))
    expect(huge.durationMs).toBe((5 * 2 ** 32) / 16)
    expect((await drained(huge.audio)).error).toEqual(invalidWav(/ends early: 21474836\d+ of the 21474836480 bytes/))
    await expect(readWav(slicedSource(wide(31)))).rejects.toThrowError(invalidWav(/31 bytes of data are not whole/))
  })

  it.each([
    ['pcm', 1, 16, 2],
    ['alaw', 6, 8, 1],
    ['ulaw', 7, 8, 2],
  ] as const)('reads %s in the extensible form', async (encoding, tag, bits, channels) => {
    const body = extensibleBody({ tag, bits, channels, sampleRateHz: 44100 })
    const { format, audio } = await readWav(slicedSource(wavIn(body)))
    expect(format).toEqual({ encoding, sampleRateHz: 44100, channels })
    expect((await drained(audio)).bytes).toEqual(samples)
  })

  it.each([0, 0xffffffff, 0xffffffff - 36, 0x7fffffff, 0x7ffff000, 0x80000000])(
    'reads to the end of the source when the data length is %i, as programs that write to a pipe leave it',
    async (claimed) => {
      const riff = claimed === 0 ? 36 : 0xffffffff
      const bytes = riffOf([fmt, dataOf(samples, claimed)], riff)
      const wav = await readWav(slicedSource(bytes, [5]))
      expect(wav).not.toHaveProperty('durationMs')
      expect(await drained(wav.audio)).toMatchObject({ bytes: samples, error: undefined })
    },
  )

  it('emits only whole frames and loses none, however the source is sliced', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          encoding: fc.constantFrom(...encodings),
          sampleRateHz: fc.integer({ min: 8000, max: 48000 }),
          channels: fc.constantFrom(1 as const, 2 as const),
        }),
        fc.uint8Array({ minLength: 4, maxLength: 120 }),
        fc.array(fc.nat(9), { minLength: 1, maxLength: 8 }).filter((sizes) => sizes.some((size) => size > 0)),
        fc.boolean(),
        async (format: AudioFormat, content, sizes, streamed) => {
          const frameBytes = (format.encoding === 'pcm' ? 2 : 1) * format.channels
          const data = content.subarray(0, content.length - (content.length % frameBytes))
          const header = streamed ? wavHeader(format) : wavHeader(format, data.length)
          const wav = await readWav(slicedSource(joined(header, data), sizes))
          const { pieces, bytes, error } = await drained(wav.audio)
          expect(wav.format).toEqual(format)
          expect(error).toBeUndefined()
          expect(pieces.every(({ length }) => length > 0 && length % frameBytes === 0)).toBe(true)
          expect([...bytes]).toEqual([...data])
        },
      ),
    )
  })

  it('does not copy slices that already hold whole frames', async () => {
    const bytes = Uint8Array.from(plain)
    async function* source(): AsyncGenerator<Uint8Array> {
      yield bytes
    }
    const { audio } = await readWav(source())
    const { pieces } = await drained(audio)
    expect(pieces.map(({ buffer }) => buffer === bytes.buffer)).toEqual([true])
  })
})

describe('readWav, on samples that are not streamed as they are', () => {
  const float = (value: number): readonly number[] => [...new Uint8Array(Float32Array.of(value).buffer)]
  const double = (value: number): readonly number[] => [...new Uint8Array(Float64Array.of(value).buffer)]
  const bytes = (hex: string): readonly number[] => [...Buffer.from(hex, 'hex')]
  it.each([
    ['8-bit PCM', { bits: 8 }, bytes('0080ff7f'), [-32_768, 0, 32_512, -256]],
    ['24-bit PCM', { bits: 24 }, bytes('0000807f0000800000ffff7f'), [-32_768, 0, 1, 32_767]],
    ['32-bit PCM', { bits: 32 }, bytes('00000080ff7f000000800000ffffff7f'), [-32_768, 0, 1, 32_767]],
    ['32-bit floats', { tag: 3, bits: 32 }, [-1.5, 0.5, NaN, 1].flatMap(float), [-32_768, 16_384, 0, 32_767]],
    ['64-bit floats', { tag: 3, bits: 64 }, [-1.5, 0.5, NaN, Infinity].flatMap(double), [-32_768, 16_384, 0, 32_767]],
  ])('makes 16-bit PCM of %s, whatever the chunks', async (_title, fields, stored, expected) => {
    const data = Uint8Array.from(stored)
    for (const body of [formatBody({ ...fields, channels: 2 }), extensibleBody({ ...fields, channels: 2 })]) {
      const file = wavIn(body, data)
      for (const sizes of [[Infinity], [1], [5, 2]]) {
        const { format, audio, durationMs } = await readWav(slicedSource(file, sizes))
        expect(format).toEqual({ encoding: 'pcm', sampleRateHz: 8000, channels: 2 })
        expect(durationMs).toBe(0.25)
        expect([...samplesOf((await drained(audio)).bytes)]).toEqual(expected)
      }
    }
  })
})
