import { NEVER } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { isSpeechError } from '../../src/errors/speech-error.js'
import { dataflow, type DataflowOptions } from '../../src/client/dataflow/dataflow.js'
import { defaultHeartbeatMs } from '../../src/client/options.js'
import { recognize } from '../../src/client/recognizer/recognize.js'
import type { RecognizeOptions } from '../../src/client/recognizer/recognize-on.js'

const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
const shared = { format, token: 'T' }
const recognizing = { ...shared, url: 'wss://speech.example.com', model: 'm' }
const pem = '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n'
const flowing = { ...shared, url: 'localhost:1', tenant: 't', project: 'p' }

const refusalOf = (act: () => unknown): string => {
  try {
    act()
    return 'nothing'
  } catch (error) {
    return isSpeechError(error) ? `${error.code}: ${error.message}` : String(error)
  }
}

/** The option of a name such as `timeouts.startMs`. */
const optionOf = (name: string, value: unknown): object => {
  const [group = '', member] = name.split('.')
  return { [group]: member === undefined ? value : { [member]: value } }
}

type Wrong = readonly [option: string, values: readonly unknown[]]
const ofBoth: readonly Wrong[] = [
  ['token', [undefined, null, '', 5, {}, { accessToken: '' }, { accessToken: 5 }]],
  ['buffer', [5, 'x', []]],
  ['buffer.maxMs', [0, -1, Number.NaN, Infinity, '5', 2 ** 31]],
  ['buffer.maxChunkBytes', [0, 3, 4.5, Number.NaN, Infinity, '9']],
  ['timeouts', [5, null]],
  ['timeouts.tokenMs', [0, -1, Number.NaN, Infinity, '5']],
  ['timeouts.connectMs', [0]],
  ['timeouts.startMs', [0]],
  ['timeouts.finalizeMs', [0]],
  ['timeouts.stopMs', [0]],
  ['timeouts.silenceMs', [0]],
  ['resumption', [5, 'x', null]],
  ['resumption.budgetMs', [0]],
  ['resumption.firstDelayMs', [0]],
  ['resumption.maxDelayMs', [0]],
  ['resumption.maxReplayBytes', [-1, 0.5]],
  ['resumption.maxConnectionMs', [0]],
  ['continuous', ['x']],
  ['connection', [5, null]],
  ['connection.ca', ['no certificate', '', 5, new Uint8Array(3)]],
  ['connection.insecure', ['x', 1]],
  ['connection.proxy', ['x', 'ftp://x', 5]],
  ['connection.heartbeatMs', [-1, 0.5]],
  ['finalize$', [5, [], { subscribe: 1 }]],
  ['stop$', [5, 'x']],
  ['rejected$', [5, {}]],
  ['testing', [5, []]],
  ['testing.scheduler', [5, {}, { now: 1 }]],
  ['testing.random', [5]],
  ['testing.dial', [5]],
]
const ofLinks: readonly Wrong[] = [
  ['link', [5, null]],
  ['link.maxMessageBytes', [0]],
  ['link.highWaterMarkBytes', [-1]],
  ['link.lowWaterMarkBytes', [-1, 262_145]],
  ['link.closeTimeoutMs', [0]],
]
const ofRecognize: readonly Wrong[] = [
  ['url', [undefined, 'speech', 'https://x', 'ws://speech.example.com']],
  ['model', [undefined, '', 5]],
  ['tenant', [5]],
  ['modelVersion', [5]],
  ['audioSplitter', ['x']],
  ['appendModelName', ['x']],
  ['presentToken', ['cookie', 5]],
]
const ofDataflow: readonly Wrong[] = [
  ['model', ['', 5]],
  ['modelVersion', [5]],
  ['audioSplitter', ['x']],
  [
    'url',
    [
      undefined,
      '',
      'https://x',
      'grpc://speech.example.com:1',
      'grpcs://x/path',
      'x/path',
      'x:1/path',
      'x:1//',
      '[::1]:1/path',
    ],
  ],
  ['tenant', [undefined, '', 5]],
  ['project', [undefined, '']],
  ['language', [5]],
  ['protoPath', [5]],
  ['dialect', ['x']],
  ['finalizeBy', ['x']],
  ['update$', [5]],
  ['settings', [5, [], { a: null }, { a: { b: 1 } }]],
  ['callProperties', ['x', { a: undefined }]],
  ['audioOutput', [5, [], { a: 1n }]],
]

