import { ReadableStream } from 'node:stream/web'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodings, type AudioFormat } from '../../src/audio/format.js'
import { samplesOf } from '../../src/audio/pcm.js'
import { maxWavHeaderBytes, readWav } from '../../src/audio/read-wav.js'
import type { SpeechError } from '../../src/errors/speech-error.js'
import { wavHeader } from '../../src/audio/wav-header.js'
import { chunkOf, drained, extensibleBody, formatBody, joined, riffOf, slicedSource } from './wav-bytes.js'
import { runs } from '../thorough.js'

const samples = Uint8Array.from({ length: 32 }, (_, i) => i + 1)
const junk = chunkOf('LIST', Uint8Array.of(100, 97, 116)) // odd, and padded
const unpadded = junk.subarray(0, -1)
const plain = riffOf([chunkOf('fmt ', formatBody()), chunkOf('data', samples)])

const invalidWav = (message: RegExp): Error =>
  expect.objectContaining({ code: 'invalid-wav', message: expect.stringMatching(message) as string }) as Error

describe('readWav', () => {
  it('returns format, duration and samples', async () => {
    const { format, durationMs, audio } = await readWav(slicedSource(plain))
    expect(format).toEqual({ encoding: 'pcm', sampleRateHz: 8000, channels: 1 })
    expect(durationMs).toBe(2)
    expect(await drained(audio)).toMatchObject({ bytes: samples, error: undefined })
  })

  it.each([
    ['chunks before the format', [junk, chunkOf('fmt ', formatBody()), chunkOf('data', samples)]],
    ['chunks between format and data', [chunkOf('fmt ', formatBody()), junk, junk, chunkOf('data', samples)]],
    ['chunks after the data', [chunkOf('fmt ', formatBody()), chunkOf('data', samples), junk]],
    ['an empty chunk', [chunkOf('fmt ', formatBody()), chunkOf('fact', new Uint8Array(0)), chunkOf('data', samples)]],
    ['a longer format chunk', [chunkOf('fmt ', joined(formatBody(), new Uint8Array(31))), chunkOf('data', samples)]],
    [
      'a chunk after the data that is cut off',
      [chunkOf('fmt ', formatBody()), chunkOf('data', samples), chunkOf('LIST', Uint8Array.of(1, 2), 500)],
    ],
    ['the tag of a player', [chunkOf('fmt ', formatBody()), chunkOf('data', samples), Buffer.alloc(128, 'TAGme')]],
  ])('reads only the samples, with %s', async (_title, chunks) => {
    for (const sizes of [[Infinity], [1], [3, 0, 7]]) {
      const { audio } = await readWav(slicedSource(riffOf(chunks), sizes))
      expect(await drained(audio)).toMatchObject({ bytes: samples, error: undefined })
    }
  })

  const half = samples.subarray(0, 16)
  const file = (data: Uint8Array): Uint8Array => riffOf([chunkOf('fmt ', formatBody()), chunkOf('data', data), junk])
  it.each([
    ['two data chunks', riffOf([chunkOf('fmt ', formatBody()), chunkOf('data', half), junk, chunkOf('data', half)])],
    [
      'an empty data chunk between others',
      riffOf([chunkOf('fmt ', formatBody()), ...[half, new Uint8Array(0), half].map((data) => chunkOf('data', data))]),
    ],
    [
      'a second data chunk of a streamed length',
      riffOf([chunkOf('fmt ', formatBody()), chunkOf('data', half), chunkOf('data', half, 0xffffffff)]),
    ],
    ['two files, one behind the other', joined(file(half), file(half))],
    [
      'a streamed file behind another',
      joined(file(half), riffOf([chunkOf('fmt ', formatBody()), chunkOf('data', half, 0)], 36)),
    ],
    [
      'a file behind a streamed one',
      joined(riffOf([chunkOf('fmt ', formatBody()), chunkOf('data', half, 0xffffffff)], 0xffffffff), file(half)),
    ],
    [
      'a file of 64-bit lengths behind a streamed one',
      joined(
        riffOf([chunkOf('fmt ', formatBody()), chunkOf('data', half, 0)], 0xffffffff),
        Buffer.from('BW64'),
        riffOf([chunkOf('fmt ', formatBody()), chunkOf('data', half, 0xffffffff)], 0xffffffff).subarray(4),
      ),
    ],
  ])('reads all samples of %s', async (_title, bytes) => {
    for (const sizes of [[Infinity], [1], [3, 0, 7]]) {
      const { audio } = await readWav(slicedSource(bytes, sizes))
      expect(await drained(audio)).toMatchObject({ bytes: joined(half, half), error: undefined })
    }
  })

  const quiet = Uint8Array.of(0xff, 0x7f, 0xfe, 0x7e) // µ-law
  it.each([
    ['16-bit PCM', formatBody(), samples],
    ['µ-law behind an odd length', formatBody({ tag: 7, bits: 8 }), joined(quiet, quiet, quiet, quiet.subarray(1))],
    ['the silence of A-law, which is letters', formatBody({ tag: 6, bits: 8 }), new Uint8Array(32).fill(0x55)],
    ['24-bit PCM', formatBody({ bits: 24 }), new Uint8Array(30).fill(0xf7)],
  ])(
    'reads what is behind a data length that is too small, and reports it at the end: %s',
    async (_title, body, data) => {
      const claimed = data.length % 2 === 1 ? 3 : 6
      const bytes = riffOf([chunkOf('fmt ', body), chunkOf('data', data, claimed).subarray(0, 8 + data.length)])
      const whole = await drained(
        (await readWav(slicedSource(riffOf([chunkOf('fmt ', body), chunkOf('data', data)])))).audio,
      )
      for (const sizes of [[Infinity], [1], [3, 0, 7]]) {
        const { bytes: read, error } = await drained((await readWav(slicedSource(bytes, sizes))).audio)
        expect([...read]).toEqual([...whole.bytes])
        expect(error).toEqual(
          invalidWav(
            new RegExp(`^The WAV header is wrong: ${data.length - claimed} bytes follow .* -ignore_length 1 -i FILE`),
          ),
        )
      }
    },
  )

  it('reads a file behind a data length that is too small, and reports the length at the end', async () => {
    const short = riffOf([chunkOf('fmt ', formatBody()), chunkOf('data', samples, 6)])
    for (const sizes of [[Infinity], [1], [3, 0, 7]]) {
      const { bytes, error } = await drained((await readWav(slicedSource(joined(short, plain), sizes))).audio)
      expect([...bytes]).toEqual([...samples, ...samples])
      expect(error).toEqual(invalidWav(/^The WAV header is wrong: 26 bytes follow/))
    }
  })

  it('does not take samples for a file that begins', async () => {
    const data = Buffer.from('RIFRIFF\x04\0\0\0WAVBBWRIFRF64RIFFBW6')
    const bytes = riffOf([
      chunkOf('fmt ', formatBody({ bits: 8 })),
      chunkOf('data', data, 0xffffffff).subarray(0, 8 + data.length),
    ])
    for (const sizes of [[Infinity], [1], [3, 0, 7]]) {
      const { bytes: read, error } = await drained((await readWav(slicedSource(bytes, sizes))).audio)
      expect([...samplesOf(read)]).toEqual([...data].map((sample) => (sample - 128) * 256))
      expect(error).toBeUndefined()
    }
  })

  it('reads zeros behind the data as silence', async () => {
    const { bytes, error } = await drained((await readWav(slicedSource(joined(plain, new Uint8Array(512))))).audio)
    expect([...bytes]).toEqual([...samples, ...new Uint8Array(512)])
    expect(error).toBeUndefined()
  })

  it('reports a file of another format behind the first', async () => {
    const other = riffOf([chunkOf('fmt ', formatBody({ channels: 2, sampleRateHz: 16_000 })), chunkOf('data', samples)])
    const { bytes, error } = await drained((await readWav(slicedSource(joined(plain, other), [9]))).audio)
    expect(bytes).toEqual(samples)
    expect(error).toEqual(
      invalidWav(/another file, of pcm at 16000 Hz with 2 channels; pass the two as files of their own/),
    )
  })

  const odd = joined(formatBody(), new Uint8Array(31))
  it.each([
    ['omitted before the format', [unpadded, chunkOf('fmt ', formatBody())]],
    ['omitted before the data', [chunkOf('fmt ', formatBody()), unpadded]],
    ['omitted before another chunk', [unpadded, unpadded, junk, chunkOf('fmt ', formatBody()), junk]],
    ['omitted after the format', [chunkOf('fmt ', odd).subarray(0, -1)]],
    ['not zero', [joined(unpadded, Uint8Array.of(88)), chunkOf('fmt ', odd).fill(88, -1)]],
    ['not zero before another chunk', [joined(unpadded, Uint8Array.of(121)), junk, chunkOf('fmt ', odd).fill(32, -1)]],
    [
      'not zero before a chunk of another name',
      [joined(unpadded, Uint8Array.of(255)), chunkOf('abcd', odd), junk, chunkOf('fmt ', formatBody())],
    ],
  ])('finds the samples where the byte after an odd chunk is %s', async (_title, chunks) => {
    for (const sizes of [[Infinity], [1], [3, 0, 7]]) {
      const { audio } = await readWav(slicedSource(riffOf([...chunks, chunkOf('data', samples)]), sizes))
      expect(await drained(audio)).toMatchObject({ bytes: samples, error: undefined })
    }
  })

  it.each(['RF64', 'BW64'])('reads the data length of %s, or to the end where it was never set', async (name) => {
    const wide = (dataBytes: number): Uint8Array => {
      const lengths = new DataView(new ArrayBuffer(28))
      lengths.setBigUint64(8, BigInt(dataBytes), true)
      const chunks = [
        chunkOf('ds64', new Uint8Array(lengths.buffer)),
        chunkOf('fmt ', formatBody()),
        chunkOf('data', samples, 0xffffffff),
        junk,
      ]
      return joined(Buffer.from(name), riffOf(chunks, 0xffffffff).subarray(4))
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
    const { format, audio } = await readWav(slicedSource(riffOf([chunkOf('fmt ', body), chunkOf('data', samples)])))
    expect(format).toEqual({ encoding, sampleRateHz: 44100, channels })
    expect((await drained(audio)).bytes).toEqual(samples)
  })

  it.each([0, 0xffffffff, 0xffffffff - 36, 0x7fffffff, 0x7ffff000, 0x80000000])(
    'reads to the end of the source when the data length is %i, as programs that write to a pipe leave it',
    async (claimed) => {
      const riff = claimed === 0 ? 36 : 0xffffffff
      const bytes = riffOf([chunkOf('fmt ', formatBody()), chunkOf('data', samples, claimed)], riff)
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
  const kinds = [
    ['8-bit PCM', { bits: 8 }, [[0], [128], [255], [127]], [-32_768, 0, 32_512, -256]],
    [
      '24-bit PCM',
      { bits: 24 },
      [
        [0, 0, 0x80],
        [0x7f, 0, 0],
        [0x80, 0, 0],
        [0xff, 0xff, 0x7f],
      ],
      [-32_768, 0, 1, 32_767],
    ],
    [
      '32-bit PCM',
      { bits: 32 },
      [
        [0, 0, 0, 0x80],
        [0xff, 0x7f, 0, 0],
        [0, 0x80, 0, 0],
        [0xff, 0xff, 0xff, 0x7f],
      ],
      [-32_768, 0, 1, 32_767],
    ],
    [
      '32-bit floats',
      { tag: 3, bits: 32 },
      [float(-1.5), float(0.5), float(NaN), float(1)],
      [-32_768, 16_384, 0, 32_767],
    ],
    [
      '64-bit floats',
      { tag: 3, bits: 64 },
      [double(-1.5), double(0.5), double(NaN), double(Infinity)],
      [-32_768, 16_384, 0, 32_767],
    ],
  ] as const

  it.each(kinds)('makes 16-bit PCM of %s, whatever the chunks', async (_title, fields, stored, expected) => {
    const data = Uint8Array.from(stored.flat())
    for (const body of [formatBody({ ...fields, channels: 2 }), extensibleBody({ ...fields, channels: 2 })]) {
      const file = riffOf([chunkOf('fmt ', body), chunkOf('data', data)])
      for (const sizes of [[Infinity], [1], [5, 2]]) {
        const { format, audio, durationMs } = await readWav(slicedSource(file, sizes))
        expect(format).toEqual({ encoding: 'pcm', sampleRateHz: 8000, channels: 2 })
        expect(durationMs).toBe(0.25)
        const parts: Uint8Array[] = []
        for await (const part of audio) parts.push(part)
        expect([...samplesOf(joined(...parts))]).toEqual(expected)
      }
    }
  })
})

describe('readWav, on an invalid file', () => {
  const withFormat = (body: Uint8Array): Uint8Array => riffOf([chunkOf('fmt ', body), chunkOf('data', samples)])
  const fmt = chunkOf('fmt ', formatBody())

  it.each<[string, Uint8Array, RegExp]>([
    ['an empty file', new Uint8Array(0), /not a RIFF\/WAVE file/],
    [
      'another kind of file',
      Uint8Array.from('some other bytes', (letter) => letter.charCodeAt(0)),
      /^This is not a RIFF\/WAVE file; if it is audio, ffmpeg -i FILE .* converts it\.$/,
    ],
    ...(
      [
        ['MP3', [0xff, 0xfb, 0x90, 0x64]],
        ['MP3', [0x49, 0x44, 0x33, 4]],
        ['AAC', [0xff, 0xf1, 0x50]],
        ['MPEG-4 (m4a, mp4)', [0, 0, 0, 28, 0x66, 0x74, 0x79, 0x70]],
        ['WebM or Matroska', [0x1a, 0x45, 0xdf, 0xa3]],
        ['Ogg', [0x4f, 0x67, 0x67, 0x53]],
        ['FLAC', [0x66, 0x4c, 0x61, 0x43]],
        ['AU', [0x2e, 0x73, 0x6e, 0x64]],
        ['CAF', [0x63, 0x61, 0x66, 0x66, 0, 1]],
        ['Wave64', [0x72, 0x69, 0x66, 0x66, 0x2e, 0x91]],
        ['Windows Media', [0x30, 0x26, 0xb2, 0x75]],
      ] as const
    ).map(([name, begin]): [string, Uint8Array, RegExp] => [
      `${name} (${begin.length} bytes)`,
      joined(Uint8Array.from(begin), new Uint8Array(20)),
      new RegExp(`^This is ${name.replace(/[()]/g, '\\$&')}, not a RIFF/WAVE file; ffmpeg `),
    ]),
    ['RIFF that is no WAVE', joined(plain.subarray(0, 8), Uint8Array.of(65, 86, 73, 32)), /not a RIFF\/WAVE file/],
    ['big-endian RIFX', joined(Uint8Array.of(82, 73, 70, 88), plain.subarray(4)), /RIFX, .*; sox FILE -r 16000 /],
    ...(
      [
        ['gzip', [0x1f, 0x8b, 8]],
        ['ZIP', [0x50, 0x4b, 3, 4]],
        ['bzip2', [0x42, 0x5a, 0x68, 0x39]],
        ['xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]],
        ['Zstandard', [0x28, 0xb5, 0x2f, 0xfd]],
        ['7-Zip', [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c]],
      ] as const
    ).map(([name, begin]): [string, Uint8Array, RegExp] => [
      `a ${name} file`,
      joined(Uint8Array.from(begin), new Uint8Array(20)),
      new RegExp(`^The file is packed by ${name}; unpack it, and pass the recording in it\\.$`),
    ]),
    [
      'an end within the first name',
      plain.subarray(0, 9),
      /^The WAV file ends within its header; copy or record it again\.$/,
    ],
    ['an end within the format chunk', plain.subarray(0, 30), /ends within its header/],
    ['no data chunk', riffOf([fmt, junk]), /ends before its data chunk/],
    [
      'an end within a chunk before the data',
      riffOf([fmt, chunkOf('LIST', samples, 500)]),
      /ends before its data chunk/,
    ],
    ['data before the format', riffOf([chunkOf('data', samples), fmt]), /samples before their format/],
    ['two formats', riffOf([fmt, fmt, chunkOf('data', samples)]), /two "fmt " chunks/],
    ['a short format', withFormat(formatBody().subarray(0, 14)), /has 14 bytes; it needs at least 16/],
    [
      'a chunk that claims to be huge',
      riffOf([chunkOf('b\ng ', samples, 0x66666666)]),
      /"b\.g " chunk .* claims 1717986918 bytes; .* ffmpeg -i FILE /,
    ],
    ['no channels', withFormat(formatBody({ channels: 0, blockAlign: 2 })), /0 channels/],
    ['three channels', withFormat(formatBody({ channels: 3 })), /3 channels/],
    ['a rate too low', withFormat(formatBody({ sampleRateHz: 7999 })), /7999 Hz; only 8000 to 48000 Hz/],
    ['a rate too high', withFormat(formatBody({ sampleRateHz: 96000 })), /96000 Hz/],
    ['ADPCM', withFormat(formatBody({ tag: 2, bits: 4 })), /Microsoft ADPCM samples \(format tag 2\)/],
    ['IMA ADPCM', withFormat(formatBody({ tag: 0x11, bits: 4 })), /IMA ADPCM/],
    [
      '16-bit floats',
      withFormat(formatBody({ tag: 3, bits: 16 })),
      /16 bits per sample; format tag 3 is read with 32, 64;/,
    ],
    ['an unknown coding', withFormat(formatBody({ tag: 0x1234 })), /unknown samples \(format tag 4660\)/],
    ['12 bits', withFormat(formatBody({ bits: 12 })), /12 bits per sample; format tag 1 is read with 8, 16, 24, 32;/],
    ['16-bit µ-law', withFormat(formatBody({ tag: 7, bits: 16 })), /16 bits per sample; format tag 7 is read with 8;/],
    [
      'a wrong block align',
      withFormat(formatBody({ blockAlign: 4, byteRate: 16000 })),
      /block align is 4 and should be 2; ffmpeg -i FILE /,
    ],
    ['a wrong byte rate', withFormat(formatBody({ byteRate: 8000 })), /byte rate is 8000 and should be 16000; ffmpeg /],
    ['another sub-format', withFormat(extensibleBody({ guidTail: 0 })), /sub-format that is not a format tag/],
    ['an extensible form cut short', withFormat(extensibleBody({}).subarray(0, 24)), /too short/],
    ['too many valid bits', withFormat(extensibleBody({ validBits: 24 })), /more valid bits/],
    [
      'data that is not whole frames',
      riffOf([fmt, chunkOf('data', samples.subarray(0, 5))]),
      /5 bytes of data are not whole frames of 2 bytes; ffmpeg -i FILE /,
    ],
    ['short 64-bit lengths', riffOf([chunkOf('ds64', new Uint8Array(8))]), /"ds64" chunk .* is too short/],
    ['no samples', riffOf([fmt, chunkOf('data', new Uint8Array(0))]), /holds no samples/],
    [
      'no samples but chunks after them',
      riffOf([fmt, chunkOf('data', new Uint8Array(0)), junk]),
      /says that it holds no samples; if that is wrong, ffmpeg -i FILE /,
    ],
    [
      'a streamed length and no samples',
      riffOf([fmt, chunkOf('data', new Uint8Array(0), 0xffffffff)], 0xffffffff),
      /holds no samples/,
    ],
  ])('rejects %s by name and releases the source', async (_title, bytes, message) => {
    for (const sizes of [[Infinity], [1]]) {
      const source = slicedSource(bytes, sizes)
      await expect(readWav(source)).rejects.toThrowError(invalidWav(message))
      const endedByItself = source.taken() === bytes.length
      expect(source.returned()).toBeLessThanOrEqual(1)
      if (!endedByItself) expect(source.returned()).toBe(1)
    }
  })

  it('searches for the samples only within a limit, whatever the chunks before them claim', async () => {
    const half = chunkOf('JUNK', new Uint8Array(maxWavHeaderBytes / 2))
    const source = slicedSource(riffOf([half, half, fmt, chunkOf('data', samples)]), [4096])
    await expect(readWav(source)).rejects.toThrowError(invalidWav(/"JUNK" chunk .* must begin within 1048576 bytes/))
    expect(source.taken()).toBeLessThan(maxWavHeaderBytes)
    expect(source.returned()).toBe(1)
  })

  it('rejects junk with no other error than its own', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 80 }), fc.nat(plain.length), async (noise, from) => {
        const bytes = joined(plain.subarray(0, from), noise)
        const outcome = await readWav(slicedSource(bytes, [7])).then(
          async ({ audio }) => (await drained(audio)).error,
          (error: unknown) => error,
        )
        if (outcome !== undefined) expect(outcome).toMatchObject({ code: 'invalid-wav' })
      }),
      { numRuns: runs(500) },
    )
  })

  const webStream = () => ReadableStream.from([plain.subarray(0, 30), plain.subarray(30)])
  it.each([
    ['a Web stream', webStream],
    ['a Web stream that is not async iterable', () => ({ getReader: () => webStream().getReader() })],
    ['a Blob', () => new Blob([Uint8Array.from(plain)])],
    ['an array of chunks', () => [plain.subarray(0, 5), plain.subarray(5)]],
    ['a generator', () => [plain].values()],
  ] as const)('reads %s', async (_kind, make) => {
    const { format, audio } = await readWav(make())
    expect([format.sampleRateHz, (await drained(audio)).bytes]).toEqual([8000, samples])
  })

  it('cancels a Web stream that is not async iterable, and leaves a generator, when the iteration is left early', async () => {
    let left = 0
    const stream = new ReadableStream<Uint8Array>({ start: (to) => to.enqueue(plain), cancel: () => void (left += 1) })
    const generator = (function* () {
      try {
        yield plain
        yield plain
      } finally {
        left += 1
      }
    })()
    for (const source of [{ getReader: () => stream.getReader() }, generator]) {
      for await (const _piece of (await readWav(source)).audio) break
    }
    expect(left).toBe(2)
  })

  it.each([undefined, null, 'call.wav', {}, 5, new Uint8Array(3)])('rejects %s, which is no stream', async (source) => {
    await expect(readWav(source as AsyncIterable<Uint8Array>)).rejects.toMatchObject({
      code: 'invalid-options',
      message: expect.stringContaining('createReadStream') as string,
    })
  })

  it('rejects a source of text', async () => {
    async function* source(): AsyncGenerator<Uint8Array> {
      yield 'RIFF' as unknown as Uint8Array
    }
    await expect(readWav(source())).rejects.toThrowError(invalidWav(/gives string instead of bytes/))
  })
})

