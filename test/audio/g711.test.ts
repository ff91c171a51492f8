import { describe, expect, it } from 'vitest'
import { decodeALaw, decodeMuLaw, encodeALaw, encodeMuLaw } from '../../src/audio/g711.js'

/**
 * The tables of ITU-T G.711 as the standard gives them: decision values x1, x2 … x128 of positive inputs, in the units
 * of the law (4096 = full scale of A-law, 8159 of µ-law), and output values half way between two of them.
 */
interface Law {
  readonly name: string
  readonly decode: (bytes: Uint8Array) => Int16Array
  readonly encode: (samples: Int16Array) => Uint8Array
  /** 16-bit steps per unit of the law. */
  readonly samplesPerUnit: number
  /** The lower bound of interval n (0 to 127), and at 128 the virtual end. */
  readonly decisions: readonly number[]
  /** The character signal of interval n, with the inversions of the standard. */
  readonly codeOf: (positive: boolean, interval: number) => number
}

const decisionValues = (first: number, steps: readonly (readonly [count: number, step: number])[]): number[] => {
  const values = [first]
  for (const [count, step] of steps) {
    for (let i = 0; i < count; i++) values.push((values.at(-1) ?? 0) + step)
  }
  return values
}

const laws: readonly Law[] = [
  {
    name: 'A-law',
    decode: decodeALaw,
    encode: encodeALaw,
    samplesPerUnit: 8,
    decisions: decisionValues(0, [[32, 2], [16, 4], [16, 8], [16, 16], [16, 32], [16, 64], [16, 128]]), // prettier-ignore
    codeOf: (positive, interval) => (interval + (positive ? 128 : 0)) ^ 0b01010101,
  },
  {
    name: 'µ-law',
    decode: decodeMuLaw,
    encode: encodeMuLaw,
    samplesPerUnit: 4,
    decisions: decisionValues(0, [[1, 1], [15, 2], [16, 4], [16, 8], [16, 16], [16, 32], [16, 64], [16, 128], [16, 256]]), // prettier-ignore
    codeOf: (positive, interval) => 255 - (interval + (positive ? 0 : 128)),
  },
]

const outputValue = ({ decisions }: Law, interval: number): number =>
  interval === 0 && decisions[1] === 1 ? 0 : ((decisions[interval] ?? NaN) + (decisions[interval + 1] ?? NaN)) / 2

describe.each(laws)('$name', (law) => {
  it('has the 128 decision values of the standard', () => {
    expect(law.decisions).toHaveLength(129)
    expect(law.decisions[128]).toBe(law.name === 'A-law' ? 4096 : 8159)
  })

  it('codes each sample by itself, whatever the number of samples and their place in memory', () => {
    const samples = Int16Array.from({ length: 40 }, (_, i) => (i - 20) * 1601)
    const codes = law.encode(samples)
    for (let count = 0; count <= 12; count++) {
      for (let from = 0; from < 5; from++) {
        const end = from + count
        const expected = [...codes].slice(from, end)
        expect([...law.encode(samples.subarray(from, end))]).toEqual(expected)
        const decoded = expected.map((code) => law.decode(Uint8Array.of(code))[0])
        expect([...law.decode(codes.subarray(from, end))]).toEqual(decoded)
      }
    }
  })

  it('decodes each of the 256 codes to the output value of its interval', () => {
    for (let interval = 0; interval < 128; interval++) {
      for (const positive of [true, false]) {
        const magnitude = outputValue(law, interval) * law.samplesPerUnit
        const expected = positive || magnitude === 0 ? magnitude : -magnitude
        expect([...law.decode(Uint8Array.of(law.codeOf(positive, interval)))]).toEqual([expected])
      }
    }
  })

  it('encodes each of the 65,536 samples to the interval that contains it', () => {
    // All decision values, low to high; a sample on one of them belongs to the interval above it.
    const intervals = Array.from({ length: 128 }, (_, n) => ({
      n,
      from: (law.decisions[n] ?? NaN) * law.samplesPerUnit,
    }))
    const ends = intervals.map(({ n }) => ({ n, from: -(law.decisions[n + 1] ?? NaN) * law.samplesPerUnit })).reverse()
    const line = [
      ...ends.map(({ n, from }) => ({ code: law.codeOf(false, n), from })),
      ...intervals.map(({ n, from }) => ({ code: law.codeOf(true, n), from })),
    ]
    const samples = Int16Array.from({ length: 65536 }, (_, i) => i - 32768)
    const codes = law.encode(samples)
    let at = 0
    const wrong: string[] = []
    samples.forEach((sample, i) => {
      while (sample >= (line[at + 1]?.from ?? Infinity)) at++
      if (codes[i] !== line[at]?.code) wrong.push(`${sample}: ${codes[i]} instead of ${line[at]?.code}`)
    })
    expect(at).toBe(255)
    expect(wrong.slice(0, 5)).toEqual([])
  })

  it('encodes what it decoded to the same code, except for negative zero', () => {
    const codes = Uint8Array.from({ length: 256 }, (_, code) => code)
    const again = law.encode(law.decode(codes))
    const changed = [...codes].filter((code) => again[code] !== code)
    expect(changed).toEqual(law.name === 'µ-law' ? [0x7f] : [])
    if (law.name === 'µ-law') expect(again[0x7f]).toBe(0xff)
  })

  it('keeps the order of samples', () => {
    const decoded = law.decode(law.encode(Int16Array.from({ length: 65536 }, (_, i) => i - 32768)))
    expect(decoded.every((sample, i) => i === 0 || sample >= (decoded[i - 1] ?? NaN))).toBe(true)
  })

  it('accepts views at odd offsets and an empty view', () => {
    const bytes = Uint8Array.of(9, 1, 2, 3)
    expect(law.decode(bytes.subarray(1))).toEqual(law.decode(Uint8Array.of(1, 2, 3)))
    expect(law.decode(new Uint8Array(0))).toHaveLength(0)
    expect(law.encode(new Int16Array(0))).toHaveLength(0)
  })
})

it('gives the well-known codes of silence and of full scale', () => {
  expect([...encodeMuLaw(Int16Array.of(0, -1, 32767, -32768))]).toEqual([0xff, 0x7f, 0x80, 0x00])
  expect([...encodeALaw(Int16Array.of(0, -1, 32767, -32768))]).toEqual([0xd5, 0x55, 0xaa, 0x2a])
  expect([...decodeMuLaw(Uint8Array.of(0xff, 0x7f, 0x80, 0x00))]).toEqual([0, 0, 32124, -32124])
  expect([...decodeALaw(Uint8Array.of(0xd5, 0x55, 0xaa, 0x2a))]).toEqual([8, -8, 32256, -32256])
})
