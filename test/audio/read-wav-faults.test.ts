import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { maxWavHeaderBytes, readWav } from '../../src/audio/read-wav.js'
import { wavHeader } from '../../src/audio/wav-header.js'
import { runs } from '../thorough.js'
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

describe('readWav, on a file whose header is wrong', () => {
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
      const bytes = riffOf([chunkOf('fmt ', body), dataOf(data, claimed).subarray(0, 8 + data.length)])
      const whole = await read(wavIn(body, data))
      const message = `^The WAV header is wrong: ${data.length - claimed} bytes follow .* -ignore_length 1 -i FILE`
      for (const sizes of slicings) {
        const { bytes: found, error } = await read(bytes, sizes)
        expect([...found]).toEqual([...whole.bytes])
        expect(error).toEqual(invalidWav(new RegExp(message)))
      }
    },
  )

  it('reads a file behind a data length that is too small, and reports the length at the end', async () => {
    const short = wavOf(dataOf(samples, 6))
    for (const sizes of slicings) {
      const { bytes, error } = await read(joined(short, plain), sizes)
      expect([...bytes]).toEqual([...samples, ...samples])
      expect(error).toEqual(invalidWav(/^The WAV header is wrong: 26 bytes follow/))
    }
  })

  it('reports a file of another format behind the first', async () => {
    const { bytes, error } = await read(joined(plain, wavIn(formatBody({ channels: 2, sampleRateHz: 16_000 }))), [9])
    expect(bytes).toEqual(samples)
    expect(error).toEqual(
      invalidWav(/another file, of pcm at 16000 Hz with 2 channels; pass the two as files of their own/),
    )
  })
})

