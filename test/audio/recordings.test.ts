import { createReadStream, existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readWav } from '../../src/audio/read-wav.js'
import { drained } from './wav-bytes.js'

const recordings = resolve('../shared/audio')
const absent = !existsSync(recordings)
const title = absent ? 'readWav on recordings (skipped: ../shared/audio is absent)' : 'readWav on recordings'

describe.skipIf(absent)(title, () => {
  it.each(['ten-of-clubs', 'four-queen-of-clubs', 'seven-of-clubs', 'librivox-0870', 'librivox-0880'])(
    'reads %s completely, at any slicing of the file',
    async (name) => {
      const file = resolve(recordings, `${name}.wav`)
      const expected = readFileSync(file).subarray(44)
      for (const highWaterMark of [1013, 65536]) {
        const { format, durationMs, audio } = await readWav(createReadStream(file, { highWaterMark }))
        const { pieces, error } = await drained(audio)
        expect(format).toEqual({ encoding: 'pcm', sampleRateHz: 16000, channels: 1 })
        expect(durationMs).toBe(expected.length / 32)
        expect(error).toBeUndefined()
        expect(Buffer.concat(pieces).equals(expected)).toBe(true)
      }
    },
  )

  it.each([
    ['bad-no-data', /"fmt " chunk .* claims 1717986918 bytes/],
    ['bad-rate', /says 1092676 Hz; only 8000 to 48000 Hz/],
  ])('rejects %s with a clear error and closes the file', async (name, message) => {
    const stream = createReadStream(resolve(recordings, `${name}.wav`))
    await expect(readWav(stream)).rejects.toThrowError(
      expect.objectContaining({ code: 'invalid-wav', message: expect.stringMatching(message) as string }),
    )
    expect(stream.destroyed).toBe(true)
  })
})
