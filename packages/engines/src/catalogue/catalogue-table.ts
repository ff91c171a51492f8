/** The type of a model: a key of `model.json`. */
export type CatalogueType =
  | 'canary'
  | 'cohereTranscribe'
  | 'fireRedAsr'
  | 'fireRedAsrCtc'
  | 'moonshine'
  | 'nemoCtc'
  | 'omnilingual'
  | 'paraformer'
  | 'qwen3Asr'
  | 'senseVoice'
  | 'toneCtc'
  | 'transducer'
  | 'whisper'
  | 'zipformer2Ctc'

/** The files of a model that are kept, by the names that they have in its archive. */
export interface ModelLayout {
  /** Files and folders by their roles, which are keys of `model.json`. */
  readonly parts: Readonly<Record<string, string>>
  /** Absent if the tokenizer is a folder. */
  readonly tokens?: string
  /** Files that those of the roles need beside them. */
  readonly others?: readonly string[]
}

/** A published model: a row of the catalogue. */
export interface CatalogueModel {
  /** What `models pull` calls it. */
  readonly name: string
  /** The archive in the release, without `.tar.bz2`, which is also the one folder in it. */
  readonly archive: string
  /** The length of the archive, if it is known. */
  readonly bytes?: number
  /** The hash of the archive, if it is pinned. */
  readonly sha256?: string
  /** The length of the files that are kept, if it is known. */
  readonly diskBytes?: number
  /** Whether its text appears while someone speaks (a streaming model), or a segment is read as a whole. */
  readonly isLive: boolean
  readonly type: CatalogueType
  readonly layout: ModelLayout
  /** The licence of the weights; absent if it is not known for certain. */
  readonly licence?: string
  /** Codes of ISO 639 with a space between them; `*` for more than anyone lists. */
  readonly languages: string
}

const tokens = 'tokens.txt'
const int8 = { encoder: 'encoder.int8.onnx', decoder: 'decoder.int8.onnx' }
const layout = (parts: ModelLayout['parts']): ModelLayout => ({ parts, tokens })

// What archives call their files: of three networks, all or two of them or only the encoder with 8 bits; of two; and of
// one.
const n3 = layout({ ...int8, joiner: 'joiner.int8.onnx' })
const z3 = layout({ encoder: 'encoder.int8.onnx', decoder: 'decoder.onnx', joiner: 'joiner.int8.onnx' })
const g3 = layout({ encoder: 'encoder.int8.onnx', decoder: 'decoder.onnx', joiner: 'joiner.onnx' })
const k3 = layout({ encoder: 'encoder.onnx', decoder: 'decoder.onnx', joiner: 'joiner.onnx' })
const e3 = (epoch: string): ModelLayout =>
  layout({
    encoder: `encoder-${epoch}.int8.onnx`,
    decoder: `decoder-${epoch}.onnx`,
    joiner: `joiner-${epoch}.int8.onnx`,
  })
const e2 = layout(int8)
const c1 = layout({ model: 'model.int8.onnx' })
const tone = layout({ model: 'model.onnx' })
const cohere = { ...e2, others: ['encoder.int8.onnx.data'] }
const whisper = (size: string): ModelLayout => ({
  parts: { encoder: `${size}-encoder.int8.onnx`, decoder: `${size}-decoder.int8.onnx` },
  tokens: `${size}-tokens.txt`,
})
const m1 = layout({
  preprocessor: 'preprocess.onnx',
  encoder: 'encode.int8.onnx',
  uncachedDecoder: 'uncached_decode.int8.onnx',
  cachedDecoder: 'cached_decode.int8.onnx',
})
const m2 = layout({ encoder: 'encoder_model.ort', mergedDecoder: 'decoder_model_merged.ort' })
const qwen3: ModelLayout = {
  parts: { convFrontend: 'conv_frontend.onnx', ...int8, tokenizer: 'tokenizer' },
  others: ['merges.txt', 'tokenizer_config.json', 'vocab.json'].map((file) => `tokenizer/${file}`),
}

