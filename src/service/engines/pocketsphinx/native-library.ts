import type * as Koffi from 'koffi'
import { loadOptional } from '../../threads/load-optional.js'
import { SpeechError } from '../../../errors/speech-error.js'
import type { DecodedWord } from '../decoded-words.js'
import type { DecoderPointer, SphinxLibrary } from './library.js'

/** Installs what Debian packages. */
export const aptCommand = 'apt-get install libpocketsphinx3 pocketsphinx-en-us'

const loadKoffi = async (): Promise<typeof Koffi> =>
  (await loadOptional<{ readonly default: typeof Koffi }>('koffi', 'Dictation')).default

const loadShared = (koffi: typeof Koffi, name: string): Koffi.LibraryHandle => {
  try {
    return koffi.load(name)
  } catch (cause) {
    throw new SpeechError('missing-dependency', `Dictation needs Debian's packages: ${aptCommand}.`, { cause })
  }
}

/** The library's functions recurse, also over grammars; koffi's default of 128 KiB suffices only for those that were measured. */
const stackBytes = 1024 * 1024

const widenStack = (koffi: typeof Koffi): void => {
  try {
    koffi.config({ async_stack_size: stackBytes })
  } catch {
    // Another part of the process has loaded a library before and has set it.
  }
}

/** A function of a library. Its declaration says which types it takes and returns. */
interface NativeFunction {
  (...given: readonly unknown[]): unknown
  /** Runs in one of koffi's threads, of which there are as many as cores. The last argument is a callback. */
  async(...given: readonly unknown[]): unknown
}

/** Calls in another thread. The arguments must not change until it has returned. */
const inThread = <T>(call: NativeFunction, ...given: readonly unknown[]): Promise<T> =>
  new Promise((resolve, reject) => {
    const done = (error: unknown, result: T): void => {
      if (error === null || error === undefined) resolve(result)
      else reject(error instanceof Error ? error : new Error('The call failed.'))
    }
    call.async(...given, done)
  })

/** `feat_t` of sphinxbase 5 up to the owner of the mean, for which `libsphinxbase.so.3` has no accessor. */
const featureLayout = {
  refcount: 'int',
  name: 'const char *',
  cepsize: 'int32_t',
  n_stream: 'int32_t',
  stream_len: 'void *',
  window_size: 'int32_t',
  n_sv: 'int32_t',
  sv_len: 'void *',
  subvecs: 'void *',
  sv_buf: 'void *',
  sv_dim: 'int32_t',
  cmn: 'int',
  varnorm: 'int32_t',
  agc: 'int',
  compute_feat: 'void *',
  cmn_struct: 'void *',
} as const

/** The fields of it that are read. */
interface Features {
  readonly name: string
  readonly cepsize: number
  readonly cmn_struct: object | null
}

const declareFunctions = (koffi: typeof Koffi) => {
  const layout = koffi.struct(featureLayout)
  const sphinxbase = loadShared(koffi, 'libsphinxbase.so.3')
  const pocketsphinx = loadShared(koffi, 'libpocketsphinx.so.3')
  const base = (signature: string): NativeFunction => sphinxbase.func(signature)
  const sphinx = (signature: string): NativeFunction => pocketsphinx.func(signature)
  return {
    readFeatures: (address: unknown) => koffi.decode(address, layout) as Features,
    setLogFile: base('void err_set_logfp(void *file)'),
    parse: base('void *cmd_ln_parse_r(void *into, void *known, int32_t count, const char **values, int32_t strict)'),
    freeConfig: base('int cmd_ln_free_r(void *config)'),
    freeText: base('void ckd_free(void *text)'),
    exp: base('double logmath_exp(void *logmath, int value)'),
    getMean: base('void cmn_live_get(void *cmn, _Out_ float *mean)'),
    setMean: base('void cmn_live_set(void *cmn, const float *mean)'),
    known: sphinx('void *ps_args()'),
    init: sphinx('void *ps_init(void *config)'),
    free: sphinx('int ps_free(void *decoder)'),
    lookUp: sphinx('void *ps_lookup_word(void *decoder, const char *word)'),
    addWord: sphinx('int ps_add_word(void *decoder, const char *word, const char *phones, int update)'),
    setModel: sphinx('int ps_set_lm_file(void *decoder, const char *name, const char *path)'),
    setGrammar: sphinx('int ps_set_jsgf_string(void *decoder, const char *name, const char *jsgf)'),
    choose: sphinx('int ps_set_search(void *decoder, const char *name)'),
    logmath: sphinx('void *ps_get_logmath(void *decoder)'),
    features: sphinx('void *ps_get_feat(void *decoder)'),
    startStream: sphinx('int ps_start_stream(void *decoder)'),
    start: sphinx('int ps_start_utt(void *decoder)'),
    process: sphinx('int ps_process_raw(void *decoder, const int16_t *data, size_t count, int noSearch, int whole)'),
    end: sphinx('int ps_end_utt(void *decoder)'),
    text: sphinx('const char *ps_get_hyp(void *decoder, _Out_ int32_t *score)'),
    words: sphinx('void *ps_seg_iter(void *decoder)'),
    nextWord: sphinx('void *ps_seg_next(void *word)'),
    word: sphinx('const char *ps_seg_word(void *word)'),
    frames: sphinx('void ps_seg_frames(void *word, _Out_ int *first, _Out_ int *last)'),
    posterior: sphinx(
      'int32_t ps_seg_prob(void *word, _Out_ int32_t *acoustic, _Out_ int32_t *language, _Out_ int32_t *backoff)',
    ),
  }
}

