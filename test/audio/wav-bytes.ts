/** Builds valid and invalid WAV files, and sources with any slicing. */
import { expect } from 'vitest'
import { readWav } from '../../src/audio/read-wav.js'

const ascii = (text: string): Uint8Array => Uint8Array.from(text, (letter) => letter.charCodeAt(0))

export const joined = (...parts: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts))

const uint = (value: number, byteCount: number): Uint8Array =>
  Uint8Array.from({ length: byteCount }, (_, i) => Math.floor(value / 256 ** i) % 256)

/** A chunk with its padding byte; `claimedBytes` sets a wrong length. */
export const chunkOf = (name: string, body: Uint8Array, claimedBytes = body.length): Uint8Array =>
  joined(ascii(name), uint(claimedBytes, 4), body, new Uint8Array(body.length % 2))

export interface FormatFields {
  readonly tag?: number
  readonly channels?: number
  readonly sampleRateHz?: number
  readonly byteRate?: number
  readonly blockAlign?: number
  readonly bits?: number
}

/** The body of a "fmt " chunk with consistent numbers unless `change` sets others. 16 bytes. */
export const formatBody = (fields: FormatFields = {}): Uint8Array => {
  const { tag = 1, channels = 1, sampleRateHz = 8000, bits = 16 } = fields
  const blockAlign = fields.blockAlign ?? (channels * bits) / 8
  const byteRate = fields.byteRate ?? sampleRateHz * blockAlign
  return joined(
    uint(tag, 2),
    uint(channels, 2),
    uint(sampleRateHz, 4),
    uint(byteRate, 4),
    uint(blockAlign, 2),
    uint(bits, 2),
  )
}

/** The body of a WAVE_FORMAT_EXTENSIBLE "fmt " chunk. 40 bytes. */
export const extensibleBody = (
  fields: FormatFields & { readonly validBits?: number; readonly guidTail?: number },
): Uint8Array =>
  joined(
    formatBody({ ...fields, tag: 0xfffe }),
    uint(22, 2),
    uint(fields.validBits ?? fields.bits ?? 16, 2),
    uint(0, 4),
    uint(fields.tag ?? 1, 2),
    Uint8Array.of(0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, fields.guidTail ?? 0x71),
  )

export const riffOf = (chunks: readonly Uint8Array[], claimedBytes?: number): Uint8Array => {
  const body = joined(ascii('WAVE'), ...chunks)
  return joined(ascii('RIFF'), uint(claimedBytes ?? body.length, 4), body)
}

export const fmt = chunkOf('fmt ', formatBody())

/** A chunk that is no audio; its length is odd, so it is padded. */
export const junk = chunkOf('LIST', Uint8Array.of(100, 97, 116))

export const dataOf = (body: Uint8Array, claimedBytes?: number): Uint8Array => chunkOf('data', body, claimedBytes)

/** A file with a format and its samples. */
export const wavIn = (format: Uint8Array, body: Uint8Array = samples): Uint8Array =>
  riffOf([chunkOf('fmt ', format), dataOf(body)])

/** A file of 16-bit PCM with these chunks after its format. */
export const wavOf = (...chunks: readonly Uint8Array[]): Uint8Array => riffOf([fmt, ...chunks])

export const samples = Uint8Array.from({ length: 32 }, (_, i) => i + 1)
export const plain = wavOf(dataOf(samples))

export const invalidWav = (message: RegExp): Error =>
  expect.objectContaining({ code: 'invalid-wav', message: expect.stringMatching(message) as string }) as Error

/** The slices of a source: all at once, single bytes, and some without bytes. */
export const slicings = [[Infinity], [1], [3, 0, 7]] as const

/** What `readWav` reads of a file. */
export const read = async (bytes: Uint8Array, sizes?: readonly number[]) =>
  drained((await readWav(slicedSource(bytes, sizes))).audio)

export interface RecordedSource extends AsyncIterable<Uint8Array> {
  readonly taken: () => number
  readonly returned: () => number
}

/**
 * A source that emits `bytes` in slices of the given sizes, cyclically (0 is an empty slice), and records how it is
 * used.
 */
export const slicedSource = (bytes: Uint8Array, sizes: readonly number[] = [Infinity]): RecordedSource => {
  let at = 0
  let steps = 0
  let returned = 0
  const iterator: AsyncIterator<Uint8Array, undefined> = {
    next: () => {
      if (at >= bytes.length) return Promise.resolve({ done: true, value: undefined })
      const from = at
      at = Math.min(bytes.length, at + (sizes[steps++ % sizes.length] ?? 1))
      return Promise.resolve({ done: false, value: bytes.slice(from, at) })
    },
    return: () => {
      returned++
      return Promise.resolve({ done: true, value: undefined })
    },
  }
  return { [Symbol.asyncIterator]: () => iterator, taken: () => at, returned: () => returned }
}

/** All slices, and the error that ended them if there was one. */
export const drained = async (
  audio: AsyncIterable<Uint8Array>,
): Promise<{ readonly pieces: readonly Uint8Array[]; readonly bytes: Uint8Array; readonly error: unknown }> => {
  const pieces: Uint8Array[] = []
  let error: unknown
  try {
    for await (const piece of audio) pieces.push(piece)
  } catch (thrown) {
    error = thrown
  }
  return { pieces, bytes: joined(...pieces), error }
}
