import { SpeechError } from '../../../errors/speech-error.js'
import type { DecodedWord } from '../decoded-words.js'
import { aptLine, inThread, openSphinxCalls, type Call, type SphinxCalls } from './native-calls.js'
import type { DecoderPointer, SphinxLibrary } from './library.js'

const coefficients = 13
const frameMs = 10
const searchName = 'rxspeech'

const meanOwner = (calls: SphinxCalls, decoder: DecoderPointer): object => {
  const { name, cepsize, cmn_struct: owner } = calls.readFeatures(calls.features(decoder))
  if (cepsize === coefficients && name === '1s_c_d_dd' && owner !== null) return owner
  throw new SpeechError('missing-dependency', `Dictation needs the library as Debian builds it: ${aptLine}.`)
}

const makeDecoder = async (
  calls: SphinxCalls,
  settings: Readonly<Record<string, string>>,
): Promise<DecoderPointer | undefined> => {
  const values = ['rxspeech', ...Object.entries(settings).flatMap(([name, value]) => [`-${name}`, value])]
  const config = calls.parse(null, calls.known(), values.length, values, 1)
  if (config === null) return undefined
  const decoder = await inThread<DecoderPointer | null>(calls.init, config)
  // The decoder keeps a hold of its own
  calls.freeConfig(config)
  return decoder ?? undefined
}

/** Sets what is searched and takes it into use. */
const use = async (calls: SphinxCalls, decoder: DecoderPointer, set: Call, value: string): Promise<boolean> =>
  (await inThread<number>(set, decoder, searchName, value)) === 0 &&
  (await inThread<number>(calls.choose, decoder, searchName)) === 0

const readWord = (calls: SphinxCalls, word: object, logmath: unknown): DecodedWord => {
  const [first, last, ignored] = [[0], [0], [0]]
  calls.frames(word, first, last)
  return {
    text: calls.word(word) as string,
    startMs: (first[0] ?? 0) * frameMs,
    endMs: ((last[0] ?? 0) + 1) * frameMs,
    posterior: calls.exp(logmath, calls.posterior(word, ignored, ignored, ignored)) as number,
  }
}

const readWords = async (calls: SphinxCalls, decoder: DecoderPointer): Promise<readonly DecodedWord[]> => {
  const words: DecodedWord[] = []
  const logmath = calls.logmath(decoder)
  let word = await inThread<object | null>(calls.words, decoder)
  for (; word !== null; word = calls.nextWord(word) as object | null) words.push(readWord(calls, word, logmath))
  return words
}

const isKnown = (calls: SphinxCalls, decoder: DecoderPointer, word: string): boolean => {
  const phones = calls.lookUp(decoder, word)
  if (phones !== null) calls.freeText(phones)
  return phones !== null
}

/**
 * Loads libpocketsphinx through koffi, in this process. Its log is switched off: what matters of it is in what the calls
 * give. Rejects with `missing-dependency` that names the command that installs what is absent.
 */
export const loadSphinxLibrary = async (): Promise<SphinxLibrary> => {
  const calls = await openSphinxCalls()
  calls.silence(null)
  return {
    make: (settings) => makeDecoder(calls, settings),
    free: (decoder) => void calls.free(decoder),
    isKnown: (decoder, word) => isKnown(calls, decoder, word),
    addWord: (decoder, word, phones, isLast) => (calls.addWord(decoder, word, phones, isLast ? 1 : 0) as number) >= 0,
    setLanguageModel: (decoder, path) => use(calls, decoder, calls.setModel, path),
    setGrammar: (decoder, jsgf) => use(calls, decoder, calls.setGrammar, jsgf),
    mean: (decoder) => {
      const mean = new Float32Array(coefficients)
      calls.getMean(meanOwner(calls, decoder), mean)
      return mean
    },
    begin: (decoder, mean) => {
      calls.setMean(meanOwner(calls, decoder), mean)
      return calls.startStream(decoder) === 0 && calls.start(decoder) === 0
    },
    process: async (decoder, samples) =>
      (await inThread<number>(calls.process, decoder, samples, samples.length, 0, 0)) >= 0,
    text: (decoder) => (calls.text(decoder, [0]) as string | null) ?? '',
    end: async (decoder) => (await inThread<number>(calls.end, decoder)) >= 0,
    words: (decoder) => readWords(calls, decoder),
  }
}
