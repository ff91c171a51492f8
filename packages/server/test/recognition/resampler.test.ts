import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createResampler, type ResamplerOptions } from '../../src/recognition/resampler.js'
import { runs } from '../../../../test/thorough.js'

const joined = (parts: readonly Int16Array[]): Int16Array => Int16Array.from(parts.flatMap((part) => [...part]))

const cutIn = (samples: Int16Array, sizes: readonly number[]): Int16Array[] => {
  const parts: Int16Array[] = []
  for (let at = 0, i = 0; at < samples.length; i++) {
    const size = sizes[i % sizes.length] ?? 1
    parts.push(samples.subarray(at, at + size))
    at += size
  }
  return parts
}

const resampled = async (options: ResamplerOptions, parts: readonly Int16Array[]): Promise<Int16Array> => {
  const resampler = await createResampler(options)
  try {
    return joined([...parts.map((part) => resampler.process(part).slice()), resampler.flush()])
  } finally {
    resampler.free()
  }
}

const tone = (frequencyHz: number, sampleRateHz: number, frames: number, amplitude = 10_000): Int16Array =>
  Int16Array.from({ length: frames }, (_, k) =>
    Math.round(amplitude * Math.sin((2 * Math.PI * frequencyHz * k) / sampleRateHz)),
  )

const rms = (samples: ArrayLike<number>): number =>
  Math.sqrt(Array.from(samples).reduce((sum, sample) => sum + sample * sample, 0) / samples.length)

const ratePairs = [
  [8000, 16000],
  [16000, 8000],
  [44100, 16000],
  [48000, 8000],
  [8000, 48000],
  [11025, 8000],
  [8001, 47999],
] as const

describe.each(ratePairs)('a resampler from %i to %i Hz', (fromHz, toHz) => {
  const frames = Math.round(fromHz / 2)

  it('puts sample k at the time k / toHz', async () => {
    const output = await resampled({ fromHz, toHz, channels: 1 }, [tone(440, fromHz, frames)])
    const ideal = tone(440, toHz, output.length)
    // At the ends the step from silence shows, which a tone of 440 Hz does not contain.
    const margin = Math.ceil(toHz / 100)
    const error = Array.from(output, (sample, k) => sample - (ideal[k] ?? NaN)).slice(margin, -margin)
    expect(rms(error)).toBeLessThan(rms(ideal) / 500)
  })

  it('returns the rounded length for any input', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(3000), async (length) => {
        const output = await resampled({ fromHz, toHz, channels: 1 }, [new Int16Array(length)])
        expect(output).toHaveLength(Math.round((length * toHz) / fromHz))
      }),
      { numRuns: runs(60) },
    )
  })

  it('returns the same samples for any slicing of the stream, including frames of two channels', async () => {
    const source = tone(700, fromHz, 2400)
    const whole = { 1: await resampled({ fromHz, toHz, channels: 1 }, [source]), 2: await resampled({ fromHz, toHz, channels: 2 }, [source]) } // prettier-ignore
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(1 as const, 2 as const),
        fc.array(fc.integer({ min: 1, max: 1100 }), { minLength: 1, maxLength: 6 }),
        async (channels, sizes) => {
          expect(await resampled({ fromHz, toHz, channels }, cutIn(source, sizes))).toEqual(whole[channels])
        },
      ),
      { numRuns: runs(20) },
    )
  })

  it('keeps two channels separate', async () => {
    const left = tone(440, fromHz, frames)
    const right = tone(950, fromHz, frames)
    const stereo = Int16Array.from({ length: 2 * frames }, (_, i) => (i % 2 === 0 ? left : right)[i >> 1] ?? NaN)
    const output = await resampled({ fromHz, toHz, channels: 2 }, [stereo])
    const alone = { left: [left], right: [right] }
    expect(output.filter((_, i) => i % 2 === 0)).toEqual(await resampled({ fromHz, toHz, channels: 1 }, alone.left))
    expect(output.filter((_, i) => i % 2 === 1)).toEqual(await resampled({ fromHz, toHz, channels: 1 }, alone.right))
  })
})

