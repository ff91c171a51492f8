import { type Codecs, number, oneOf, wholeNumber } from 'rxspeech/internal/protocol/validation'
import { textOption } from '../models/model-json.js'

/** How the language of a session reaches a recognizer. */
export type LanguageSetting =
  /** By the configuration of the recognizer, which changes between two readings. */
  | { readonly by: 'configuration'; readonly fields: readonly string[] }
  /** By an option of its stream. */
  | { readonly by: 'stream'; readonly option: string; readonly field?: string }
  /** When the model is loaded, for all sessions; without one it detects the language. */
  | { readonly by: 'load'; readonly field: string }
  /** The model has its languages, and takes none. */
  | { readonly by: 'nothing' }

/** A type of models that sherpa-onnx runs. */
export interface SherpaType {
  /** The key of `model.json` and of the package's configuration. */
  readonly key: string
  /** Whether it decodes audio as it comes, or a segment as a whole. */
  readonly streaming: boolean
  /** The models of this type that are known. */
  readonly models: string
  /** Its files by their keys, and how the makers of models name each. */
  readonly files: Readonly<Record<string, RegExp>>
  /** What a network calls its type, or the names of its files and folder have, where several types have such files. */
  readonly hint?: RegExp
  /** Folders by their keys, with the files that each must have. */
  readonly folders?: Readonly<Record<string, readonly string[]>>
  /** Without a file of tokens, because its tokenizer is a folder. */
  readonly hasTokens?: false
  /** The package takes the path of the only file itself. */
  readonly isPath?: true
  /** Its own options with the names of the package. */
  readonly options?: Codecs
  /** The value for the package if `model.json` has none. */
  readonly defaults?: Readonly<Record<string, unknown>>
  readonly language: LanguageSetting
  /** ISO 639-1, or as the model names them; absent if the model has them in its metadata, or if they are unknown. */
  readonly languages?: readonly string[]
  /** Whether it detects the language of sessions that may name one. */
  readonly detects?: true
  /** Whether a session must have a language, because there is no reading without. */
  readonly needsLanguage?: true
  /** The rates that it can have in Hz, the usual one first. */
  readonly rates: readonly [number, ...number[]]
  /** How many features its frames have, where the package cannot find out. @default 80 */
  readonly featureDim?: number
  /** Whether it has the times of its tokens: `some` if only some files of this type have them. */
  readonly times: 'yes' | 'some' | 'no'
  readonly hasProbabilities: boolean
  /** Whether letters are cased and there is punctuation: `some` depends on the files. */
  readonly punctuates: 'yes' | 'some' | 'no'
  /** The field that switches punctuation. */
  readonly punctuationField?: string
  /** The field that switches numbers as digits and the like. */
  readonly numbersField?: string
  /** The longest audio that it reads accurately as a whole, in seconds. */
  readonly maxSeconds?: number
  /** Silence that is added before and behind the audio, in milliseconds. */
  readonly leadMs?: number
  readonly tailMs?: number
  /** The field for how much is added behind a final and a partial, as the package counts it. */
  readonly tailField?: { readonly field: string; readonly final: number; readonly partial: number }
  /** Whether it has beam search, and hotwords with it. */
  readonly hasBeamSearch?: true
  /** What it was tried with. */
  readonly tried: 'trained weights' | 'random weights' | 'interface only'
}

const encoder = /encoder/
const decoder = /decoder/
const joiner = /joiner/
/** The only network of its folder. */
const model = /^(?!.*(?:encode|decode|joiner))/
/** Not of a transducer: those have other files. */
const nemoCtc = /EncDec(?:CTC|Hybrid)|nemo|parakeet|giga-?am/i
const tokenCount = wholeNumber({ min: 1, max: 100_000 })
const sampling = { temperature: number({ min: 0, max: 10 }), topP: number({ min: 0, max: 1 }), seed: wholeNumber() }
const nothing: LanguageSetting = { by: 'nothing' }

const cohereLanguages = ['ar', 'de', 'el', 'en', 'es', 'fr', 'it', 'ja', 'ko', 'nl', 'pl', 'pt', 'vi', 'zh']
const qwen3Languages =
  'ar cs da de el en es fa fi fil fr hi hu id it ja ko mk ms nl pl pt ro ru sv th tr vi yue zh'.split(' ')

const base = {
  language: nothing,
  times: 'no',
  hasProbabilities: false,
  punctuates: 'no',
  rates: [16_000],
  tried: 'interface only',
} as const

/** What recognizers of features have that Kaldi's successors make. */
const features = { ...base, rates: [16_000, 8_000] } as const

