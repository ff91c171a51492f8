import { describe, expect, it } from 'vitest'
import {
  defaultSegmenterParameters,
  validateSegmenterParameters,
} from '../../../src/service/recognition/segmenter-parameters.js'

const refused: readonly (readonly [keyof typeof defaultSegmenterParameters, string, readonly unknown[]])[] = [
  ['splitter', 'audio-splitter', ['vad', '', 1, undefined]],
  ['sensitivity', 'vad-sensitivity', [0, 11, 5.5, '6', null, NaN]],
  ['preSpeechMs', 'vad-pre-speech-buffer-msec', [-1, 5001, 1.5, true]],
  ['postSpeechMs', 'vad-post-speech-buffer-msec', [-1, 5001, [], {}]],
  ['maxSpeechMs', 'vad-max-speech-duration-msec', [-2, 0, 999, Infinity, undefined]],
  ['silenceTriggerMs', 'vad-silence-trigger-msec', [-1, 0, 49, 60_001]],
  ['gracefulSilenceMs', 'vad-graceful-silence-threshold-msec', [-1, Infinity, '10000']],
  ['onsetMs', 'vad-onset-msec', [-1, 1001]],
]

const allowed: readonly (readonly [keyof typeof defaultSegmenterParameters, readonly unknown[]])[] = [
  ['splitter', ['realtime-vad', 'audio-segmenter']],
  ['sensitivity', [1, 10]],
  ['preSpeechMs', [0, 5000]],
  ['postSpeechMs', [0, 5000]],
  ['maxSpeechMs', [-1, 1000, 3_600_000]],
  ['silenceTriggerMs', [50, 60_000]],
  ['gracefulSilenceMs', [0, 86_400_000]],
  ['onsetMs', [0, 1000]],
]

describe('validateSegmenterParameters', () => {
  it('returns the defaults', () => {
    expect(validateSegmenterParameters(defaultSegmenterParameters)).toBe(defaultSegmenterParameters)
  })

  for (const [key, field, values] of refused) {
    it(`rejects ${key} outside its range by the name ${field}`, () => {
      for (const value of values) {
        expect(() => validateSegmenterParameters({ ...defaultSegmenterParameters, [key]: value })).toThrowError(
          expect.objectContaining({
            code: 'invalid-field',
            message: expect.stringContaining(`${field} must be`) as string,
          }) as Error,
        )
      }
    })
  }

  for (const [key, values] of allowed) {
    it(`allows ${key} at the ends of its range`, () => {
      for (const value of values) {
        const parameters = { ...defaultSegmenterParameters, [key]: value }
        expect(validateSegmenterParameters(parameters)).toBe(parameters)
      }
    })
  }
})
