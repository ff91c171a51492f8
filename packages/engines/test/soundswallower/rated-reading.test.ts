import { describe, expect, it } from 'vitest'
import type { Decoder } from '../../src/soundswallower/package.js'
import { compareWith } from '../../src/soundswallower/rated-reading.js'
import type { RatedReading } from '../../src/soundswallower/segment-decoder.js'

const decoder: Decoder = {
  cdecoder: 0,
  initialize: () => Promise.resolve(),
  reinitialize_audio: () => Promise.resolve(),
  set_config: () => true,
  set_grammar: () => undefined,
  set_align_text: () => undefined,
  add_words: () => undefined,
  lookup_word: () => 'T EH N',
  start: () => undefined,
  process_audio: () => 0,
  stop: () => undefined,
  get_text: () => '',
  get_alignment: () => ({ w: [] }),
  spectrogram: () => ({ data: Float32Array.of(1), nfr: 1, nfeat: 1 }),
  delete: () => undefined,
}

/** The part of the audio that the words of a reading are compared in: from and to. */
const comparedPart = async (isIncomplete: boolean) => {
  const parts: unknown[] = []
  const reading: RatedReading = {
    words: [
      { text: '<sil>', startMs: 0, endMs: 500, posterior: 1 },
      { text: 'ten', startMs: 500, endMs: 900, posterior: 0.9 },
      { text: 'clubs', startMs: 900, endMs: 1400, posterior: 0.9 },
    ],
    isIncomplete,
    samples: undefined,
    cepstralMean: '50,3,-1',
    decode: (_decoder, startMs, endMs) => {
      parts.push(startMs, endMs)
      return Promise.resolve()
    },
  }
  const compare = async (_phones: unknown, _mean: unknown, decode: (other: Decoder) => Promise<void>) => {
    await decode(decoder)
    return [[1], [1]]
  }
  await compareWith({ compare }, decoder, reading)
  return parts
}

describe('the comparison of words with any phones', () => {
  it('has the audio around the words, from which decoders learn the noise of the line', async () => {
    expect(await comparedPart(false)).toEqual([300, 1600])
  })

  it('ends with the last word of a sentence that was cut, because the beginning of another one follows', async () => {
    expect(await comparedPart(true)).toEqual([300, 1400])
  })
})
