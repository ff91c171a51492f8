import { describe, expect, it } from 'vitest'
import { speechCepstralMean } from '../../src/soundswallower/cepstral-mean.js'

const spectrum = (frames: readonly (readonly number[])[]) => ({
  data: Float32Array.from(frames.flat()),
  nfr: frames.length,
  nfeat: frames[0]?.length ?? 20,
})
const flat = (level: number): readonly number[] => Array.from({ length: 20 }, () => level)
const loud = Array.from({ length: 20 }, (_, at) => 10 + Math.cos((Math.PI * (at + 0.5)) / 20))

describe('speechCepstralMean', () => {
  it('is the lifted orthonormal cosine transform of the spectrum', () => {
    const mean = speechCepstralMean(spectrum([loud]))
    expect(mean).toHaveLength(13)
    expect(mean?.[0]).toBeCloseTo(10 * Math.sqrt(20), 4)
    expect(mean?.[1]).toBeCloseTo(Math.sqrt(10) * (1 + 11 * Math.sin(Math.PI / 22)), 4)
    for (const value of mean?.slice(2) ?? []) expect(value).toBeCloseTo(0, 4)
  })

  it('does not depend on the amount of silence around the speech', () => {
    const speech = Array.from({ length: 30 }, () => loud)
    const silence = (count: number) => Array.from({ length: count }, () => flat(2))
    const short = speechCepstralMean(spectrum([...silence(10), ...speech, ...silence(10)]))
    const long = speechCepstralMean(spectrum([...silence(60), ...speech, ...silence(80)]))
    expect(short?.[0]).toBeCloseTo(10 * Math.sqrt(20), 4)
    expect(long).toEqual(short)
  })

  it('uses every frame if all are alike, and is undefined without frames', () => {
    expect(speechCepstralMean(spectrum([flat(1), flat(1)]))?.[0]).toBeCloseTo(Math.sqrt(20), 4)
    expect(speechCepstralMean({ data: new Float32Array(0), nfr: 0, nfeat: 20 })).toBeUndefined()
  })
})
