import { either } from 'fp-ts'
import type { AudioFormat } from '../audio/format.js'
import { SpeechError } from '../errors/speech-error.js'
import { readDataflowRequest, type StartRequest } from '../protocol/dataflow-messages.js'
import { ownValue, parseJsonObject } from '../protocol/json-object.js'
import { readRecognizerRequest, type RecognizeRequest } from '../protocol/recognizer-messages.js'
import type { DataflowOptions } from '../client/dataflow/dataflow.js'
import type { RecognizeOptions, VoiceActivityOptions } from '../client/recognizer/recognize-on.js'
import { redacted, type Cassette } from './cassette.js'

/** The options of the session that was recorded, as far as its messages tell them. */
export type RecordedRecognizeOptions = Pick<
  RecognizeOptions,
  'url' | 'token' | 'format' | 'modelName' | 'modelTenant' | 'modelVersion' | 'audioSplitter' | 'voiceActivity'
>
export type RecordedDataflowOptions = Pick<
  DataflowOptions,
  | 'address'
  | 'token'
  | 'format'
  | 'tenant'
  | 'projectName'
  | 'language'
  | 'settings'
  | 'callProperties'
  | 'audioOutput'
  | 'dialect'
  | 'finalizeBy'
>

export const recordedRecognizeOptions = (cassette: Cassette): RecordedRecognizeOptions => {
  const read = readRecognizerRequest(firstWords(cassette, 'websocket', 'dataflow'))
  if (either.isLeft(read) || read.right.request !== 'recognize') throw noStart('recognize')
  const { modelName, modelTenant, modelVersion, audioSplitter } = read.right
  return {
    url: 'ws://localhost',
    token: redacted,
    format: formatOf(cassette),
    modelName,
    ...(modelTenant === undefined ? {} : { modelTenant }),
    ...(modelVersion === undefined ? {} : { modelVersion }),
    ...(audioSplitter === undefined ? {} : { audioSplitter }),
    voiceActivity: voiceActivityOf(read.right),
  }
}

export const recordedDataflowOptions = (cassette: Cassette): RecordedDataflowOptions => {
  const words = firstWords(cassette, 'grpc', 'recognizer')
  const read = readDataflowRequest(words)
  if (either.isLeft(read) || read.right.request !== 'Start') throw noStart('Start')
  const { tenant, projectName, language, settings, callProperties, audio }: StartRequest = read.right
  const json = parseJsonObject(words)
  const isKebab = either.isRight(json) && ownValue(json.right, 'message-name') !== undefined
  return {
    address: 'localhost:0',
    token: redacted,
    format: formatOf(cassette),
    tenant,
    projectName,
    ...(language === undefined ? {} : { language }),
    ...(settings === undefined ? {} : { settings }),
    ...(callProperties === undefined ? {} : { callProperties }),
    ...(audio.output === undefined ? {} : { audioOutput: audio.output }),
    dialect: isKebab ? 'kebab' : 'pascal',
    finalizeBy: saidFinalize(cassette) ? 'request' : 'half-close',
  }
}

const formatOf = ({ header }: Cassette): AudioFormat => header.format

const sentTexts = ({ lines }: Cassette): readonly string[] =>
  lines.flatMap((line) => (line.event === 'sent' && line.text !== undefined ? [line.text] : []))

const firstWords = (cassette: Cassette, transport: 'grpc' | 'websocket', other: string): string => {
  if (cassette.header.transport !== transport) {
    throw new SpeechError(
      'invalid-options',
      `The cassette was recorded over ${cassette.header.transport}; use its ${other}.`,
    )
  }
  return sentTexts(cassette)[0] ?? ''
}

const noStart = (name: string): SpeechError =>
  new SpeechError(
    'invalid-options',
    `The cassette has no ${name} that can be read; give the session its options and dial alone.`,
  )

const saidFinalize = (cassette: Cassette): boolean =>
  sentTexts(cassette).some((text) => {
    const read = readDataflowRequest(text)
    return either.isRight(read) && read.right.request === 'Finalize'
  })

const voiceActivityOf = (request: RecognizeRequest): VoiceActivityOptions => {
  const options: VoiceActivityOptions = {
    ...(request.vadSensitivity === undefined ? {} : { sensitivity: request.vadSensitivity }),
    ...(request.vadPreSpeechBufferMs === undefined ? {} : { preSpeechBufferMs: request.vadPreSpeechBufferMs }),
    ...(request.vadPostSpeechBufferMs === undefined ? {} : { postSpeechBufferMs: request.vadPostSpeechBufferMs }),
    ...(request.vadMaxSpeechDurationMs === undefined ? {} : { maxSpeechDurationMs: request.vadMaxSpeechDurationMs }),
    ...(request.vadSilenceTriggerMs === undefined ? {} : { silenceTriggerMs: request.vadSilenceTriggerMs }),
    ...(request.vadGracefulSilenceThresholdMs === undefined
      ? {}
      : { gracefulSilenceThresholdMs: request.vadGracefulSilenceThresholdMs }),
  }
  return options
}
