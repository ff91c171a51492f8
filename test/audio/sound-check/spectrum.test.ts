import { describe, expect, it } from 'vitest'
import { SpectrumPair } from '../../../src/audio/sound-check/spectrum.js'

/** The power of one bin of a Hann window, by the definition of the transform. */
const powerOf = (samples: Int16Array, size: number, bin: number): number => {
  let [real, imaginary] = [0, 0]
  for (let i = 0; i < size; i++) {
    const weighted = ((samples[i] ?? 0) * Math.sin((Math.PI * (i + 0.5)) / size) ** 2) / size
    real += weighted * Math.cos((2 * Math.PI * bin * i) / size)
    imaginary -= weighted * Math.sin((2 * Math.PI * bin * i) / size)
  }
  // Of each window and of its mirror image.
  return 4 * (real * real + imaginary * imaginary)
}

describe('the spectra of two windows', () => {
  it.each([256, 512, 1024])('of %i samples are those of the definition', (size) => {
    const samples = Int16Array.from({ length: 2 * size }, (_none, i) => 9000 * Math.sin(i * i) + (i % 7) * 300)
    const pair = new SpectrumPair(size)
    pair.transform(samples, 3, size - 5)
    for (let bin = 1; bin < size / 2; bin++) {
      expect(pair.power('first', bin, bin + 1)).toBeCloseTo(powerOf(samples.subarray(3), size, bin), 3)
      expect(pair.power('second', bin, bin + 1)).toBeCloseTo(powerOf(samples.subarray(size - 5), size, bin), 3)
    }
  })
})