describe('a resampler', () => {
  it('removes the frequencies that the lower rate cannot represent', async () => {
    const output = await resampled({ fromHz: 16000, toHz: 8000, channels: 1 }, [tone(6000, 16000, 16000)])
    expect(rms(output.subarray(100, -100))).toBeLessThan(1)
  })

  it('clips instead of wrapping around', async () => {
    const square = Int16Array.from({ length: 800 }, (_, k) => (k % 40 < 20 ? 32767 : -32768))
    const output = await resampled({ fromHz: 8000, toHz: 16000, channels: 1 }, [square])
    expect(output.slice(2, 38).every((sample) => sample > 20_000)).toBe(true)
  })

  it('keeps concurrent streams separate', async () => {
    const options = { fromHz: 8000, toHz: 16000, channels: 1 } as const
    const inputs = [tone(300, 8000, 1600), tone(1200, 8000, 1600)]
    const alone = await Promise.all(inputs.map((input) => resampled(options, [input])))
    const resamplers = await Promise.all(inputs.map(() => createResampler(options)))
    const outputs: Int16Array[][] = [[], []]
    for (let at = 0; at < 1600; at += 160) {
      resamplers.forEach((resampler, i) =>
        outputs[i]?.push(resampler.process(inputs[i]?.subarray(at, at + 160) ?? tone(0, 1, 0))),
      )
    }
    resamplers.forEach((resampler, i) => outputs[i]?.push(resampler.flush()))
    expect(outputs.map(joined)).toEqual(alone)
    resamplers.forEach(({ free }) => free())
  })

  it('passes samples through unchanged when the rates are equal', async () => {
    const resampler = await createResampler({ fromHz: 8000, toHz: 8000, channels: 2 })
    const samples = Int16Array.of(1, 2, 3, 4)
    expect(resampler.process(samples)).toBe(samples)
    expect(resampler.flush()).toHaveLength(0)
    resampler.free()
  })

  it('returns nothing for an empty input', async () => {
    expect(await resampled({ fromHz: 8000, toHz: 16000, channels: 2 }, [])).toHaveLength(0)
    expect(await resampled({ fromHz: 8000, toHz: 16000, channels: 1 }, [new Int16Array(0)])).toHaveLength(0)
  })

  it('reports when the stream ends within a frame', async () => {
    const resampler = await createResampler({ fromHz: 8000, toHz: 16000, channels: 2 })
    resampler.process(Int16Array.of(1, 2, 3))
    expect(() => resampler.flush()).toThrowError(expect.objectContaining({ code: 'cut-sample' }))
    resampler.free()
  })

  it('rejects input after the flush and after it was freed', async () => {
    const resampler = await createResampler({ fromHz: 8000, toHz: 16000, channels: 1 })
    const refused = (reason: RegExp): Error =>
      expect.objectContaining({ code: 'invalid-options', message: expect.stringMatching(reason) as string }) as Error
    resampler.process(new Int16Array(100))
    expect(resampler.flush().length).toBeGreaterThan(0)
    expect(resampler.flush()).toHaveLength(0)
    expect(() => resampler.process(new Int16Array(1))).toThrowError(refused(/flushed/))
    resampler.free()
    resampler.free()
    expect(() => resampler.process(new Int16Array(1))).toThrowError(refused(/freed/))
    expect(() => resampler.flush()).toThrowError(refused(/freed/))
  })

  it.each([
    [{ fromHz: 7999, toHz: 8000, channels: 1 }, /^fromHz/],
    [{ fromHz: 8000, toHz: 48001, channels: 1 }, /^toHz/],
    [{ fromHz: 8000.5, toHz: 16000, channels: 1 }, /^fromHz/],
    [{ fromHz: NaN, toHz: 16000, channels: 1 }, /^fromHz/],
    [{ fromHz: 8000, toHz: 8000, channels: 3 }, /^channels/],
  ])('is rejected for %j', async (options, message) => {
    await expect(createResampler(options as ResamplerOptions)).rejects.toThrowError(
      expect.objectContaining({ code: 'invalid-options', message: expect.stringMatching(message) as string }),
    )
  })
})
