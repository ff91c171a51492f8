import fc from 'fast-check'
import type {
  DataflowRequest,
  StartAudio,
  StartRequest,
  UpdateRequest,
  DataflowResponse,
  Settings,
} from '../../src/protocol/dataflow-messages.js'
import type { EventEnvelope, RecognitionData } from '../../src/protocol/dataflow-events.js'
import type {
  RecognizerRequest,
  RecognizeRequest,
  RecognizerFinal,
  RecognizerEvent,
  RecognizerMessage,
  RecognizerMilestone,
  RecognizerResponse,
  RecognizerResult,
} from '../../src/protocol/recognizer-messages.js'

/** Any text, including lone surrogates and control characters. */
export const anyText = fc.string({ unit: 'binary' })
const someText = fc.string({ unit: 'binary', minLength: 1 })
const whole = fc.maxSafeInteger()
const sampleRateHz = fc.integer({ min: 8000, max: 48000 })
/** JSON writes -0 as 0, so -0 does not survive a round trip. */
const noMinusZero = (value: number): number => value + 0
const unit = fc.double({ min: 0, max: 1, noNaN: true }).map(noMinusZero)
/** Any value that JSON.parse can return. */
const anyJson = fc.jsonValue().map((value): unknown => JSON.parse(JSON.stringify(value)))
const jsonObject = fc
  .dictionary(fc.string(), fc.jsonValue())
  .map((value) => JSON.parse(JSON.stringify(value)) as Readonly<Record<string, unknown>>)

const primitive = fc.oneof(anyText, fc.boolean(), fc.double({ noNaN: true, noDefaultInfinity: true }).map(noMinusZero))
export const settings: fc.Arbitrary<Settings> = fc.dictionary(
  fc.string().filter((name) => name !== '__proto__'),
  fc.oneof(primitive, fc.array(primitive)),
)

const startAudio: fc.Arbitrary<StartAudio> = fc.record(
  {
    sampleRateHz,
    channels: fc.constantFrom(1 as const, 2 as const),
    encoding: fc.constantFrom('pcm' as const, 'ulaw' as const, 'alaw' as const),
    output: jsonObject,
  },
  { requiredKeys: ['sampleRateHz', 'channels', 'encoding'] },
)

const startRequest: fc.Arbitrary<StartRequest> = fc.record(
  {
    audio: startAudio,
    tenant: someText,
    token: someText,
    projectName: someText,
    language: anyText,
    settings,
    callProperties: settings,
  },
  { requiredKeys: ['audio', 'tenant', 'token', 'projectName'] },
)

const updateRequest: fc.Arbitrary<UpdateRequest> = fc.record(
  { settings, callProperties: settings },
  { requiredKeys: [] },
)

export const dataflowRequest: fc.Arbitrary<DataflowRequest> = fc.oneof(
  startRequest.map((start) => ({ request: 'Start' as const, ...start })),
  updateRequest.map((update) => ({ request: 'Update' as const, ...update })),
  fc.constantFrom({ request: 'Finalize' as const }, { request: 'Stop' as const }),
)

export const dataflowResponse: fc.Arbitrary<DataflowResponse> = fc.record(
  { messageName: anyText, operationResult: anyText },
  { requiredKeys: ['operationResult'] },
)

export const eventEnvelope: fc.Arbitrary<EventEnvelope> = fc.record(
  {
    name: anyText,
    channel: whole,
    startMs: whole,
    endMs: whole,
    groupId: anyText,
    tags: fc.array(anyText),
    data: anyJson,
  },
  { requiredKeys: ['name'] },
)

const word = fc.record({ text: anyText, startMs: whole, endMs: whole, confidence: unit })
/** `__proto__` is no name of a slot. */
const slots = fc.dictionary(
  anyText.filter((name) => name !== '__proto__'),
  anyText,
)
export const recognitionData: fc.Arbitrary<RecognitionData> = fc.record(
  {
    text: anyText,
    confidence: unit,
    stableLength: whole,
    words: fc.array(word),
    slots,
    isIncomplete: fc.constant(true as const),
    recognitionId: anyText,
    error: anyText,
  },
  { requiredKeys: ['text'] },
)

