import { describe, expect, it } from 'vitest'
import { readRecording, type Recording } from '../src/session/read-recording.js'
import { chunkOf, formatBody, joined, riffOf } from '../../../test/audio/wav-bytes.js'

const samples = Uint8Array.from({ length: 32 }, (_, i) => i + 1)
const wav = (sampleRateHz: number, data: Uint8Array, claimedBytes?: number): Uint8Array =>
  riffOf([chunkOf('fmt ', formatBody({ sampleRateHz })), chunkOf('data', data, claimedBytes)])
const read = (bytes: Uint8Array, signal = new AbortController().signal) =>
  readRecording(new Blob([new Uint8Array(bytes)]), 8000, signal)

const lengthOf = async ({ tracks: [track] }: Recording): Promise<number | undefined> =>
  (await track?.read(0, 1000))?.length

describe('an audio file of the studio', () => {
  it('has all samples of a WAV file, and no fault', async () => {
    const recording = await read(joined(wav(8000, samples), wav(8000, samples)))
    expect(await lengthOf(recording)).toBe(32)
    expect(recording.fault).toBeUndefined()
  })

  it('is read no further when it is cancelled', async () => {
    const cancelled = new AbortController()
    const reading = read(wav(8000, samples), cancelled.signal)
    cancelled.abort(new Error('It was cancelled.'))
    await expect(reading).rejects.toThrow('It was cancelled.')
    await expect(read(new Uint8Array(4), cancelled.signal)).rejects.toThrow('It was cancelled.')
  })

  it.each([
    ['a length that is too small', wav(8000, samples, 6), 16, /^The WAV header is wrong: 26 bytes follow/],
    ['an end that is missing', wav(8000, samples).subarray(0, -10), 11, /^The WAV file ends early: 10 of the 32 bytes/],
    ['a file of another rate behind it', joined(wav(8000, samples), wav(16_000, samples)), 16, /has another file/],
  ])('has what can be read with %s, and names the fault', async (_title, bytes, count, fault) => {
    const recording = await read(bytes)
    expect(await lengthOf(recording)).toBe(count)
    expect(recording.fault).toMatch(fault)
  })
})
