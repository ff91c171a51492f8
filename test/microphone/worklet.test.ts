import { describe, expect, it, vi } from 'vitest'
import { first, runs } from '../thorough.js'
import { PieceMaker } from '../../src/microphone/worklet.js'

/** Sampling rates of audio contexts: of sound cards, of Bluetooth headsets, and one that divides nothing. */
const contextRates = first(5, [44_100, 48_000, 8000, 16_000, 44_056, 11_025, 22_050, 32_000, 88_200, 96_000, 192_000])
const outputRates = [8000, 16_000] as const
const cases = contextRates.flatMap((fromHz) => outputRates.map((toHz) => [fromHz, toHz] as const))

const amplitude = 0.9

/** The output for a tone, as samples from -1 to 1. */
const resampled = (fromHz: number, toHz: number, toneHz: number, seconds = 0.2): readonly number[] => {
  const output: number[] = []
  const maker = new PieceMaker(fromHz, toHz, 1, (piece) => output.push(...[...piece].map((sample) => sample / 32_768)))
  const block = new Float32Array(128)
  for (let at = 0; at < fromHz * seconds; at += block.length) {
    for (let i = 0; i < block.length; i += 1)
      block[i] = amplitude * Math.sin((2 * Math.PI * toneHz * (at + i)) / fromHz)
    maker.process([block], block.length)
  }
  return output
}

/** The level of a tone in the output, relative to the input, without the beginning and the end. */
const gainDb = (fromHz: number, toHz: number, toneHz: number): number => {
  const samples = resampled(fromHz, toHz, toneHz).slice(200, -200)
  const square = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length
  return 10 * Math.log10(square / (amplitude ** 2 / 2))
}

const spread = (fromHz: number, toHz: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => fromHz + ((toHz - fromHz) * (index + 0.5)) / count)