type NativeFunctions = ReturnType<typeof declareFunctions>

const coefficients = 13
const frameMs = 10
const searchName = 'rxspeech'

const meanOwner = (native: NativeFunctions, decoder: DecoderPointer): object => {
  const { name, cepsize, cmn_struct: owner } = native.readFeatures(native.features(decoder))
  if (cepsize === coefficients && name === '1s_c_d_dd' && owner !== null) return owner
  throw new SpeechError('missing-dependency', `Dictation needs the library as Debian builds it: ${aptCommand}.`)
}

const createDecoder = async (
  native: NativeFunctions,
  settings: Readonly<Record<string, string>>,
): Promise<DecoderPointer | undefined> => {
  const values = ['rxspeech', ...Object.entries(settings).flatMap(([name, value]) => [`-${name}`, value])]
  const config = native.parse(null, native.known(), values.length, values, 1)
  if (config === null) return undefined
  const decoder = await inThread<DecoderPointer | null>(native.init, config)
  // The decoder has a separate reference.
  native.freeConfig(config)
  return decoder ?? undefined
}

/** Sets what is searched and puts it into use. */
const setSearch = async (
  native: NativeFunctions,
  decoder: DecoderPointer,
  set: NativeFunction,
  value: string,
): Promise<boolean> =>
  (await inThread<number>(set, decoder, searchName, value)) === 0 &&
  (await inThread<number>(native.choose, decoder, searchName)) === 0

const readWord = (native: NativeFunctions, word: object, logmath: unknown): DecodedWord => {
  const [first, last, ignored] = [[0], [0], [0]]
  native.frames(word, first, last)
  return {
    text: native.word(word) as string,
    startMs: (first[0] ?? 0) * frameMs,
    endMs: ((last[0] ?? 0) + 1) * frameMs,
    posterior: native.exp(logmath, native.posterior(word, ignored, ignored, ignored)) as number,
  }
}

const readWords = async (native: NativeFunctions, decoder: DecoderPointer): Promise<readonly DecodedWord[]> => {
  const words: DecodedWord[] = []
  const logmath = native.logmath(decoder)
  let word = await inThread<object | null>(native.words, decoder)
  for (; word !== null; word = native.nextWord(word) as object | null) words.push(readWord(native, word, logmath))
  return words
}

const isKnown = (native: NativeFunctions, decoder: DecoderPointer, word: string): boolean => {
  const phones = native.lookUp(decoder, word)
  if (phones !== null) native.freeText(phones)
  return phones !== null
}

/**
 * Loads libpocketsphinx into this process through koffi. Its log is switched off, because the calls return what matters.
 * Rejects with `missing-dependency` that names the command which installs what is missing.
 */
export const loadNativeLibrary = async (): Promise<SphinxLibrary> => {
  const koffi = await loadKoffi()
  widenStack(koffi)
  const native = declareFunctions(koffi)
  native.setLogFile(null)
  return {
    createDecoder: (settings) => createDecoder(native, settings),
    free: (decoder) => void native.free(decoder),
    isKnown: (decoder, word) => isKnown(native, decoder, word),
    addWord: (decoder, word, phones, isLast) => (native.addWord(decoder, word, phones, isLast ? 1 : 0) as number) >= 0,
    setLanguageModel: (decoder, path) => setSearch(native, decoder, native.setModel, path),
    setGrammar: (decoder, jsgf) => setSearch(native, decoder, native.setGrammar, jsgf),
    mean: (decoder) => {
      const mean = new Float32Array(coefficients)
      native.getMean(meanOwner(native, decoder), mean)
      return mean
    },
    begin: (decoder, mean) => {
      native.setMean(meanOwner(native, decoder), mean)
      return native.startStream(decoder) === 0 && native.start(decoder) === 0
    },
    process: async (decoder, samples) =>
      (await inThread<number>(native.process, decoder, samples, samples.length, 0, 0)) >= 0,
    text: (decoder) => (native.text(decoder, [0]) as string | null) ?? '',
    end: async (decoder) => (await inThread<number>(native.end, decoder)) >= 0,
    words: (decoder) => readWords(native, decoder),
  }
}