describe('the options', () => {
  it.each([...ofBoth, ...ofLinks, ...ofRecognize])(
    'of recognize are rejected by name when %s is invalid',
    (option, values) => {
      for (const value of values) {
        const options = { ...recognizing, ...optionOf(option, value) } as unknown as RecognizeOptions
        expect(refusalOf(() => recognize(options))).toMatch(
          new RegExp(`^invalid-options: ${option.replace('$', '\\$')} `),
        )
      }
    },
  )

  it.each([...ofBoth, ...ofLinks, ...ofDataflow])(
    'of dataflow are rejected by name when %s is invalid',
    (option, values) => {
      for (const value of values) {
        const options = { ...flowing, ...optionOf(option, value) } as unknown as DataflowOptions
        expect(refusalOf(() => dataflow(options))).toMatch(
          new RegExp(`^invalid-options: ${option.replace('$', '\\$')} `),
        )
      }
    },
  )

  it('name the part of voiceActivity that is invalid', () => {
    for (const [name, value] of Object.entries({ sensitivity: 11, preSpeechBufferMs: 0.5, silenceTriggerMs: '4' })) {
      const voiceActivity = { [name]: value }
      const refusals = [
        refusalOf(() => recognize({ ...recognizing, voiceActivity })),
        refusalOf(() => dataflow({ ...flowing, voiceActivity })),
      ]
      for (const refusal of refusals) expect(refusal).toContain(`voiceActivity.${name} must be a whole number`)
    }
  })

  it('name the field of the format that is invalid', () => {
    for (const [field, value] of Object.entries({ encoding: 'mp3', sampleRateHz: 4000, channels: 3 })) {
      const wrong = { format: { ...format, [field]: value } }
      expect(refusalOf(() => recognize({ ...recognizing, ...wrong }))).toContain(`invalid-format: ${field}`)
      expect(refusalOf(() => dataflow({ ...flowing, ...wrong }))).toContain(`invalid-format: ${field}`)
    }
    expect(refusalOf(() => recognize({ ...recognizing, format: undefined as unknown as typeof format }))).toContain(
      'invalid-format',
    )
  })

  it('never show a given text, which may be a secret', () => {
    const secret = 'do-not-show'
    const all = [...ofBoth, ...ofRecognize].map(([option]) =>
      refusalOf(() => recognize({ ...recognizing, ...optionOf(option, secret) })),
    )
    expect(all.join()).not.toContain(secret)
    expect(refusalOf(() => recognize({ ...recognizing, token: { value: secret } as unknown as string }))).not.toContain(
      secret,
    )
  })

  it('use the default heartbeat if it is undefined', () => {
    const asked: (number | undefined)[] = []
    const silent = { connection: { heartbeatMs: undefined } }
    const dial = ({ heartbeatMs }: { readonly heartbeatMs?: number | undefined }) => (asked.push(heartbeatMs), NEVER)
    const recognition = recognize({ ...recognizing, ...silent, testing: { dial } })
    const flow = dataflow({ ...flowing, ...silent, testing: { dial } })
    for (const session of [recognition, flow]) session(NEVER).subscribe().unsubscribe()
    expect(asked).toEqual([defaultHeartbeatMs, defaultHeartbeatMs])
  })

  it('that are unknown are rejected by name, with the option that was probably meant', () => {
    const refusals = [
      { connection: { heartBeatMs: 5 } },
      { closeTimeoutMs: 5 },
      { timeouts: { startMS: 5 } },
      { resumption: { random: Math.random } },
      { dial: () => NEVER },
      { scheduler: undefined },
    ].map((more) => [
      refusalOf(() => recognize({ ...recognizing, ...(more as object) })),
      refusalOf(() => dataflow({ ...flowing, ...(more as object) })),
    ])
    const both = (text: unknown) => [text, text]
    const unknown = (name: string, rest: string) => `invalid-options: Unknown option "${name}"; ${rest}`
    expect(refusals).toEqual([
      both(unknown('connection.heartBeatMs', 'did you mean heartbeatMs?')),
      both(expect.stringMatching(/Unknown option "closeTimeoutMs"; there are .*, connection, link, /)),
      both(unknown('timeouts.startMS', 'did you mean startMs?')),
      both(
        unknown('resumption.random', 'there are budgetMs, firstDelayMs, maxDelayMs, maxReplayBytes, maxConnectionMs.'),
      ),
      both(expect.stringContaining(unknown('dial', 'there are format, token, url, '))),
      both('nothing'),
    ])
  })

  it('accept a service in the same forms as its transport does', () => {
    const session = (url: string, more: object = {}) => refusalOf(() => dataflow({ ...flowing, url, ...more }))
    const urls = [
      'h',
      'h:1',
      'grpcs://h',
      'grpcs://h:1/',
      'h:1/',
      'h/',
      '[::1]:1/',
      'unix:/run/speech.sock',
      'unix:///run/speech.sock',
      'dns:///h:1',
      'dns://1.1.1.1/h:1',
      'grpc://localhost:1',
      'grpc://[::1]:1',
      'dns:///h:1',
      'unix:/s',
    ]
    for (const url of urls) expect(session(url)).toBe('nothing')
    expect(session('grpc://h:1', { connection: { insecure: true } })).toBe('nothing')
    expect(session('grpc://localhost:1', { connection: { ca: pem } })).toContain(
      'invalid-options: ca cannot be used without TLS',
    )
  })

  it('have the same certificates on both transports, as text or bytes, one or several', () => {
    for (const ca of [pem, new TextEncoder().encode(pem), [pem, Buffer.from(pem)]]) {
      expect(() => recognize({ ...recognizing, connection: { ca } })).not.toThrow()
    }
    for (const ca of ['', 'ca.pem', 5, [pem, 'x'], new Uint8Array(3)]) {
      const options = { connection: { ca } as { ca: string } }
      expect(() => recognize({ ...recognizing, ...options })).toThrow('connection.ca must be certificates in PEM')
      expect(() => dataflow({ ...flowing, ...options })).toThrow('connection.ca must be certificates in PEM')
    }
  })

  it('are accepted when they are valid, and an invalid source is rejected by name', () => {
    expect(() =>
      recognize({ ...recognizing, stop$: NEVER, finalize$: NEVER, buffer: { maxChunkBytes: 4 } }),
    ).not.toThrow()
    const session = dataflow({ ...flowing, settings: { a: [1, 'b', true] }, audioOutput: { a: { b: null } } })
    for (const source of [5, 'abc', undefined] as unknown as readonly [][]) {
      expect(refusalOf(() => session(source))).toContain('invalid-options: The audio source must be')
    }
  })

  it('are required', () => {
    expect(refusalOf(() => recognize(undefined as unknown as RecognizeOptions))).toContain('invalid-options')
    expect(refusalOf(() => dataflow(null as unknown as DataflowOptions))).toContain('invalid-options')
  })
})