describe('the resampling of the microphone', () => {
  it.each(cases)('from %i to %i Hz passes speech with a ripple of at most 0.1 dB', (fromHz, toHz) => {
    const passHz = toHz === 8000 ? 3400 : Math.min(7000, 0.875 * (fromHz / 2))
    for (const toneHz of [100, 1000, 0.7 * passHz, passHz]) {
      expect([toneHz, Math.abs(gainDb(fromHz, toHz, toneHz))]).toEqual([toneHz, expect.closeTo(0, 1)])
    }
  })

  it.each(cases.filter(([fromHz, toHz]) => fromHz > toHz))(
    'from %i to %i Hz lowers aliases by at least 70 dB',
    (fromHz, toHz) => {
      for (const toneHz of spread(toHz / 2, fromHz / 2, 5)) {
        expect([toneHz, gainDb(fromHz, toHz, toneHz) < -70]).toEqual([toneHz, true])
      }
    },
  )

  it('from 8000 to 16000 Hz lowers the image of a tone by at least 60 dB', () => {
    // An image of 3 kHz would be at 5 kHz: what remains without the tone itself.
    const output = resampled(8000, 16_000, 3000).slice(200, -200)
    const tone = output.map((_, index) => amplitude * Math.sin((2 * Math.PI * 3000 * (index + 200)) / 16_000))
    const rest = output.map((sample, index) => sample - (tone[index] ?? 0))
    const square = rest.reduce((sum, sample) => sum + sample * sample, 0) / rest.length
    expect(10 * Math.log10(square / (amplitude ** 2 / 2))).toBeLessThan(-60)
  })

  it.each(cases)('from %i to %i Hz has no delay: a tone keeps its phase', (fromHz, toHz) => {
    const output = resampled(fromHz, toHz, 400)
    for (const index of [700, 901, 1302]) {
      const expected = amplitude * Math.sin((2 * Math.PI * 400 * index) / toHz)
      expect(output[index]).toBeCloseTo(expected, 2)
    }
  })

  it.each(first(1, cases.toReversed()))(
    'from %i to %i Hz gives exactly as many samples for millions of them',
    (fromHz, toHz) => {
      let frames = 0
      const maker = new PieceMaker(fromHz, toHz, 1, (piece) => (frames += piece.length))
      const block = new Float32Array(1280)
      const blocks = Math.floor(runs(4_000_000) / block.length)
      for (let n = 0; n < blocks; n += 1) maker.process([block], block.length)
      const missing = (blocks * block.length * toHz) / fromHz - frames
      // Less than 45 ms are in the filter and in a piece that is not full.
      expect(missing).toBeGreaterThanOrEqual(0)
      expect(missing).toBeLessThan(0.045 * toHz)
    },
  )

  it('clips samples beyond full scale, and makes silence of those that are no numbers', () => {
    const pieces: Int16Array[] = []
    const maker = new PieceMaker(16_000, 16_000, 1, (piece) => pieces.push(piece))
    const block = new Float32Array(320).fill(0).map((_, index) => [2, -2, 1, -1, 0.5, NaN][index] ?? 0)
    maker.process([block], 320)
    expect([...(pieces[0]?.slice(0, 7) ?? [])]).toEqual([32_767, -32_768, 32_767, -32_768, 16_384, 0, 0])
  })

  it('cuts pieces of 20 ms, and interleaves two channels', () => {
    const pieces: Int16Array[] = []
    const maker = new PieceMaker(48_000, 8000, 2, (piece) => pieces.push(piece))
    const [left, right] = [new Float32Array(128).fill(0.5), new Float32Array(128).fill(-0.25)]
    for (let n = 0; n < 75; n += 1) maker.process([left, right], 128)
    expect(pieces.map(({ length }) => length)).toEqual(Array.from({ length: 9 }, () => 320))
    expect([...(pieces[8]?.slice(0, 4) ?? [])]).toEqual([16_384, -8192, 16_384, -8192])
  })

  it('continues as silence while the source has no channels', () => {
    const pieces: Int16Array[] = []
    const maker = new PieceMaker(16_000, 16_000, 1, (piece) => pieces.push(piece))
    maker.process([new Float32Array(320).fill(0.5)], 320)
    maker.process([], 640)
    expect(pieces.map((piece) => piece[319])).toEqual([16_384, 0, 0])
  })
})

describe('the processor of the worklet', () => {
  it('posts pieces to the page until it gets a message, and keeps its output silent', async () => {
    const registered = new Map<string, new (options: object) => { readonly process: (...args: object[]) => boolean }>()
    const port = { onmessage: undefined as (() => void) | undefined, posted: [] as unknown[][] }
    vi.stubGlobal('sampleRate', 48_000)
    vi.stubGlobal(
      'AudioWorkletProcessor',
      class {
        readonly port = Object.assign(port, { postMessage: (...args: unknown[]) => port.posted.push(args) })
      },
    )
    vi.stubGlobal('registerProcessor', (name: string, processor: never) => registered.set(name, processor))
    vi.resetModules()
    await import('../../src/microphone/worklet.js')
    const Processor = registered.get('rxspeech-microphone')
    if (Processor === undefined) throw new Error('The processor has another name.')
    const processor = new Processor({ processorOptions: { sampleRateHz: 16_000, channels: 1 } })
    const output = new Float32Array(128)
    const run = (): boolean => processor.process([[new Float32Array(128).fill(0.5)]], [[output]])
    const results = Array.from({ length: 20 }, run)
    expect(results).toEqual(results.map(() => true))
    const [[buffer, transferred] = []] = port.posted
    expect(port.posted).toHaveLength(2)
    expect(buffer).toBeInstanceOf(ArrayBuffer)
    expect((buffer as ArrayBuffer).byteLength).toBe(640)
    expect(transferred).toEqual([buffer])
    expect(output.every((sample) => sample === 0)).toBe(true)
    port.onmessage?.()
    expect(run()).toBe(false)
    vi.unstubAllGlobals()
  })
})
