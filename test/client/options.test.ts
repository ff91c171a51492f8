import { NEVER } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { isSpeechError } from '../../src/errors/speech-error.js'
import { dataflow, type DataflowOptions } from '../../src/client/dataflow/dataflow.js'
import { defaultHeartbeatMs } from '../../src/client/options.js'
import { recognize } from '../../src/client/recognizer/recognize.js'
import type { RecognizeOptions } from '../../src/client/recognizer/recognize-on.js'

const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
const shared = { format, token: 'T' }
const recognizing = { ...shared, url: 'wss://speech.example.com', modelName: 'm' }
const flowing = { ...shared, address: 'localhost:1', tenant: 't', projectName: 'p' }

const refusalOf = (act: () => unknown): string => {
  try {
    act()
    return 'nothing'
  } catch (error) {
    return isSpeechError(error) ? `${error.code}: ${error.message}` : String(error)
  }
}

type Wrong = readonly [option: string, values: readonly unknown[]]
const ofBoth: readonly Wrong[] = [
  ['token', [undefined, null, '', 5, {}, { accessToken: '' }, { accessToken: 5 }]],
  ['maxBufferMs', [0, -1, Number.NaN, Infinity, '5', 2 ** 31]],
  ['maxAudioMessageBytes', [0, 3, 4.5, Number.NaN, Infinity, '9']],
  ['tokenTimeoutMs', [0, -1, Number.NaN, Infinity, '5']],
  ['connectTimeoutMs', [0]],
  ['startTimeoutMs', [0]],
  ['finalizeTimeoutMs', [0]],
  ['stopTimeoutMs', [0]],
  ['finalize$', [5, [], { subscribe: 1 }]],
  ['stop$', [5, 'x']],
  ['rejected$', [5, {}]],
  ['scheduler', [5, {}, { now: 1 }]],
  ['dial', [5]],
]
const ofLinks: readonly Wrong[] = [
  ['maxMessageBytes', [0]],
  ['highWaterMarkBytes', [-1]],
  ['closeTimeoutMs', [0]],
]
const ofRecognize: readonly Wrong[] = [
  ['url', [undefined, 'speech', 'https://x', 'ws://speech.example.com']],
  ['modelName', [undefined, '', 5]],
  ['modelTenant', [5]],
  ['modelVersion', [5]],
  ['audioSplitter', ['x']],
  ['appendModelName', ['x']],
  ['allowInsecure', [1]],
  ['presentToken', ['cookie', 5]],
]
const ofDataflow: readonly Wrong[] = [
  ['address', [undefined, '']],
  ['tenant', [undefined, '', 5]],
  ['projectName', [undefined, '']],
  ['language', [5]],
  ['insecure', ['x']],
  ['protoPath', [5]],
  ['dialect', ['x']],
  ['finalizeBy', ['x']],
  ['update$', [5]],
  ['settings', [5, [], { a: null }, { a: { b: 1 } }]],
  ['callProperties', ['x', { a: undefined }]],
  ['audioOutput', [5, [], { a: 1n }]],
]

describe('the options', () => {
  it.each([...ofBoth, ...ofLinks, ...ofRecognize, ['heartbeatMs', [-1]] as Wrong])(
    'of recognize are refused by name when %s is wrong',
    (option, values) => {
      for (const value of values) {
        const options = { ...recognizing, [option]: value } as unknown as RecognizeOptions
        expect(refusalOf(() => recognize(options))).toMatch(
          new RegExp(`^invalid-options: ${option.replace('$', '\\$')} `),
        )
      }
    },
  )

  it.each([...ofBoth, ...ofLinks, ...ofDataflow, ['keepaliveMs', [-1, 0.5]] as Wrong])(
    'of dataflow are refused by name when %s is wrong',
    (option, values) => {
      for (const value of values) {
        const options = { ...flowing, [option]: value } as unknown as DataflowOptions
        expect(refusalOf(() => dataflow(options))).toMatch(
          new RegExp(`^invalid-options: ${option.replace('$', '\\$')} `),
        )
      }
    },
  )

  it('name the part of voiceActivity that is wrong', () => {
    for (const [name, value] of Object.entries({ sensitivity: 11, preSpeechBufferMs: 0.5, silenceTriggerMs: '4' })) {
      const options = { ...recognizing, voiceActivity: { [name]: value } }
      expect(refusalOf(() => recognize(options))).toContain(`voiceActivity.${name} must be a whole number`)
    }
  })

  it('name the field of the format that is wrong', () => {
    for (const [field, value] of Object.entries({ encoding: 'mp3', sampleRateHz: 4000, channels: 3 })) {
      const wrong = { format: { ...format, [field]: value } }
      expect(refusalOf(() => recognize({ ...recognizing, ...wrong }))).toContain(`invalid-format: ${field}`)
      expect(refusalOf(() => dataflow({ ...flowing, ...wrong }))).toContain(`invalid-format: ${field}`)
    }
    expect(refusalOf(() => recognize({ ...recognizing, format: undefined as unknown as typeof format }))).toContain(
      'invalid-format',
    )
  })

  it('never show a text that was given, which may be a secret', () => {
    const secret = 'do-not-show'
    const all = [...ofBoth, ...ofRecognize].map(([option]) =>
      refusalOf(() => recognize({ ...recognizing, [option]: secret })),
    )
    expect(all.join()).not.toContain(secret)
    expect(refusalOf(() => recognize({ ...recognizing, token: { value: secret } as unknown as string }))).not.toContain(
      secret,
    )
  })

  it('leave the pings at their default where they are given as undefined', () => {
    const asked: (number | undefined)[] = []
    const silent = { heartbeatMs: undefined, keepaliveMs: undefined } as object
    const recognition = recognize({
      ...recognizing,
      ...silent,
      dial: ({ heartbeatMs }) => (asked.push(heartbeatMs), NEVER),
    })
    const flow = dataflow({ ...flowing, ...silent, dial: ({ keepaliveMs }) => (asked.push(keepaliveMs), NEVER) })
    for (const session of [recognition, flow]) session(NEVER).subscribe().unsubscribe()
    expect(asked).toEqual([defaultHeartbeatMs, defaultHeartbeatMs])
  })

  it('are taken when they are right, and a source is refused by name when it is none', () => {
    expect(() => recognize({ ...recognizing, stop$: NEVER, finalize$: NEVER, maxAudioMessageBytes: 4 })).not.toThrow()
    const session = dataflow({ ...flowing, settings: { a: [1, 'b', true] }, audioOutput: { a: { b: null } } })
    expect(refusalOf(() => session(5 as unknown as []))).toContain('invalid-options: The audio source must be')
  })
})
