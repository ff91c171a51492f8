import { describe, expect, it } from 'vitest'
import type { AudioFormat } from '../../src/audio/format.js'
import { wavHeader } from '../../src/audio/wav-header.js'

const pcm: AudioFormat = { encoding: 'pcm', sampleRateHz: 16000, channels: 2 }
const ulaw: AudioFormat = { encoding: 'ulaw', sampleRateHz: 8000, channels: 1 }

describe('wavHeader', () => {
  it('writes the 44 bytes of a PCM file', () => {
    expect(Buffer.from(wavHeader(pcm, 64)).toString('hex')).toBe(
      '52494646' + '64000000' + '57415645' + '666d7420' + '10000000' + '0100' + '0200' + '803e0000' + '00fa0000' +
        '0400' + '1000' + '64617461' + '40000000',
    ) // prettier-ignore
  })

  it('writes the longer format and the fact chunk of a G.711 file, and counts the padding of an odd length', () => {
    expect(Buffer.from(wavHeader(ulaw, 161)).toString('hex')).toBe(
      '52494646' + 'd4000000' + '57415645' + '666d7420' + '12000000' + '0700' + '0100' + '401f0000' + '401f0000' +
        '0100' + '0800' + '0000' + '66616374' + '04000000' + 'a1000000' + '64617461' + 'a1000000',
    ) // prettier-ignore
  })

  it('leaves the lengths open for a pipe', () => {
    const view = new DataView(wavHeader(pcm).buffer)
    expect([view.getUint32(4, true), view.getUint32(40, true)]).toEqual([0xffffffff, 0xffffffff])
  })

  it.each([-4, 2, 6, 4.5, NaN, Infinity, 2 ** 32])('rejects %d bytes of stereo samples', (byteCount) => {
    expect(() => wavHeader(pcm, byteCount)).toThrowError(expect.objectContaining({ code: 'invalid-options' }))
  })

  it('rejects an invalid format', () => {
    const format = { ...pcm, sampleRateHz: 1 }
    expect(() => wavHeader(format, 0)).toThrowError(expect.objectContaining({ code: 'invalid-format' }))
  })
})
