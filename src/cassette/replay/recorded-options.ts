import { either } from 'fp-ts'
import type { DataflowOptions } from '../../client/dataflow/dataflow.js'
import { optionsWith } from '../../client/recognition-options.js'
import type { RecognizeOptions } from '../../client/recognizer/recognize-on.js'
import { SpeechError } from '../../errors/speech-error.js'
import { readDataflowRequest } from '../../protocol/dataflow-messages.js'
import { ownValue, parseJsonObject } from '../../protocol/parse-json.js'
import { readRecognizerRequest } from '../../protocol/recognizer-messages.js'
import { redacted, type Cassette } from '../format/cassette.js'

/** The options of the recorded session that its messages contain; the rest are the defaults. */
export const recordedRecognizeOptions = (cassette: Cassette): RecognizeOptions => {
  const request = readRecognizerRequest(firstText(cassette, 'websocket', 'dataflow'))
  if (either.isLeft(request) || request.right.request !== 'recognize') throw unreadableStart('recognize')
  const { modelName, modelTenant, modelVersion } = request.right
  return {
    url: 'ws://localhost',
    token: redacted,
    format: cassette.header.format,
    model: modelName,
    tenant: modelTenant,
    modelVersion,
    ...optionsWith(request.right),
  }
}

/** The same over gRPC. */
export const recordedDataflowOptions = (cassette: Cassette): DataflowOptions => {
  const start = firstText(cassette, 'grpc', 'recognizer')
  const request = readDataflowRequest(start)
  if (either.isLeft(request) || request.right.request !== 'Start') throw unreadableStart('Start')
  const { tenant, projectName, language, settings, callProperties, audio } = request.right
  const json = parseJsonObject(start)
  const isKebab = either.isRight(json) && ownValue(json.right, 'message-name') !== undefined
  return {
    url: 'localhost:0',
    token: redacted,
    format: cassette.header.format,
    tenant,
    project: projectName,
    language,
    settings,
    callProperties,
    audioOutput: audio.output,
    dialect: isKebab ? 'kebab' : 'pascal',
    finalizeBy: hasFinalize(cassette) ? 'request' : 'half-close',
  }
}

const sentTexts = ({ lines }: Cassette): readonly string[] =>
  lines.flatMap((line) => (line.event === 'sent' && line.text !== undefined ? [line.text] : []))

const firstText = (cassette: Cassette, transport: 'grpc' | 'websocket', otherMethod: string): string => {
  if (cassette.header.transport !== transport) {
    throw new SpeechError(
      'invalid-options',
      `The cassette was recorded over ${cassette.header.transport}; use its ${otherMethod}.`,
    )
  }
  return sentTexts(cassette)[0] ?? ''
}

const unreadableStart = (name: string): SpeechError =>
  new SpeechError(
    'invalid-options',
    `The cassette has no ${name} request that can be read; give the session its options and only dial from the replay.`,
  )

const hasFinalize = (cassette: Cassette): boolean =>
  sentTexts(cassette).some((text) => {
    const read = readDataflowRequest(text)
    return either.isRight(read) && read.right.request === 'Finalize'
  })
