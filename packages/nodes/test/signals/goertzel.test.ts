import { describe, expect, it } from 'vitest'
import { Goertzel } from '../../src/signals/dtmf-frames.js'

const transform = (samples: Int16Array, frequencyHz: number, sampleRateHz: number) => {
  let real = 0
  let imaginary = 0
  samples.forEach((sample, index) => {
    const angle = (2 * Math.PI * frequencyHz * index) / sampleRateHz
    real += sample * Math.cos(angle)
    imaginary -= sample * Math.sin(angle)
  })
  return { real, imaginary }
}

describe('Goertzel', () => {
  it('gives the Fourier sum, amplitude and phase, at frequencies between the bins too', () => {
    const samples = Int16Array.from({ length: 97 }, (_none, index) => ((index * 7919) % 20_011) - 10_000)
    for (const frequencyHz of [697, 941, 1209, 1633, 1000.5]) {
      const expected = transform(samples.subarray(5, 85), frequencyHz, 8000)
      const { real, imaginary } = new Goertzel(frequencyHz, 8000, 80).sum(samples, 5)
      expect(real).toBeCloseTo(expected.real, 3)
      expect(imaginary).toBeCloseTo(expected.imaginary, 3)
    }
  })

  it('gives half the sample count for a sine of amplitude one', () => {
    const samples = Int16Array.from({ length: 800 }, (_none, index) =>
      Math.round(1e4 * Math.sin((Math.PI * index) / 4)),
    )
    const { real, imaginary } = new Goertzel(1000, 8000, 800).sum(samples, 0)
    expect(Math.hypot(real, imaginary) / 1e4).toBeCloseTo(400, 1)
  })
})