const recognizeRequest: fc.Arbitrary<RecognizeRequest> = fc.record(
  {
    audioFormat: fc.constant('pcm' as const),
    modelName: someText,
    modelTenant: anyText,
    modelVersion: anyText,
    sampleRateHz,
    audioSplitter: fc.constantFrom('realtime-vad' as const, 'audio-segmenter' as const),
    sensitivity: fc.integer({ min: 1, max: 10 }),
    preSpeechBufferMs: fc.integer({ min: 0, max: 5_000 }),
    postSpeechBufferMs: fc.integer({ min: 0, max: 5_000 }),
    maxSpeechDurationMs: fc.oneof(fc.constant(-1), fc.integer({ min: 1_000 })),
    silenceTriggerMs: fc.integer({ min: 50, max: 60_000 }),
    completeSilenceMs: fc.oneof(fc.constant(0), fc.integer({ min: 50, max: 60_000 })),
    gracefulSilenceThresholdMs: fc.nat(),
    reject: fc.constantFrom('off' as const, 'low' as const, 'medium' as const, 'high' as const),
    phrases: fc.array(anyText, { maxLength: 3 }),
    language: fc.constantFrom('en', 'pt-BR', 'auto'),
  },
  { requiredKeys: ['audioFormat', 'modelName', 'sampleRateHz'] },
)

export const recognizerRequest: fc.Arbitrary<RecognizerRequest> = fc.oneof(
  recognizeRequest.map((recognize) => ({ request: 'recognize' as const, ...recognize })),
  fc.constantFrom({ request: 'stop-recognition' as const }, { request: 'finalize-recognition' as const }),
)

const recognizerResponse: fc.Arbitrary<RecognizerResponse> = fc.record(
  { operationResult: anyText, recognitionId: anyText },
  { requiredKeys: ['operationResult'] },
)
/** The wire has two decimals (PROTOCOL 4.2). */
const hundredths = fc.integer({ min: 0, max: 100 }).map((count) => count / 100)
const resultFields = { recognitionId: anyText, text: anyText, channel: whole, startMs: whole, endMs: whole }
const recognizerResult: fc.Arbitrary<RecognizerResult> = fc.record(resultFields, { requiredKeys: ['text'] })
const recognizerMilestone: fc.Arbitrary<RecognizerMilestone> = fc.record(
  { ...resultFields, confidence: hundredths, words: fc.array(word), slots, isIncomplete: fc.constant(true as const) },
  { requiredKeys: ['text'] },
)
const recognizerFinal: fc.Arbitrary<RecognizerFinal> = fc.record(
  {
    ...resultFields,
    operationResult: anyText,
    confidence: hundredths,
  },
  { requiredKeys: ['text', 'operationResult'] },
)

const recognizerEvent: fc.Arbitrary<RecognizerEvent> = fc.record(
  { recognitionId: anyText, name: anyText, channel: whole, startMs: whole, endMs: whole, data: anyJson },
  { requiredKeys: ['name'] },
)

export const recognizerMessage: fc.Arbitrary<RecognizerMessage> = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(
        'recognize-response' as const,
        'stop-recognition-response' as const,
        'finalize-recognition-response' as const,
      ),
      recognizerResponse,
    )
    .map(([message, fields]) => ({ message, ...fields })),
  recognizerResult.map((fields) => ({ message: 'partial-result' as const, ...fields })),
  recognizerMilestone.map((fields) => ({ message: 'milestone-result' as const, ...fields })),
  recognizerFinal.map((fields) => ({ message: 'final-result' as const, ...fields })),
  recognizerEvent.map((fields) => ({ message: 'event' as const, ...fields })),
)
