import { isSpoken } from '../decoded-words.js'
import { alignedScore, decoderRateHz, type AlignedWord, type Decoder, type SoundswallowerPackage } from './package.js'

/** Scores relative to the best of all states of the acoustic model can be compared between decoders. */
const comparable = { compallsen: true, loglevel: 'FATAL', samprate: decoderRateHz }
/**
 * There is no such file: a decoder without a dictionary takes 8 MB instead of 30, and is created in a tenth of the
 * time.
 */
const withoutDictionary = { dict: '/dev/null/no-dictionary' }
const alignerBeams = { beam: 1e-64, pbeam: 1e-64, wbeam: 1e-48 }
/** Phones without their context, of which there are few; and narrow, because any phone may follow any other. */
const loopSettings = { cionly: true, lw: 0.01, beam: 1e-20, pbeam: 1e-20, wbeam: 1e-15 }

/** The phones of the English model, without silence and noises. */
const phones =
  'AA AE AH AO AW AY B CH D DH EH ER EY F G HH IH IY JH K L M N NG OW OY P R S SH T TH UH UW V W Y Z ZH'.split(' ')

// Words of the decoders here, which do not collide with those of a dictionary.
const wordName = (pronunciation: readonly string[]): string => `w_${pronunciation.join('_')}`
const phoneName = (phone: string): string => `ph_${phone}`

/** The first frame of a part, and how many it has. */
const framesOf = ({ b, d }: AlignedWord): { readonly begin: number; readonly count: number } => ({
  begin: Math.round(b * 100),
  count: Math.max(Math.round(d * 100), 1),
})

/** The score of each part, spread evenly over the frames that it covers. */
const scoresOfFrames = (parts: readonly AlignedWord[]): readonly number[] => {
  const scores: number[] = []
  for (const part of parts) {
    // A joint between words overlaps the last frame of the word before it.
    if (part.t === '(NULL)') continue
    const { begin, count } = framesOf(part)
    for (let at = begin; at < begin + count; at += 1) scores[at] = alignedScore(part) / count
  }
  return scores
}

/** Gives a decoder the audio. */
export type Decode = (decoder: Decoder) => Promise<void>

/** For each word, the logarithm of the likelihood ratio of the word and any phones in each of its frames of 10 ms. */
export type WordRatios = readonly (readonly number[])[]

const run = async (decoder: Decoder, cepstralMean: string, decode: Decode): Promise<readonly AlignedWord[]> => {
  decoder.set_config('cmninit', cepstralMean)
  await decoder.reinitialize_audio()
  decoder.start()
  await decode(decoder)
  decoder.stop()
  return decoder.get_text() === '' ? [] : (decoder.get_alignment().w ?? [])
}

/**
 * Compares a reading with the best sequence of any phones in the same audio. Speech that the reading does not
 * contain fits other phones much better. It has two decoders, one for the reading and one for any phones.
 */
export class Verifier {
  readonly #aligner: Decoder
  readonly #loop: Decoder
  readonly #known = new Set<string>()

  private constructor(aligner: Decoder, loop: Decoder) {
    this.#aligner = aligner
    this.#loop = loop
  }

  static async create(soundswallower: SoundswallowerPackage): Promise<Verifier> {
    const create = async (settings: Readonly<Record<string, string | number | boolean>>): Promise<Decoder> => {
      const decoder = new soundswallower.Decoder({ ...comparable, ...withoutDictionary, ...settings })
      await decoder.initialize()
      return decoder
    }
    const aligner = await create(alignerBeams)
    const loop = await create(loopSettings)
    loop.add_words(...phones.map((phone) => [phoneName(phone), phone] as const))
    loop.set_grammar(`#JSGF V1.0; grammar loop; public <loop> = (${phones.map(phoneName).join(' | ')})+;`)
    return new Verifier(aligner, loop)
  }

  /**
   * Resolves with the ratios of the words, each as a list of its phones; with undefined if they cannot be aligned.
   */
  async compare(
    words: readonly (readonly string[])[],
    cepstralMean: string,
    decode: Decode,
  ): Promise<WordRatios | undefined> {
    for (const pronunciation of words) this.#learn(pronunciation)
    this.#aligner.set_align_text(words.map(wordName).join(' '))
    const aligned = await run(this.#aligner, cepstralMean, decode)
    const spoken = aligned.filter(({ t }) => isSpoken(t))
    if (spoken.length !== words.length) return undefined
    const own = scoresOfFrames(aligned)
    const any = scoresOfFrames(await run(this.#loop, cepstralMean, decode))
    return spoken.map((part) => {
      const { begin, count } = framesOf(part)
      return Array.from({ length: count }, (_none, at) => (own[begin + at] ?? 0) - (any[begin + at] ?? 0))
    })
  }

  #learn(pronunciation: readonly string[]): void {
    const name = wordName(pronunciation)
    if (this.#known.has(name)) return
    this.#aligner.add_words([name, pronunciation.join(' ')])
    this.#known.add(name)
  }
}