/** The languages of multilingual whisper models. */
const whisper99 =
  'en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th ur hr ' +
  'bg lt la mi ml cy sk te fa lv bn sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr pa si km sn ' +
  'yo so af oc ka be tg sd gu am yi lo uz fo ht ps tk nn mt sa lb my bo tl mg as tt haw ln ha ba jv su'

/** Where the archives of the catalogue are published. */
export const releaseUrl = 'https://github.com/k2-fsa/sherpa-onnx/releases/download/asr-models/'

/**
 * Models that sherpa-onnx publishes. An archive of the release can be replaced under its name, so a hash that is pinned
 * here is what its row describes.
 */
// prettier-ignore
export const catalogue: readonly CatalogueModel[] = [
  { name: 'parakeet-v3', archive: 'sherpa-onnx-nemo-parakeet-tdt-0.6b-v3-int8', bytes: 487_170_055, diskBytes: 671e6, isLive: false, type: 'transducer', layout: n3, licence: 'CC-BY-4.0', languages: 'bg hr cs da nl en et fi fr de el hu it lv lt mt pl pt ro sk sl es sv ru uk', sha256: '5793d0fd397c5778d2cf2126994d58e9d56b1be7c04d13c7a15bb1b4eafb16bf' },
  { name: 'nemotron-3.5', archive: 'sherpa-onnx-nemotron-3.5-asr-streaming-0.6b-560ms-int8-2026-06-11', bytes: 475_271_763, diskBytes: 685e6, isLive: true, type: 'transducer', layout: n3, licence: 'OpenMDW-1.1', languages: 'en es fr it pt nl de tr ru ar hi ja ko vi uk pl sv cs nb da bg fi hr sk zh hu ro et', sha256: 'c6bf5e0df765f9d5b43bc9e0536d4b4b3e7d40bdf5ecf13e45f134c51c05ae3a' },
  { name: 'parakeet-v2', archive: 'sherpa-onnx-nemo-parakeet-tdt-0.6b-v2-int8', bytes: 482_468_385, diskBytes: 661e6, isLive: false, type: 'transducer', layout: n3, licence: 'CC-BY-4.0', languages: 'en', sha256: '157c157bc51155e03e37d2466522a3a737dd9c72bb25f36eb18912964161e1ad' },
  { name: 'parakeet-unified', archive: 'sherpa-onnx-nemo-parakeet-unified-en-0.6b-int8-non-streaming', bytes: 501_350_460, diskBytes: 663e6, isLive: false, type: 'transducer', layout: n3, languages: 'en', sha256: '99f63605b3a85a54c250c0869670a687b7d6598a47bf2421515e1f839a76e150' },
  { name: 'parakeet-unified-live', archive: 'sherpa-onnx-nemo-parakeet-unified-en-0.6b-int8-streaming-560ms', bytes: 501_360_769, diskBytes: 663e6, isLive: true, type: 'transducer', layout: n3, languages: 'en', sha256: 'dd2c2698f102eafbf0ee54bdfd7cd842ec00fa6cf2475cbbb048887f794ff52e' },
  { name: 'parakeet-110m', archive: 'sherpa-onnx-nemo-parakeet_tdt_transducer_110m-en-36000-int8', bytes: 108_035_095, diskBytes: 137e6, isLive: false, type: 'transducer', layout: n3, licence: 'CC-BY-4.0', languages: 'en', sha256: 'f628312e9fdf8686374cb01a69425c41732529d540860311f16f37cbc32cfe9b' },
  { name: 'parakeet-110m-ctc', archive: 'sherpa-onnx-nemo-parakeet_tdt_ctc_110m-en-36000-int8', bytes: 104_337_827, isLive: false, type: 'nemoCtc', layout: c1, licence: 'CC-BY-4.0', languages: 'en', sha256: '17f945007b52ccd8b7200ffc7c5652e9e8e961dfdf479cefcabd06cf5703630b' },
  { name: 'parakeet-ja', archive: 'sherpa-onnx-nemo-parakeet-tdt_ctc-0.6b-ja-35000-int8', bytes: 489_389_564, diskBytes: 659e6, isLive: false, type: 'nemoCtc', layout: c1, licence: 'CC-BY-4.0', languages: 'ja', sha256: '4b0a800ef29f4f4c8667339bf6f60d5bfdc2852ddc9dc5741aea65b6f8d1306b' },
  { name: 'nemotron-en', archive: 'sherpa-onnx-nemotron-speech-streaming-en-0.6b-560ms-int8-2026-04-25', bytes: 463_945_051, diskBytes: 663e6, isLive: true, type: 'transducer', layout: n3, licence: 'NVIDIA Open Model License', languages: 'en', sha256: '78e2b79fcf7271553a74402a76b771b09ea40117a39566a79f52235b23db6358' },
  { name: 'kroko-en', archive: 'sherpa-onnx-streaming-zipformer-en-kroko-2025-08-06', bytes: 57_267_600, diskBytes: 71e6, isLive: true, type: 'transducer', layout: k3, licence: 'CC-BY-SA-4.0', languages: 'en', sha256: 'c8676e5ff9ac2a85296e53ee0fd4d5fb1db6770e7a7647166eeafe349ade6834' },
  { name: 'kroko-de', archive: 'sherpa-onnx-streaming-zipformer-de-kroko-2025-08-06', bytes: 57_565_698, diskBytes: 71e6, isLive: true, type: 'transducer', layout: k3, licence: 'CC-BY-SA-4.0', languages: 'de', sha256: '9e27b783c20e67b0d0f13a258c1861fce199917c969d9176a438bee38df64962' },
  { name: 'kroko-fr', archive: 'sherpa-onnx-streaming-zipformer-fr-kroko-2025-08-06', bytes: 57_220_361, diskBytes: 71e6, isLive: true, type: 'transducer', layout: k3, licence: 'CC-BY-SA-4.0', languages: 'fr', sha256: 'e6ffd3dc43725cd6c8137b05c739f15607d0df946b9b90eb141e10059efca024' },
  { name: 'kroko-es', archive: 'sherpa-onnx-streaming-zipformer-es-kroko-2025-08-06', bytes: 124_394_665, diskBytes: 156e6, isLive: true, type: 'transducer', layout: k3, licence: 'CC-BY-SA-4.0', languages: 'es', sha256: '31b2230a95d23290b308b393da930015a4b2105cb3abb9367aed35f7fcf29cf1' },
  { name: 'whisper-tiny.en', archive: 'sherpa-onnx-whisper-tiny.en', bytes: 118_071_777, diskBytes: 117e6, isLive: false, type: 'whisper', layout: whisper('tiny.en'), licence: 'MIT', languages: 'en', sha256: '2bd6cf965c8bb3e068ef9fa2191387ee63a9dfa2a4e37582a8109641c20005dd' },
  { name: 'whisper-base.en', archive: 'sherpa-onnx-whisper-base.en', bytes: 208_576_005, isLive: false, type: 'whisper', layout: whisper('base.en'), licence: 'MIT', languages: 'en', sha256: '475bc7052ce299c007f6d5d5407ba8601f819a2867f6eecee510ed17df581542' },
  { name: 'whisper-small.en', archive: 'sherpa-onnx-whisper-small.en', bytes: 635_693_775, isLive: false, type: 'whisper', layout: whisper('small.en'), licence: 'MIT', languages: 'en', sha256: '0cdba2b8aaab69e04847f3427cc9709574112e67913a1a84b7fec3a8729faa9a' },
  { name: 'whisper-tiny', archive: 'sherpa-onnx-whisper-tiny', bytes: 116_204_861, diskBytes: 99e6, isLive: false, type: 'whisper', layout: whisper('tiny'), licence: 'MIT', languages: whisper99, sha256: 'c46116994e539aa165266d96b325252728429c12535eb9d8b6a2b10f129e66b1' },
  { name: 'whisper-base', archive: 'sherpa-onnx-whisper-base', isLive: false, type: 'whisper', layout: whisper('base'), licence: 'MIT', languages: whisper99 },
  { name: 'whisper-small', archive: 'sherpa-onnx-whisper-small', bytes: 639_387_718, diskBytes: 375e6, isLive: false, type: 'whisper', layout: whisper('small'), licence: 'MIT', languages: whisper99, sha256: '486a46afbb7ba798507190ffe02fea2dd726049af212e774537efac6afb210a6' },
  { name: 'whisper-turbo', archive: 'sherpa-onnx-whisper-turbo', bytes: 563_790_207, isLive: false, type: 'whisper', layout: whisper('turbo'), licence: 'MIT', languages: whisper99, sha256: 'b11acbbcd660b44a8e0df33724feb5aaa709cf65668f2823d59f656312544f22' },
  { name: 'whisper-distil', archive: 'sherpa-onnx-whisper-distil-large-v3.5', bytes: 529e6, diskBytes: 504e6, isLive: false, type: 'whisper', layout: whisper('distil-large-v3.5'), licence: 'MIT', languages: 'en', sha256: 'ec874c7346d24ef8063e05430ede616d66d80a410360283099d0bdf659187b1d' },
  { name: 'moonshine-tiny', archive: 'sherpa-onnx-moonshine-tiny-en-quantized-2026-02-27', bytes: 29_858_559, diskBytes: 43e6, isLive: false, type: 'moonshine', layout: m2, licence: 'MIT', languages: 'en', sha256: '9ec31b342d8fa3240c3b81b8f82e1cf7e3ac467c93ca5a999b741d5887164f8d' },
  { name: 'moonshine-base', archive: 'sherpa-onnx-moonshine-base-en-quantized-2026-02-27', bytes: 111_266_225, diskBytes: 135e6, isLive: false, type: 'moonshine', layout: m2, licence: 'MIT', languages: 'en', sha256: '43232c1d13013d37317163baec3135bd771a186a4356f28c889bab453bb0e891' },
  { name: 'moonshine-tiny-v1', archive: 'sherpa-onnx-moonshine-tiny-en-int8', bytes: 107_600_538, isLive: false, type: 'moonshine', layout: m1, licence: 'MIT', languages: 'en', sha256: 'd5fe6ec4334fef36255b2a4010412cad4c007e33103fec62fb5d17cad88086f2' },
  { name: 'moonshine-base-v1', archive: 'sherpa-onnx-moonshine-base-en-int8', bytes: 250_807_309, isLive: false, type: 'moonshine', layout: m1, licence: 'MIT', languages: 'en', sha256: '21870cecaa2e44e4e2bf63e02d1072bed183ccd10284871353bd9d24dad14e5e' },
  { name: 'sense-voice', archive: 'sherpa-onnx-sense-voice-zh-en-ja-ko-yue-int8-2024-07-17', bytes: 163_002_883, diskBytes: 228e6, isLive: false, type: 'senseVoice', layout: c1, licence: 'FunASR Model License 1.1', languages: 'zh yue en ja ko', sha256: '7d1efa2138a65b0b488df37f8b89e3d91a60676e416f515b952358d83dfd347e' },
  { name: 'canary-180m', archive: 'sherpa-onnx-nemo-canary-180m-flash-en-es-de-fr-int8', bytes: 153_692_328, diskBytes: 198e6, isLive: false, type: 'canary', layout: e2, licence: 'CC-BY-4.0', languages: 'en es de fr', sha256: '7a38ed8b13f014ad632b09ff8d22e0c6f1359dd046af9235d281dfae841b9ab9' },
  { name: 'fastconformer-en', archive: 'sherpa-onnx-nemo-streaming-fast-conformer-transducer-en-80ms-int8', bytes: 102_813_625, isLive: true, type: 'transducer', layout: n3, licence: 'CC-BY-4.0', languages: 'en', sha256: '7bd33a914e93370a1ba9c2066d9e841bdcad8613fa2a00537c1ae15d851a14d8' },
  { name: 'fastconformer-10', archive: 'sherpa-onnx-nemo-fast-conformer-transducer-be-de-en-es-fr-hr-it-pl-ru-uk-20k-int8', bytes: 106_546_673, diskBytes: 112e6, isLive: false, type: 'transducer', layout: n3, licence: 'CC-BY-4.0', languages: 'be de en es fr hr it pl ru uk', sha256: '06072bad277f0f4c29cc866d7c62b0e47936da39afafeae453faa925025ccad6' },
  { name: 'cohere', archive: 'sherpa-onnx-cohere-transcribe-14-lang-int8-2026-04-01', bytes: 1_699_791_751, diskBytes: 2650e6, isLive: false, type: 'cohereTranscribe', layout: cohere, licence: 'Apache-2.0', languages: 'ar de el en es fr it ja ko nl pl pt vi zh', sha256: 'bd582588d50685a795dcd2807ab77e11361b8312d96c53884682def45ab4206d' },
  { name: 'qwen3-asr', archive: 'sherpa-onnx-qwen3-asr-0.6B-int8-2026-03-25', bytes: 878_702_423, diskBytes: 941e6, isLive: false, type: 'qwen3Asr', layout: qwen3, licence: 'Apache-2.0', languages: 'zh en yue ar de fr es pt id it ko ru th vi ja tr hi ms nl sv da fi pl cs fil fa el hu mk ro', sha256: '393f8a14e2f5fb96746aaab342997a40641001fbd5bf9592a080a8329178ee96' },
  { name: 'omnilingual', archive: 'sherpa-onnx-omnilingual-asr-1600-languages-300M-ctc-int8-2025-11-12', bytes: 292e6, diskBytes: 348e6, isLive: false, type: 'omnilingual', layout: c1, licence: 'Apache-2.0', languages: '*' },
  { name: 'gigaam-v3-ru', archive: 'sherpa-onnx-nemo-transducer-punct-giga-am-v3-russian-2025-12-16', bytes: 170_197_019, diskBytes: 178e6, isLive: false, type: 'transducer', layout: g3, licence: 'MIT', languages: 'ru', sha256: 'f9620a0099019c6afcee26525ef9ed3297fa50dd5691c1902af0c948fc1a470b' },
  { name: 't-one-ru', archive: 'sherpa-onnx-streaming-t-one-russian-2025-09-08', bytes: 128_468_156, diskBytes: 138e6, isLive: true, type: 'toneCtc', layout: tone, licence: 'Apache-2.0', languages: 'ru', sha256: 'b9c907450e99a6e5049e279bf18368a17db0bdc5e63b7fa978943138debbe3ae' },
  { name: 'vosk-small-ru', archive: 'sherpa-onnx-streaming-zipformer-small-ru-vosk-int8-2025-08-16', bytes: 24_110_855, diskBytes: 29e6, isLive: true, type: 'transducer', layout: z3, licence: 'Apache-2.0', languages: 'ru', sha256: '6ba68a01ff3c5445aaf2d61e9b97b026f1149dcc9049d11af3f44f55176341d8' },
  { name: 'zipformer-multi8', archive: 'sherpa-onnx-streaming-zipformer-ar_en_id_ja_ru_th_vi_zh-2025-02-10', bytes: 258_999_581, diskBytes: 340e6, isLive: true, type: 'transducer', layout: e3('epoch-75-avg-11-chunk-16-left-128'), languages: 'ar en id ja ru th vi zh', sha256: '28044b67324f7f831689f0a3761473dd2ade380e93aa53f1dbcd479ef71c40d4' },
  { name: 'zipformer-en', archive: 'sherpa-onnx-streaming-zipformer-en-2023-06-26', bytes: 310_414_022, diskBytes: 71e6, isLive: true, type: 'transducer', layout: e3('epoch-99-avg-1-chunk-16-left-128'), licence: 'Apache-2.0', languages: 'en', sha256: '639e25b578e9e997131402199419c13a941f8e4e198e2da1ce57dbf5cf401282' },
  { name: 'zipformer-en-20m', archive: 'sherpa-onnx-streaming-zipformer-en-20M-2023-02-17', bytes: 127_887_156, diskBytes: 43e6, isLive: true, type: 'transducer', layout: e3('epoch-99-avg-1'), licence: 'Apache-2.0', languages: 'en', sha256: '9c559283e8498d3fe95913c79ca1cb454bb26281ac2b102b41306c7d752765d9' },
  { name: 'zipformer-zh-en', archive: 'sherpa-onnx-streaming-zipformer-bilingual-zh-en-2023-02-20', diskBytes: 191e6, isLive: true, type: 'transducer', layout: e3('epoch-99-avg-1'), languages: 'zh en', sha256: '27ffbd9ee24ad186d99acc2f6354d7992b27bcab490812510665fa8f9389c5f8' },
  { name: 'zipformer-zh', archive: 'sherpa-onnx-streaming-zipformer-zh-int8-2025-06-30', diskBytes: 160e6, isLive: true, type: 'transducer', layout: z3, languages: 'zh' },
  { name: 'zipformer-zh-tiny', archive: 'sherpa-onnx-streaming-zipformer-small-ctc-zh-int8-2025-04-01', bytes: 21_264_113, diskBytes: 27e6, isLive: true, type: 'zipformer2Ctc', layout: c1, languages: 'zh', sha256: 'b3b309f7ce4a737195fcc6963ea19b0653a7d3401580af5ae0d3e284cbb71f0b' },
  { name: 'zipformer-ko', archive: 'sherpa-onnx-zipformer-korean-2024-06-24', diskBytes: 81e6, isLive: false, type: 'transducer', layout: e3('epoch-99-avg-1'), languages: 'ko' },
  { name: 'zipformer-ko-live', archive: 'sherpa-onnx-streaming-zipformer-korean-2024-06-16', isLive: true, type: 'transducer', layout: e3('epoch-99-avg-1'), languages: 'ko' },
  { name: 'zipformer-vi-30m', archive: 'sherpa-onnx-zipformer-vi-30M-int8-2026-02-09', diskBytes: 32e6, isLive: false, type: 'transducer', layout: z3, languages: 'vi' },
  { name: 'reazonspeech-ja', archive: 'sherpa-onnx-zipformer-ja-reazonspeech-2024-08-01', diskBytes: 162e6, isLive: false, type: 'transducer', layout: e3('epoch-99-avg-1'), languages: 'ja' },
  { name: 'fire-red2-ctc', archive: 'sherpa-onnx-fire-red-asr2-ctc-zh_en-int8-2026-02-25', bytes: 521e6, diskBytes: 740e6, isLive: false, type: 'fireRedAsrCtc', layout: c1, licence: 'Apache-2.0', languages: 'zh en' },
  { name: 'fire-red2', archive: 'sherpa-onnx-fire-red-asr2-zh_en-int8-2026-02-26', bytes: 839e6, diskBytes: 1177e6, isLive: false, type: 'fireRedAsr', layout: e2, licence: 'Apache-2.0', languages: 'zh en' },
  { name: 'paraformer-zh', archive: 'sherpa-onnx-paraformer-zh-int8-2025-10-07', diskBytes: 227e6, isLive: false, type: 'paraformer', layout: c1, languages: 'zh' },
  { name: 'x-asr', archive: 'sherpa-onnx-x-asr-zipformer-transducer-zh-en-punct-int8-2026-06-03', isLive: false, type: 'transducer', layout: e3('epoch-99-avg-1'), languages: 'zh en' },
]
