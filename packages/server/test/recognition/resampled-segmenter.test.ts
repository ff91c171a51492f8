import { describe, expect, it } from 'vitest'
import { createSegmenter } from '../../src/recognition/segmenter.js'
import type { SegmenterOutput } from '../../src/recognition/segment-machine.js'
import { defaultSegmenterParameters } from '../../src/recognition/segmenter-parameters.js'
import { collectRun } from './machine-run.js'
import { amplitude, noiseSource, sine, sound } from './sounds.js'

const rateHz = 16_000

/** A sound of many harmonics, modulated like syllables, to the very end: the detector treats it as speech. */
const babble = (): Int16Array => {
  const next = noiseSource()
  return sound(rateHz, 2.005, (time) => {
    const voice = Array.from({ length: 12 }, (_, index) => sine(140 * (index + 1), time)).reduce(
      (sum, part) => sum + part,
    )
    return amplitude(-60) * next() + (time < 0.5 ? 0 : amplitude(-30) * (1.2 + sine(4, time)) * voice)
  })
}

const run = async (toHz: number, chunk: number) => {
  const front = await createSegmenter({
    parameters: defaultSegmenterParameters,
    inputRateHz: rateHz,
    engineRateHz: toHz,
  })
  const outputs: SegmenterOutput[] = []
  const samples = babble()
  for (let from = 0; from < samples.length; from += chunk)
    outputs.push(...front.push(samples.subarray(from, from + chunk)))
  outputs.push(...front.finish())
  front.free()
  front.free()
  return collectRun([[0, outputs]])
}

describe('createSegmenter', () => {
  it("outputs segments at the engine's rate with the times of the input, up to the last sample", async () => {
    const same = await run(rateHz, 320)
    const [segment] = (await run(8000, 320)).segments
    expect(same.segments).toHaveLength(1)
    expect(segment?.endMs).toBe(2005)
    expect(Math.abs((segment?.startMs ?? 0) - (same.segments[0]?.startMs ?? 0))).toBeLessThanOrEqual(30)
    expect(segment?.samples).toHaveLength(8 * (2005 - (segment?.startMs ?? 0)))
  })

  it('outputs the same segments for every chunk size', async () => {
    const { segments } = await run(8000, 32_080)
    expect((await run(8000, 160)).segments).toEqual(segments)
    expect((await run(8000, 592)).segments).toEqual(segments)
  })

  it('rejects an input rate out of range', async () => {
    await expect(
      createSegmenter({ parameters: defaultSegmenterParameters, inputRateHz: 100, engineRateHz: 16_000 }),
    ).rejects.toMatchObject({ code: 'invalid-options' })
  })
})
