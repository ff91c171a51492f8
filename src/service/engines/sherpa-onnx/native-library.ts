import { SpeechError } from '../../../errors/speech-error.js'
import type { Hotwords } from './hotwords.js'
import {
  loadSherpaLibrary,
  sherpaPlatform,
  type SherpaConfig,
  type SherpaRecognizer,
  type SherpaResult,
  type SherpaStream,
} from './package.js'

/** The versions whose `SherpaOnnxOnlineRecognizerConfig` (c-api.h) is as below. */
const knownVersion = '1.13.'

/** An address within the library. */
type Pointer = bigint

/** The structure with all of its parts in one. */
const configLayout = {
  sample_rate: 'int32_t',
  feature_dim: 'int32_t',
  encoder: 'const char *',
  decoder: 'const char *',
  joiner: 'const char *',
  paraformer_encoder: 'const char *',
  paraformer_decoder: 'const char *',
  zipformer2_ctc_model: 'const char *',
  tokens: 'const char *',
  num_threads: 'int32_t',
  provider: 'const char *',
  debug: 'int32_t',
  model_type: 'const char *',
  modeling_unit: 'const char *',
  bpe_vocab: 'const char *',
  tokens_buf: 'const char *',
  tokens_buf_size: 'int32_t',
  nemo_ctc_model: 'const char *',
  t_one_ctc_model: 'const char *',
  decoding_method: 'const char *',
  max_active_paths: 'int32_t',
  enable_endpoint: 'int32_t',
  rule1_min_trailing_silence: 'float',
  rule2_min_trailing_silence: 'float',
  rule3_min_utterance_length: 'float',
  hotwords_file: 'const char *',
  hotwords_score: 'float',
  // Fields with strings, numbers and padding, and room for those of later versions.
  rest: 'uint64_t[64]',
} as const

/** What is absent is 0, with which the library takes its own default. */
const configOf = ({
  featConfig,
  modelConfig,
  ...config
}: SherpaConfig): Partial<Record<keyof typeof configLayout, string | number | undefined>> => ({
  sample_rate: featConfig.sampleRate,
  feature_dim: featConfig.featureDim,
  ...modelConfig.transducer,
  tokens: modelConfig.tokens,
  num_threads: modelConfig.numThreads,
  provider: modelConfig.provider,
  modeling_unit: modelConfig.modelingUnit,
  bpe_vocab: modelConfig.bpeVocab,
  decoding_method: config.decodingMethod,
  max_active_paths: config.maxActivePaths,
  hotwords_file: config.hotwordsFile,
  hotwords_score: config.hotwordsScore,
})

/** A function of the library. Its declaration says which types it takes and returns. */
type NativeFunction = (...given: readonly unknown[]) => unknown

const declareFunctions = () => {
  const { koffi, library } = loadSherpaLibrary()
  const declare = (signature: string): NativeFunction => library.func(signature)
  const config = koffi.pointer(koffi.struct(configLayout))
  const freeText = declare('void SherpaOnnxDestroyOnlineStreamResultJson(void *text)')
  const text = koffi.disposable('str', freeText)
  const readResult: NativeFunction = library.func('SherpaOnnxGetOnlineStreamResultAsJson', text, ['void *', 'void *'])
  const createRecognizer: NativeFunction = library.func('SherpaOnnxCreateOnlineRecognizer', 'void *', [config])
  return {
    createRecognizer,
    readResult,
    version: declare('const char *SherpaOnnxGetVersionStr()'),
    createStream: declare('void *SherpaOnnxCreateOnlineStream(void *recognizer)'),
    createStreamWithHotwords: declare(
      'void *SherpaOnnxCreateOnlineStreamWithHotwords(void *recognizer, const char *hotwords)',
    ),
    freeStream: declare('void SherpaOnnxDestroyOnlineStream(void *stream)'),
    acceptWaveform: declare(
      'void SherpaOnnxOnlineStreamAcceptWaveform(void *stream, int32_t rate, const float *samples, int32_t count)',
    ),
    inputFinished: declare('void SherpaOnnxOnlineStreamInputFinished(void *stream)'),
    isReady: declare('int32_t SherpaOnnxIsOnlineStreamReady(void *recognizer, void *stream)'),
    decode: declare('void SherpaOnnxDecodeOnlineStream(void *recognizer, void *stream)'),
  }
}

type NativeFunctions = ReturnType<typeof declareFunctions>

const wrongVersion = (version: string): SpeechError =>
  new SpeechError(
    'invalid-model',
    `"sessionPhrases" in model.json needs sherpa-onnx ${knownVersion}x, and ${version} is installed: npm install ${sherpaPlatform}@~${knownVersion}0.`,
  )

class PhraseStream implements SherpaStream {
  readonly #native: NativeFunctions
  readonly pointer: Pointer

  constructor(native: NativeFunctions, pointer: unknown) {
    if (pointer === null) throw new Error('The library creates no stream.')
    this.#native = native
    this.pointer = pointer as Pointer
  }

  acceptWaveform({ samples, sampleRate }: { readonly samples: Float32Array; readonly sampleRate: number }): void {
    this.#native.acceptWaveform(this.pointer, sampleRate, samples, samples.length)
  }

  inputFinished(): void {
    this.#native.inputFinished(this.pointer)
  }

  free(): void {
    this.#native.freeStream(this.pointer)
  }
}

const pointerOf = (stream: SherpaStream): Pointer => {
  if (stream instanceof PhraseStream) return stream.pointer
  throw new TypeError('This stream is of another recognizer.')
}

/**
 * A recognizer whose streams can have hotwords of their own, beside those of the model. The package has no call for that, but
 * the C interface of its library, which is called here through koffi. Throws if the version of the library is not known, and if it
 * does not load the model.
 */
export const createPhraseRecognizer = (config: SherpaConfig, hotwords: Hotwords): SherpaRecognizer => {
  const native = declareFunctions()
  const version = native.version() as string
  if (!version.startsWith(knownVersion)) throw wrongVersion(version)
  const recognizer = native.createRecognizer(configOf(config))
  if (recognizer === null) throw new Error('The library does not load the model.')
  return {
    createStream: (phrases) =>
      new PhraseStream(
        native,
        phrases === undefined
          ? native.createStream(recognizer)
          : native.createStreamWithHotwords(recognizer, hotwords.textOf(phrases)),
      ),
    isReady: (stream) => native.isReady(recognizer, pointerOf(stream)) !== 0,
    decode: (stream) => void native.decode(recognizer, pointerOf(stream)),
    getResult: (stream) => JSON.parse(native.readResult(recognizer, pointerOf(stream)) as string) as SherpaResult,
  }
}
