import { describe, expect, it } from 'vitest'
import type { RejectLevel } from '../../../../src/protocol/recognition-parameters.js'
import type { AlignedWord, Decoder } from '../../src/soundswallower/package.js'
import { frameSamples, TwoPassDecoder, type Rejection } from '../../src/soundswallower/segment-decoder.js'
import { steadyAudio } from '../../src/soundswallower/steady-audio.js'
import type { WorkerGrammars } from '../../src/soundswallower/worker-grammars.js'

/** The words of each pass, in order; the last one is repeated. */
const scripted = (...passes: readonly (readonly AlignedWord[])[]) => scriptedWith(undefined, ...passes)

const scriptedWith = (rejection: Rejection | undefined, ...passes: readonly (readonly AlignedWord[])[]) => {
  let pass = -1
  const words = (): readonly AlignedWord[] => passes[Math.min(pass, passes.length - 1)] ?? []
  const { decoder, means } = scriptedBy(
    words,
    {
      start: () => {
        pass += 1
      },
    },
    rejection,
  )
  return { decoder, passes: () => pass + 1, means }
}

/** A decoder whose words a test decides. */
const scriptedBy = (
  words: () => readonly AlignedWord[],
  change: Partial<Decoder>,
  rejection?: Rejection,
  grammars?: Pick<WorkerGrammars, 'with'>,
) => {
  const means: (string | number)[] = []
  const decoder: Decoder = {
    cdecoder: 0,
    initialize: () => Promise.resolve(),
    reinitialize_audio: () => Promise.resolve(),
    set_config: (_key, value) => means.push(value) > 0,
    set_grammar: () => undefined,
    set_align_text: () => undefined,
    add_words: () => undefined,
    lookup_word: () => null,
    start: () => undefined,
    process_audio: () => 0,
    stop: () => undefined,
    get_text: () =>
      words()
        .map(({ t }) => t)
        .join(' '),
    get_alignment: () => ({ w: words() }),
    spectrogram: () => ({ data: Float32Array.of(1, 2), nfr: 1, nfeat: 2 }),
    delete: () => undefined,
    ...change,
  }
  return { decoder: new TwoPassDecoder(decoder, undefined, grammars, rejection), means }
}

/** A decoder that reads `open` until the audio ends, and `completed` then, in every pass. */
const cutShort = (open: readonly AlignedWord[], completed: readonly AlignedWord[]) => {
  let isEnded = false
  const words = (): readonly AlignedWord[] => (isEnded ? completed : open)
  const { decoder } = scriptedBy(words, {
    start: () => {
      isEnded = false
    },
    stop: () => {
      isEnded = true
    },
  })
  return decoder
}

const decodeCut = async (decoder: TwoPassDecoder) => {
  await decoder.begin()
  decoder.process(new Int16Array(800))
  const { words, text } = await decoder.end({ startMs: 0, endMs: 10_000, isCut: true }, () => false)
  return { words: words.map((word) => word.text).join(' '), text }
}

const decode = async (decoder: TwoPassDecoder): Promise<string> => {
  await decoder.begin()
  decoder.process(new Int16Array(800))
  const { words } = await decoder.end({ startMs: 0, endMs: 10_000, isCut: false }, () => false)
  return words.map(({ text }) => text).join(' ')
}

const word = (t: string, p: number, d = 0.5): AlignedWord => ({ t, b: 0, d, p })

describe('a decoder of two passes', () => {
  it('decodes a segment again with its own mean', async () => {
    const { decoder, passes, means } = scripted([word('ten', 0.95), word('clubs', 0.9)], [word('two', 0.5)])
    expect(await decode(decoder)).toBe('two')
    expect(passes()).toBe(2)
    expect(means).toHaveLength(3)
    expect(means[2]).not.toBe(means[0])
  })

  it('gives the second pass the steady audio of the segment, and its words the times of the session', async () => {
    const passes: Float32Array[][] = []
    const { decoder } = scriptedBy(() => [word('ten', 0.8)], {
      start: () => {
        passes.push([])
      },
      process_audio: (samples) => {
        passes.at(-1)?.push(samples)
        return 0
      },
    })
    // A second of silence, and two seconds of sound.
    const segment = Int16Array.from({ length: 30 * frameSamples }, (_none, at) =>
      at < 8000 ? 0 : 5000 * Math.sin(at / 3),
    )
    await decoder.begin()
    for (let at = 0; at < segment.length; at += frameSamples) decoder.process(segment.slice(at, at + frameSamples))
    const { words } = await decoder.end({ startMs: 4000, endMs: 7000, isCut: false }, () => false)
    const [first, second, ...others] = passes.map((parts) => parts.flatMap((part) => [...part]))
    const { samples, skippedMs } = steadyAudio(segment)
    expect(others).toEqual([])
    expect(first).toHaveLength(segment.length)
    expect(second).toEqual([...samples])
    expect(skippedMs).toBeGreaterThan(500)
    expect(words).toMatchObject([{ startMs: 4000 + skippedMs, endMs: 4500 + skippedMs }])
  })

  it('takes the words of the first pass if the second has none', async () => {
    const { decoder, passes } = scripted([word('ten', 0.5)], [])
    expect(await decode(decoder)).toBe('ten')
    expect(passes()).toBe(2)
  })

  it('keeps the words of a sentence whose audio was cut, but for a last word that does not fit', async () => {
    const begun = [word('good', 0.9), word('evening', 0.9)]
    const incomplete = (text: string) => ({ words: text, text: { text, isIncomplete: true } })
    expect(await decodeCut(cutShort(begun, []))).toEqual(incomplete('good evening'))
    expect(await decodeCut(cutShort([...begun, word('<sil>', 0.1), word('har', 0.7)], []))).toEqual(
      incomplete('good evening'),
    )
    expect(await decodeCut(cutShort([], []))).toEqual(incomplete(''))
  })

  it('completes a sentence whose audio was cut only by words that fit', async () => {
    const begun = [word('friday', 0.9), word('at', 0.9)]
    const complete = (words: string) => ({ words, text: undefined })
    expect(await decodeCut(cutShort(begun, [...begun, word('ten', 0.9)]))).toEqual(complete('friday at ten'))
    expect(await decodeCut(cutShort(begun, [word('friday', 0.9)]))).toEqual(complete('friday'))
    expect(await decodeCut(cutShort(begun, [...begun, word('ten', 0.7)]))).toEqual({
      words: 'friday at',
      text: { text: 'friday at', isIncomplete: true },
    })
  })

  it('has no words for a sentence that silence ended before its end', async () => {
    expect(await decode(cutShort([word('good', 0.9), word('evening', 0.9)], []))).toBe('')
  })

  it('decides each segment by itself', async () => {
    const { decoder, passes } = scripted(
      [word('ten', 0.5)],
      [word('two', 0.5)],
      [word('nine', 0.5)],
      [word('six', 0.95)],
    )
    expect([await decode(decoder), await decode(decoder), passes()]).toEqual(['two', 'six', 4])
  })
})

