import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { decodeChannels } from '../../../../../src/audio/codec.js'
import { wavHeader } from '../../../../../src/audio/wav-header.js'
import { temporaryFolder } from '../../../../../test/temporary-folder.js'
import { openMerged } from '../../../src/cli/input/merge-inputs.js'

const folder = temporaryFolder()

/** A recording in which every sample has one value. */
const made = (
  name: string,
  value: number,
  samples: number,
  format: { rate?: number; channels?: 1 | 2 } = {},
): string => {
  const { rate = 8000, channels = 1 } = format
  const bytes = Buffer.from(new Int16Array(samples * channels).fill(value).buffer)
  const header = wavHeader({ encoding: 'pcm', sampleRateHz: rate, channels }, bytes.length)
  writeFileSync(join(folder, name), Buffer.concat([header, bytes]))
  return join(folder, name)
}

const merged = async (first: string, second: string) => {
  const { signal } = new AbortController()
  const input = await openMerged([first, second], undefined, { env: {}, stdin: process.stdin }, { signal })
  const channels: number[][] = [[], []]
  for await (const part of input.audio)
    for (const [at, samples] of decodeChannels(part, input.format).entries()) channels[at]?.push(...samples)
  await input.close()
  const { format, durationMs, isLive } = input
  return { format, durationMs, isLive, channels }
}

describe('two recordings that are one call', () => {
  it('are its channels, the shorter one with silence at its end', async () => {
    const { channels, ...facts } = await merged(made('a.wav', 7, 4000), made('b.wav', -9, 1700))
    expect(facts).toEqual({
      format: { encoding: 'pcm', sampleRateHz: 8000, channels: 2 },
      durationMs: 500,
      isLive: false,
    })
    expect(channels[0]).toEqual(Array.from({ length: 4000 }, () => 7))
    expect(channels[1]).toEqual(Array.from({ length: 4000 }, (_none, at) => (at < 1700 ? -9 : 0)))
  })

  it('may have different rates, and begin together', async () => {
    const { format, channels, durationMs } = await merged(
      made('a.wav', 1000, 4000),
      made('c.wav', 2000, 24_000, { rate: 48_000 }),
    )
    expect([format.sampleRateHz, durationMs]).toEqual([16_000, 500])
    expect(channels.map((samples) => Math.round(samples.length / 100))).toEqual([80, 80])
    expect(channels.map((samples) => Math.round((samples[4000] ?? 0) / 100))).toEqual([10, 20])
  })

  it('have one channel each', async () => {
    const stereo = made('stereo.wav', 1, 100, { channels: 2 })
    await expect(merged(made('a.wav', 1, 100), stereo)).rejects.toMatchObject({
      code: 'invalid-options',
      message: expect.stringMatching(
        /stereo\.wav has two channels; --merge takes two recordings of one channel/,
      ) as unknown,
    })
  })
})
