import { either } from 'fp-ts'
import { describe, expect, it } from 'vitest'
import { optionsWith, parametersOf } from '../../src/client/recognition-options.js'
import { readRecognizerRequest } from '../../src/protocol/recognizer-messages.js'
import { recognitionParameters, type RecognitionParameters } from '../../src/protocol/recognition-parameters.js'
import { readRecognitionSettings } from '../../packages/server/src/nodes/speech/recognition-settings.js'

type Name = keyof RecognitionParameters

const refused: Readonly<Record<Name, readonly unknown[]>> = {
  audioSplitter: ['vad', '', 1],
  sensitivity: [0, 11, 5.5, '11', null, NaN],
  preSpeechBufferMs: [-1, 5001, 1.5, true],
  postSpeechBufferMs: [-1, 5001, [], {}],
  maxSpeechDurationMs: [-2, 0, 999, '999', Infinity],
  silenceTriggerMs: [-1, 0, 49, 60_001],
  completeSilenceMs: [-1, 1, 49, 60_001],
  gracefulSilenceThresholdMs: [-1, Infinity, 'long'],
  reject: ['', 'none', 1],
  phrases: ['yes', [1], {}],
  language: ['', 'english', 5, 'e'],
}

const accepted: Readonly<Record<Name, readonly unknown[]>> = {
  audioSplitter: ['realtime-vad', 'audio-segmenter'],
  sensitivity: [1, 10, '10', ' 7 '],
  preSpeechBufferMs: [0, 5000],
  postSpeechBufferMs: [0, '5000'],
  maxSpeechDurationMs: [-1, '-1', 1000, 3_600_000],
  silenceTriggerMs: [50, 60_000],
  completeSilenceMs: [0, '0', 50, 60_000],
  gracefulSilenceThresholdMs: [0, 86_400_000],
  reject: ['off', 'low', 'medium', 'high'],
  phrases: [[], ['ask for maria']],
  language: ['en', 'en-US', 'auto'],
}

const names = Object.keys(recognitionParameters) as Name[]

describe.each(names)('the parameter %s', (name) => {
  const { field, setting, codec } = recognitionParameters[name]
  const readField = (value: unknown) =>
    readRecognizerRequest(
      JSON.stringify({
        ...{ 'message-name': 'recognize', 'audio-format': 'pcm', 'model-name': 'm', 'sample-rate': 8000 },
        [field]: value,
      }),
    )
  const refusal = (named: string): unknown => ({
    code: 'invalid-field',
    message: expect.stringMatching(new RegExp(`^${named}(\\.\\d+)? must be `)) as string,
  })

  it.each(refused[name].map((value) => [value]))('refuses %j by its name on both wires', (value) => {
    if (value === Infinity || Number.isNaN(value)) return expect(codec.is(value)).toBe(false)
    expect(readField(value)).toMatchObject({ left: { request: 'recognize', error: refusal(field) } })
    for (const alias of [field, setting]) {
      expect(readRecognitionSettings({ [alias]: value as never })).toMatchObject({ left: refusal(alias) })
    }
  })

  it.each(accepted[name].map((value) => [value]))('accepts %j on both wires', (value) => {
    const request = readField(value)
    expect(either.isRight(request)).toBe(true)
    expect(either.isRight(readRecognitionSettings({ [setting]: value as never }))).toBe(true)
    if (either.isRight(request)) expect(codec.is((request.right as RecognitionParameters)[name])).toBe(true)
  })
})

describe('the parameters of options', () => {
  it('are those that the options with them have', () => {
    const parameters = {
      sensitivity: 7,
      maxSpeechDurationMs: -1,
      audioSplitter: 'audio-segmenter',
      language: 'fr',
    } as const
    expect(optionsWith(parameters)).toEqual({
      audioSplitter: 'audio-segmenter',
      language: 'fr',
      voiceActivity: { sensitivity: 7, maxSpeechDurationMs: -1 },
    })
    expect(parametersOf(optionsWith(parameters))).toEqual(parameters)
  })

  it('are only those of the table', () => {
    const options = { url: 'wss://localhost', token: 'secret', reject: 'low' } as const
    expect(parametersOf(options)).toEqual({ reject: 'low' })
  })
})