describe('readWav, on an invalid file', () => {
  const none = new Uint8Array(0)
  const beginning = (text: string): Uint8Array => joined(Buffer.from(text, 'latin1'), new Uint8Array(20))

  it.each<[string, Uint8Array, RegExp]>([
    ['an empty file', none, /not a RIFF\/WAVE file/],
    [
      'another kind of file',
      Buffer.from('some other bytes'),
      /^This is not a RIFF\/WAVE file; if it is audio, ffmpeg -i FILE .* converts it\.$/,
    ],
    ...[
      ['MP3', '\xff\xfb\x90d'],
      ['MP3', 'ID3\x04'],
      ['AAC', '\xff\xf1P'],
      ['MPEG-4 (m4a, mp4)', '\0\0\0\x1cftyp'],
      ['WebM or Matroska', '\x1aE\xdf\xa3'],
      ['Ogg', 'OggS'],
      ['FLAC', 'fLaC'],
      ['AU', '.snd'],
      ['CAF', 'caff\0\x01'],
      ['Wave64', 'riff.\x91'],
      ['Windows Media', '0&\xb2u'],
    ].map(([name = '', begin = '']): [string, Uint8Array, RegExp] => [
      `${name} (${begin.length} bytes)`,
      beginning(begin),
      new RegExp(`^This is ${name.replace(/[()]/g, '\\$&')}, not a RIFF/WAVE file; ffmpeg `),
    ]),
    ['RIFF that is no WAVE', joined(plain.subarray(0, 8), Buffer.from('AVI ')), /not a RIFF\/WAVE file/],
    ['big-endian RIFX', joined(Buffer.from('RIFX'), plain.subarray(4)), /RIFX, .*; sox FILE -r 16000 /],
    ...[
      ['gzip', '\x1f\x8b\x08'],
      ['ZIP', 'PK\x03\x04'],
      ['bzip2', 'BZh9'],
      ['xz', '\xfd7zXZ\0'],
      ['Zstandard', '(\xb5/\xfd'],
      ['7-Zip', "7z\xbc\xaf'\x1c"],
    ].map(([name = '', begin = '']): [string, Uint8Array, RegExp] => [
      `a ${name} file`,
      beginning(begin),
      new RegExp(`^The file is packed by ${name}; unpack it, and pass the recording in it\\.$`),
    ]),
    [
      'an end within the first name',
      plain.subarray(0, 9),
      /^The WAV file ends within its header; copy or record it again\.$/,
    ],
    ['an end within the format chunk', plain.subarray(0, 30), /ends within its header/],
    ['no data chunk', wavOf(junk), /ends before its data chunk/],
    ['an end within a chunk before the data', wavOf(chunkOf('LIST', samples, 500)), /ends before its data chunk/],
    ['data before the format', riffOf([dataOf(samples), fmt]), /samples before their format/],
    ['two formats', wavOf(fmt, dataOf(samples)), /two "fmt " chunks/],
    ['a short format', wavIn(formatBody().subarray(0, 14)), /has 14 bytes; it needs at least 16/],
    [
      'a chunk that claims to be huge',
      riffOf([chunkOf('b\ng ', samples, 0x66666666)]),
      /"b\.g " chunk .* claims 1717986918 bytes; .* ffmpeg -i FILE /,
    ],
    ['no channels', wavIn(formatBody({ channels: 0, blockAlign: 2 })), /0 channels/],
    ['three channels', wavIn(formatBody({ channels: 3 })), /3 channels/],
    ['a rate too low', wavIn(formatBody({ sampleRateHz: 7999 })), /7999 Hz; only 8000 to 48000 Hz/],
    ['a rate too high', wavIn(formatBody({ sampleRateHz: 96000 })), /96000 Hz/],
    ['ADPCM', wavIn(formatBody({ tag: 2, bits: 4 })), /Microsoft ADPCM samples \(format tag 2\)/],
    ['IMA ADPCM', wavIn(formatBody({ tag: 0x11, bits: 4 })), /IMA ADPCM/],
    ['16-bit floats', wavIn(formatBody({ tag: 3, bits: 16 })), /16 bits per sample; format tag 3 is read with 32, 64;/],
    ['an unknown coding', wavIn(formatBody({ tag: 0x1234 })), /unknown samples \(format tag 4660\)/],
    ['12 bits', wavIn(formatBody({ bits: 12 })), /12 bits per sample; format tag 1 is read with 8, 16, 24, 32;/],
    ['16-bit µ-law', wavIn(formatBody({ tag: 7, bits: 16 })), /16 bits per sample; format tag 7 is read with 8;/],
    [
      'a wrong block align',
      wavIn(formatBody({ blockAlign: 4, byteRate: 16000 })),
      /block align is 4 and should be 2; ffmpeg -i FILE /,
    ],
    ['a wrong byte rate', wavIn(formatBody({ byteRate: 8000 })), /byte rate is 8000 and should be 16000; ffmpeg /],
    ['another sub-format', wavIn(extensibleBody({ guidTail: 0 })), /sub-format that is not a format tag/],
    ['an extensible form cut short', wavIn(extensibleBody({}).subarray(0, 24)), /too short/],
    ['too many valid bits', wavIn(extensibleBody({ validBits: 24 })), /more valid bits/],
    [
      'data that is not whole frames',
      wavOf(dataOf(samples.subarray(0, 5))),
      /5 bytes of data are not whole frames of 2 bytes; ffmpeg -i FILE /,
    ],
    ['short 64-bit lengths', riffOf([chunkOf('ds64', new Uint8Array(8))]), /"ds64" chunk .* is too short/],
    ['no samples', wavOf(dataOf(none)), /holds no samples/],
    [
      'no samples but chunks after them',
      wavOf(dataOf(none), junk),
      /says that it holds no samples; if that is wrong, ffmpeg -i FILE /,
    ],
    ['a streamed length and no samples', riffOf([fmt, dataOf(none, 0xffffffff)], 0xffffffff), /holds no samples/],
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
    const source = slicedSource(riffOf([half, half, fmt, dataOf(samples)]), [4096])
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
})

describe('readWav, on a file that ends early', () => {
  const stereo = wavIn(formatBody({ channels: 2 }))
  const streamed = wavHeader({ encoding: 'pcm', sampleRateHz: 8000, channels: 2 })

  it.each<[string, Uint8Array, number, RegExp]>([
    ['within its samples', stereo.subarray(0, -10), 20, /10 of the 32 bytes of its data chunk are missing/],
    ['before its samples', stereo.subarray(0, 44), 0, /32 of the 32 bytes/],
    ['within a frame of a stream', joined(streamed, samples.subarray(0, 7)), 4, /within a frame: 3 of 4 bytes/],
  ])('returns what is there and then reports what is missing: %s', async (_title, bytes, count, message) => {
    for (const sizes of slicings) {
      const { bytes: found, error } = await read(bytes, sizes)
      expect(found).toEqual(samples.subarray(0, count))
      expect(error).toEqual(invalidWav(message))
    }
  })
})
