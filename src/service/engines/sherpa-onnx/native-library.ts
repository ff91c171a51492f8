import type * as Koffi from 'koffi'
import { SpeechError } from '../../../errors/speech-error.js'
import {
  loadSherpaLibrary,
  sherpaPlatform,
  type SherpaConfig,
  type SherpaRecognizer,
  type SherpaResult,
} from './package.js'

/** The versions whose `SherpaOnnxOnlineRecognizerConfig` is known here. */
const knownVersion = '1.13.'

type FieldOfConfig = readonly [type: string, value?: string | number | undefined]

/**
 * The types and values of the fields of `SherpaOnnxOnlineRecognizerConfig` (c-api.h), with all of its parts in one. What has no value is
 * 0, for which the library takes its default.
 */
const configFields = ({ featConfig, modelConfig, ...config }: SherpaConfig): readonly FieldOfConfig[] => [
  ['int', featConfig.sampleRate],
  ['int', featConfig.featureDim],
  ['str', modelConfig.transducer?.encoder],
  ['str', modelConfig.transducer?.decoder],
  ['str', modelConfig.transducer?.joiner],
  // Two files of a Paraformer and one of a CTC model.
  ['str[3]'],
  ['str', modelConfig.tokens],
  ['int', modelConfig.numThreads],
  ['str', modelConfig.provider],
  ['int', modelConfig.debug],
  // The type of the model, which the library finds out.
  ['str'],
  ['str', modelConfig.modelingUnit],
  ['str', modelConfig.bpeVocab],
  // The tokens as a text, its length, and one file of each of two other types of models.
  ['str'],
  ['int'],
  ['str[2]'],
  ['str', config.decodingMethod],
  ['int', config.maxActivePaths],
  ['int', config.enableEndpoint],
  // The rules for the end of speech.
  ['float[3]'],
  ['str', config.hotwordsFile],
  ['float', config.hotwordsScore],
  // The rest, and room for fields of later versions.
  ['uint64_t[64]'],
]

const pointer = 'void *'

type Type = string | Koffi.TypeObject

/** A function of the library. Its declaration says which types it takes and returns. */
type NativeFunction = (...given: readonly unknown[]) => unknown

/**
 * A recognizer whose streams can have hotwords of their own, beside those of the model. The package has no call for
 * that, but the C interface of its library has one, which is called here through koffi. Throws if the version of the library is not
 * known, and if it does not load the model.
 *
 * @param textOf one hotword per line
 */
export const createPhraseRecognizer = (
  settings: SherpaConfig,
  textOf: (phrases: readonly string[]) => string,
): SherpaRecognizer => {
  const { koffi, library } = loadSherpaLibrary()
  const declare = (result: Type, name: string, ...types: Type[]): NativeFunction =>
    library.func(`SherpaOnnx${name}`, result, types)
  const version = declare('str', 'GetVersionStr')() as string
  if (!version.startsWith(knownVersion)) {
    const sentence = `"sessionPhrases" in model.json needs sherpa-onnx ${knownVersion}x, and ${version} is installed:`
    throw new SpeechError('invalid-model', `${sentence} npm install ${sherpaPlatform}@~${knownVersion}0.`)
  }
  const fields = configFields(settings)
  const layout = koffi.struct(Object.fromEntries(fields.map(([type], index) => [`field${index}`, type])))
  const values = Object.fromEntries(fields.map(([, value], index) => [`field${index}`, value]))
  const recognizer = declare(pointer, 'CreateOnlineRecognizer', koffi.pointer(layout))(values)
  if (recognizer === null) throw new Error('The library does not load the model.')
  const create = declare(pointer, 'CreateOnlineStreamWithHotwords', pointer, 'str')
  const free = declare('void', 'DestroyOnlineStream', pointer)
  const accept = declare('void', 'OnlineStreamAcceptWaveform', pointer, 'int', 'float *', 'int')
  const finish = declare('void', 'OnlineStreamInputFinished', pointer)
  const isReady = declare('int', 'IsOnlineStreamReady', pointer, pointer)
  const decode = declare('void', 'DecodeOnlineStream', pointer, pointer)
  const result = koffi.disposable('str', declare('void', 'DestroyOnlineStreamResultJson', pointer))
  const getResult = declare(result, 'GetOnlineStreamResultAsJson', pointer, pointer)
  return {
    createStream: (phrases = []) => {
      const handle = create(recognizer, textOf(phrases))
      if (handle === null) throw new Error('The library creates no stream.')
      return {
        handle,
        acceptWaveform: ({ samples, sampleRate }) => void accept(handle, sampleRate, samples, samples.length),
        inputFinished: () => void finish(handle),
        free: () => void free(handle),
      }
    },
    isReady: ({ handle }) => isReady(recognizer, handle) !== 0,
    decode: ({ handle }) => void decode(recognizer, handle),
    getResult: ({ handle }) => JSON.parse(getResult(recognizer, handle) as string) as SherpaResult,
  }
}