describe('a sentence that no word can follow', () => {
  /**
   * Whether a decoder that reads these words counts them as such a sentence; `confidence` is undefined without
   * rejection.
   */
  const isComplete = async (words: readonly AlignedWord[], confidence?: number, isSentence = true) => {
    const rejection: Rejection | undefined =
      confidence === undefined
        ? undefined
        : { level: 'medium', rateWords: () => confidence, rate: () => Promise.resolve(confidence) }
    const grammar = { setFor: () => undefined, isComplete: () => isSentence }
    const { decoder } = scriptedBy(() => words, {}, rejection, { with: () => grammar })
    await decoder.begin()
    decoder.process(new Int16Array(frameSamples))
    return decoder.isComplete()
  }
  const sure = [word('ten', 0.95), word('clubs', 0.95)]

  it('is complete if its last word fits well, or silence follows it', async () => {
    const unsure = [word('ten', 0.95), word('clubs', 0.7)]
    expect(await isComplete(sure)).toBe(true)
    expect(await isComplete(unsure)).toBe(false)
    expect(await isComplete([...unsure, { t: '<sil>', b: 0.5, d: 0.03, p: 1 }])).toBe(true)
    expect(await isComplete(sure, undefined, false)).toBe(false)
  })

  it('is not complete if its words are unlikely to be right', async () => {
    expect(await isComplete(sure, 0.75)).toBe(true)
    expect(await isComplete(sure, 0.65)).toBe(false)
  })
})

describe('rejection', () => {
  /** A decoder that rates its readings with a confidence; `thorough` has whether other decoders may be asked. */
  const rating = (confidence: number, ...passes: readonly (readonly AlignedWord[])[]) => {
    const thorough: boolean[] = []
    const rate = (_reading: unknown, isThorough: boolean): Promise<number> => {
      thorough.push(isThorough)
      return Promise.resolve(confidence)
    }
    return {
      decoder: scriptedWith({ level: 'medium', rateWords: () => confidence, rate }, ...passes).decoder,
      thorough,
    }
  }
  const decodeAt = async (decoder: TwoPassDecoder, reject?: RejectLevel, isCut = false) => {
    await decoder.begin({ reject })
    decoder.process(new Int16Array(800))
    const { words } = await decoder.end({ startMs: 0, endMs: 10_000, isCut }, () => false)
    return words.map(({ text, confidence }) => [text, confidence])
  }
  const sure = [word('ten', 0.95), word('clubs', 0.9)]

  it.each([
    [0.1, ['off']],
    [0.3, ['off', 'low']],
    [0.5, ['off', 'low', undefined, 'medium']],
    [0.9, ['off', 'low', undefined, 'medium', 'high']],
  ] as const)('accepts a reading with a confidence of %s at the levels %j', async (confidence, accepting) => {
    for (const level of ['off', 'low', undefined, 'medium', 'high'] as const) {
      const { decoder } = rating(confidence, sure)
      const expected = (accepting as readonly unknown[]).includes(level)
        ? [
            ['ten', confidence],
            ['clubs', confidence],
          ]
        : []
      expect(await decodeAt(decoder, level)).toEqual(expected)
    }
  })

  it('asks other decoders only if something can be rejected', async () => {
    const { decoder, thorough } = rating(0.9, sure)
    await decodeAt(decoder, 'off')
    await decodeAt(decoder, 'low')
    expect(thorough).toEqual([false, true])
  })

  it('rejects speech whose second reading is empty, unless the level is off or the audio was cut', async () => {
    const passes = [[word('ten', 0.5)], []]
    expect(await decodeAt(rating(0.9, ...passes).decoder)).toEqual([])
    expect(await decodeAt(rating(0.9, ...passes).decoder, 'off')).toEqual([['ten', 0.9]])
    expect(await decodeAt(rating(0.9, [word('ten', 0.9)], []).decoder, 'medium', true)).toEqual([['ten', 0.9]])
  })

  it('rates no reading without words', async () => {
    const { decoder, thorough } = rating(0.9, [], [])
    expect(await decodeAt(decoder, 'off')).toEqual([])
    expect(thorough).toEqual([])
  })
})