describe('readWav, on a file that ends early', () => {
  const stereo = riffOf([chunkOf('fmt ', formatBody({ channels: 2 })), chunkOf('data', samples)])

  it.each([[Infinity], [1]])('returns what is there and then reports how many bytes are missing', async (size) => {
    const { audio } = await readWav(slicedSource(stereo.subarray(0, stereo.length - 10), [size]))
    const { bytes, error } = await drained(audio)
    expect(bytes).toEqual(samples.subarray(0, 20))
    expect(error).toEqual(invalidWav(/10 of the 32 bytes of its data chunk are missing/))
  })

  it('reports when no samples are there', async () => {
    const { audio } = await readWav(slicedSource(stereo.subarray(0, 44)))
    const { bytes, error } = await drained(audio)
    expect(bytes).toHaveLength(0)
    expect(error).toEqual(invalidWav(/32 of the 32 bytes/))
  })

  it('reports when a streamed file ends within a frame', async () => {
    const streamed = joined(wavHeader({ encoding: 'pcm', sampleRateHz: 8000, channels: 2 }), samples.subarray(0, 7))
    const { audio } = await readWav(slicedSource(streamed))
    const { bytes, error } = await drained(audio)
    expect(bytes).toEqual(samples.subarray(0, 4))
    expect(error).toEqual(invalidWav(/within a frame: 3 of 4 bytes/))
  })
})

