import type * as Koffi from 'koffi'
import { SpeechError } from '../../../errors/speech-error.js'

export const aptLine = 'apt-get install libpocketsphinx3 pocketsphinx-en-us'

const loadKoffi = async (): Promise<typeof Koffi> => {
  try {
    const { default: koffi } = (await import('koffi')) as unknown as { readonly default: typeof Koffi }
    return koffi
  } catch (cause) {
    throw new SpeechError('missing-dependency', 'Dictation needs a package: npm install koffi.', { cause })
  }
}

const loadShared = (koffi: typeof Koffi, name: string): Koffi.LibraryHandle => {
  try {
    return koffi.load(name)
  } catch (cause) {
    throw new SpeechError('missing-dependency', `Dictation needs Debian's packages: ${aptLine}.`, { cause })
  }
}

/** The library's functions recurse, over grammars too; koffi's own 128 KiB would do for the measured ones only. */
const stackBytes = 1024 * 1024

const widenStack = (koffi: typeof Koffi): void => {
  try {
    koffi.config({ async_stack_size: stackBytes })
  } catch {
    // Another part of the process has loaded a library before, and so decided
  }
}

/** A function of a library; which types it takes and gives stands in its declaration. */
export interface Call {
  (...given: readonly unknown[]): unknown
  /** Calls in a thread of koffi's, which are as many as there are cores; a callback comes last. */
  async(...given: readonly unknown[]): unknown
}

/** Calls in another thread. What is given must stay as it is until then. */
export const inThread = <T>(call: Call, ...given: readonly unknown[]): Promise<T> =>
  new Promise((resolve, reject) => {
    const done = (error: unknown, result: T): void => {
      if (error === null || error === undefined) resolve(result)
      else reject(error instanceof Error ? error : new Error('The call failed.'))
    }
    call.async(...given, done)
  })

/** `feat_t` of sphinxbase 5 up to the mean's owner, of which `libsphinxbase.so.3` has no accessor. */
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

/** What of it is read. */
interface Features {
  readonly name: string
  readonly cepsize: number
  readonly cmn_struct: object | null
}

const declare = (koffi: typeof Koffi) => {
  const layout = koffi.struct(featureLayout)
  const sphinxbase = loadShared(koffi, 'libsphinxbase.so.3')
  const pocketsphinx = loadShared(koffi, 'libpocketsphinx.so.3')
  const base = (signature: string): Call => sphinxbase.func(signature)
  const sphinx = (signature: string): Call => pocketsphinx.func(signature)
  return {
    readFeatures: (address: unknown) => koffi.decode(address, layout) as Features,
    silence: base('void err_set_logfp(void *file)'),
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

export type SphinxCalls = ReturnType<typeof declare>

/** Opens both libraries. Rejects with `missing-dependency` that names the command that installs what is absent. */
export const openSphinxCalls = async (): Promise<SphinxCalls> => {
  const koffi = await loadKoffi()
  widenStack(koffi)
  return declare(koffi)
}
