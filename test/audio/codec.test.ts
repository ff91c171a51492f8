import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeSamples, encodeSamples } from '../../src/audio/codec.js'
import { encodings } from '../../src/audio/format.js'

describe('decodeSamples and encodeSamples', () => {
  it('keep PCM as it is', () => {
    fc.assert(
      fc.property(fc.int16Array(), (samples) => {
        expect([...decodeSamples(encodeSamples(samples, 'pcm'), 'pcm')]).toEqual([...samples])
      }),
    )
  })

  it('change G.711 only once: encoding decoded samples changes nothing more', () => {
    fc.assert(
      fc.property(fc.int16Array(), fc.constantFrom('ulaw' as const, 'alaw' as const), (samples, encoding) => {
        const once = decodeSamples(encodeSamples(samples, encoding), encoding)
        expect([...decodeSamples(encodeSamples(once, encoding), encoding)]).toEqual([...once])
      }),
    )
  })

  it('stay within half a quantizing step of the sample, by law', () => {
    fc.assert(
      fc.property(fc.int16Array(), fc.constantFrom('ulaw' as const, 'alaw' as const), (samples, encoding) => {
        const decoded = decodeSamples(encodeSamples(samples, encoding), encoding)
        decoded.forEach((sample, i) => {
          const given = samples[i] ?? NaN
          expect(Math.abs(sample - given)).toBeLessThanOrEqual(Math.max(8, (Math.abs(given) + 132) / 32))
        })
      }),
    )
  })

  it('distinguish the encodings', () => {
    const coded = encodings.map((encoding) => [...encodeSamples(Int16Array.of(1000), encoding)])
    expect(coded).toEqual([[0xe8, 0x03], [0xce], [0xfa]])
  })
})