describe('readWav and its source', () => {
  it('pulls no further than the audio', async () => {
    const source = slicedSource(plain, [10])
    const { audio } = await readWav(source)
    const afterHeader = source.taken()
    expect(afterHeader).toBe(50)
    await audio[Symbol.asyncIterator]().next()
    await audio[Symbol.asyncIterator]().next()
    expect(source.taken()).toBe(60)
  })

  it('releases the source once when the iteration is left early', async () => {
    const source = slicedSource(plain, [46])
    const { audio } = await readWav(source)
    for await (const piece of audio) {
      expect(piece).toHaveLength(2)
      break
    }
    expect(source.returned()).toBe(1)
  })

  it('refuses a further loop once it was left, has ended or has failed, where an empty one would look like a file without speech', async () => {
    const left = (await readWav(slicedSource(plain, [46]))).audio
    for await (const _piece of left) break
    const ended = (await readWav(slicedSource(plain))).audio
    await drained(ended)
    const failed = (await readWav(slicedSource(plain.subarray(0, 60)))).audio
    await drained(failed)
    for (const audio of [left, ended, failed]) {
      const { bytes, error } = await drained(audio)
      expect([bytes.length, (error as SpeechError).code]).toEqual([0, 'already-started'])
    }
  })

  it('releases the source when the iteration is left before its first step', async () => {
    const source = slicedSource(plain, [10])
    const { audio } = await readWav(source)
    await audio[Symbol.asyncIterator]().return?.()
    expect(source.returned()).toBe(1)
  })

  it('does not release a source that ended', async () => {
    for (const bytes of [plain, plain.subarray(0, 60)]) {
      const source = slicedSource(bytes)
      await drained((await readWav(source)).audio)
      expect(source.returned()).toBe(0)
    }
  })

  it('passes errors of the source on unchanged', async () => {
    const failure = new Error('the disk is gone')
    async function* source(byteCount: number): AsyncGenerator<Uint8Array> {
      yield plain.subarray(0, byteCount)
      throw failure
    }
    await expect(readWav(source(20))).rejects.toBe(failure)
    const { bytes, error } = await drained((await readWav(source(50))).audio)
    expect(bytes).toEqual(samples.subarray(0, 6))
    expect(error).toBe(failure)
  })

  it('does not release a source that failed', async () => {
    let returned = 0
    const iterator: AsyncIterator<Uint8Array> = {
      next: () => Promise.reject(new Error('the disk is gone')),
      return: () => {
        returned++
        return Promise.resolve({ done: true, value: undefined })
      },
    }
    await expect(readWav({ [Symbol.asyncIterator]: () => iterator })).rejects.toThrowError('the disk is gone')
    expect(returned).toBe(0)
  })

  it('reports the refusal even if the source fails to close', async () => {
    const iterator: AsyncIterator<Uint8Array> = {
      next: () => Promise.resolve({ done: false, value: new Uint8Array(20) }),
      return: () => Promise.reject(new Error('cannot close')),
    }
    await expect(readWav({ [Symbol.asyncIterator]: () => iterator })).rejects.toThrowError(invalidWav(/not a RIFF/))
  })
})