/** An offline model of one network, whose tokens have times. */
const ctc = (key: string, models: string, more: Partial<SherpaType> = {}): SherpaType => ({
  ...features,
  key,
  streaming: false,
  models,
  files: { model },
  times: 'yes',
  maxSeconds: 30,
  ...more,
})

/**
 * Every type of models that the recognizers of sherpa-onnx 1.13.8 have. `model.json`, its faults, `rxspeech models add`
 * and the table in ENGINES derive from it. Of two types with one key, the files decide.
 */
export const sherpaTypes: readonly SherpaType[] = [
  {
    ...features,
    key: 'transducer',
    streaming: true,
    models: 'Zipformer, Conformer, LSTM, NeMo FastConformer, Nemotron, Parakeet unified, Kroko',
    files: { encoder, decoder, joiner },
    // Nemotron 3.5; the others ignore it.
    language: { by: 'stream', option: 'language' },
    detects: true,
    times: 'yes',
    hasProbabilities: true,
    punctuates: 'some',
    hasBeamSearch: true,
    tried: 'random weights',
  },
  {
    ...features,
    key: 'paraformer',
    streaming: true,
    models: 'streaming Paraformer',
    files: { encoder, decoder },
    tried: 'random weights',
  },
  {
    ...features,
    key: 'zipformer2Ctc',
    streaming: true,
    models: 'streaming Zipformer CTC',
    files: { model },
    times: 'yes',
    tried: 'random weights',
  },
  {
    ...features,
    key: 'nemoCtc',
    hint: nemoCtc,
    streaming: true,
    models: 'streaming NeMo FastConformer CTC',
    files: { model },
    times: 'yes',
    punctuates: 'some',
    tried: 'random weights',
  },
  {
    ...base,
    key: 'toneCtc',
    hint: /\bt[-_]?one\b/i,
    streaming: true,
    models: 'T-one, telephone calls in Russian',
    files: { model },
    languages: ['ru'],
    rates: [8_000],
    times: 'yes',
    leadMs: 300,
    tried: 'random weights',
  },
  {
    ...features,
    key: 'transducer',
    streaming: false,
    models: 'NeMo Parakeet TDT and RNN-T, GigaAM, Zipformer, Conformer',
    files: { encoder, decoder, joiner },
    times: 'yes',
    hasProbabilities: true,
    punctuates: 'some',
    maxSeconds: 30,
    tailMs: 300,
    hasBeamSearch: true,
    tried: 'random weights',
  },
  ctc('nemoCtc', 'NeMo Parakeet CTC, FastConformer CTC, GigaAM CTC', {
    hint: nemoCtc,
    punctuates: 'some',
    tailMs: 300,
    tried: 'random weights',
  }),
  ctc('zipformerCtc', 'Zipformer CTC', { tried: 'random weights', hint: /zipformer.*ctc/i }),
  ctc('wenetCtc', 'WeNet', { tried: 'random weights', hint: /wenet/i }),
  ctc('teleSpeechCtc', 'TeleSpeech, Chinese and its dialects', {
    hint: /tele[-_]?speech/i,
    tried: 'random weights',
    isPath: true,
    languages: ['zh'],
  }),
  ctc('omnilingual', 'Omnilingual ASR, 1600 languages', {
    tried: 'random weights',
    hint: /omnilingual/i,
    rates: [16_000],
    maxSeconds: 40,
  }),
  ctc('dolphin', 'Dolphin, languages of Asia', { tried: 'random weights', hint: /dolphin/i }),
  ctc('medasr', 'MedASR, medical English', { tried: 'random weights', hint: /medasr/i, languages: ['en'] }),
  ctc('fireRedAsrCtc', 'FireRedASR 2 CTC, Chinese and English', {
    tried: 'random weights',
    hint: /fire[-_]?red/i,
    languages: ['zh', 'en'],
  }),
  ctc('tdnn', 'TDNN of yes and no', {
    tried: 'random weights',
    hint: /tdnn/i,
    rates: [8_000],
    featureDim: 23,
    times: 'no',
  }),
  {
    ...features,
    key: 'paraformer',
    streaming: false,
    hint: /paraformer/i,
    models: 'Paraformer',
    files: { model },
    times: 'some',
    maxSeconds: 30,
    tried: 'random weights',
  },
  {
    ...base,
    key: 'whisper',
    hint: /whisper/i,
    streaming: false,
    models: 'Whisper, Distil-Whisper',
    files: { encoder, decoder },
    options: {
      task: oneOf('transcribe', 'translate'),
      // Frames of 10 ms.
      tailPaddings: wholeNumber({ min: 1, max: 3_000 }),
    },
    defaults: { task: 'transcribe' },
    language: { by: 'configuration', fields: ['language'] },
    times: 'some',
    punctuates: 'yes',
    // It ignores what is behind 29.5 s.
    maxSeconds: 28,
    tailField: { field: 'tailPaddings', final: 1_000, partial: 250 },
    tried: 'trained weights',
  },
  {
    ...base,
    key: 'moonshine',
    streaming: false,
    models: 'Moonshine 1',
    files: {
      preprocessor: /preprocess/,
      encoder: /(?:^|[.\-_])encode/,
      uncachedDecoder: /uncached[.\-_]?decode/,
      cachedDecoder: /(?<!un)cached[.\-_]?decode/,
    },
    punctuates: 'yes',
    maxSeconds: 28,
    tailMs: 400,
  },
  {
    ...base,
    key: 'moonshine',
    streaming: false,
    hint: /merged/,
    models: 'Moonshine 2',
    files: { encoder, mergedDecoder: /decoder[.\-_]model[.\-_]merged|merged/ },
    punctuates: 'yes',
    // The decoder of 1.13.8 returns nothing beyond 384 vectors of 24 ms.
    maxSeconds: 8,
    tailMs: 400,
  },
  {
    ...base,
    key: 'senseVoice',
    hint: /sense[-_]?voice/i,
    streaming: false,
    models: 'SenseVoice',
    files: { model },
    language: { by: 'load', field: 'language' },
    languages: ['zh', 'yue', 'en', 'ja', 'ko'],
    times: 'yes',
    punctuates: 'yes',
    numbersField: 'useInverseTextNormalization',
    defaults: { useInverseTextNormalization: 1 },
    maxSeconds: 28,
    tried: 'random weights',
  },
  {
    ...base,
    key: 'canary',
    hint: /canary|EncDecMultiTask/i,
    streaming: false,
    models: 'NeMo Canary 180M flash',
    files: { encoder, decoder },
    // Another language than that of the speech: a translation.
    options: { tgtLang: oneOf('en', 'es', 'de', 'fr') },
    language: { by: 'configuration', fields: ['srcLang', 'tgtLang'] },
    languages: ['en', 'es', 'de', 'fr'],
    needsLanguage: true,
    punctuates: 'yes',
    punctuationField: 'usePnc',
    maxSeconds: 28,
    leadMs: 100,
  },
  {
    ...base,
    key: 'fireRedAsr',
    hint: /fire[-_]?red/i,
    streaming: false,
    models: 'FireRedASR AED, Chinese and English',
    files: { encoder, decoder },
    languages: ['zh', 'en'],
    maxSeconds: 28,
  },
  {
    ...base,
    key: 'cohereTranscribe',
    hint: /cohere/i,
    streaming: false,
    models: 'Cohere Transcribe',
    files: { encoder, decoder },
    language: { by: 'stream', option: 'language', field: 'language' },
    languages: cohereLanguages,
    needsLanguage: true,
    punctuates: 'yes',
    punctuationField: 'usePunct',
    numbersField: 'useItn',
    maxSeconds: 28,
  },
  {
    ...base,
    key: 'qwen3Asr',
    streaming: false,
    models: 'Qwen3-ASR',
    files: { convFrontend: /conv[.\-_]?frontend/, encoder, decoder },
    folders: { tokenizer: ['merges.txt', 'vocab.json', 'tokenizer_config.json'] },
    hasTokens: false,
    options: {
      hotwords: textOption('phrases, separated by commas'),
      maxTotalLen: tokenCount,
      maxNewTokens: tokenCount,
      ...sampling,
    },
    // 128, its own default, cuts longer segments.
    defaults: { maxNewTokens: 512 },
    language: { by: 'stream', option: 'language' },
    languages: qwen3Languages,
    detects: true,
    punctuates: 'yes',
    maxSeconds: 28,
  },
  {
    ...base,
    key: 'funasrNano',
    streaming: false,
    models: 'Fun-ASR-Nano',
    files: { encoderAdaptor: /encoder[.\-_]?adaptor/, llm: /llm/, embedding: /embedding/ },
    folders: { tokenizer: [] },
    hasTokens: false,
    options: {
      systemPrompt: textOption('a text'),
      userPrompt: textOption('a text'),
      hotwords: textOption('phrases, separated by commas'),
      maxNewTokens: tokenCount,
      ...sampling,
    },
    language: { by: 'load', field: 'language' },
    // The package spreads its token times evenly, so they are not used.
    punctuates: 'yes',
    numbersField: 'itn',
    maxSeconds: 28,
  },
]

/** The keys of `model.json` that name a type, each once. */
export const sherpaKeys: readonly string[] = [...new Set(sherpaTypes.map(({ key }) => key))]
