import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { either } from 'fp-ts'
import { lastValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { SoundFault } from '../../../../src/audio/sound-check/sound-warning.js'
import { requestToken } from '../../../../src/auth/request-token.js'
import type { TokenFetch } from '../../../../src/auth/token-fetch.js'
import { parseToken, tokenResponse } from '../../../../src/auth/token-response.js'
import { errorTable } from '../../../../src/errors/error-table.js'
import {
  contentType,
  readDataflowRequest,
  settingFields,
  requestNames,
  writeDataflowRequest,
  type DataflowRequest,
  type StartAudio,
  type StartRequest,
  type UpdateRequest,
  readDataflowResponse,
  writeDataflowResponse,
} from '../../../../src/protocol/dataflow-messages.js'
import {
  eventEnvelope,
  readEventEnvelope,
  type EventEnvelope,
  recognitionData,
  sessionEventOf,
  type RecognitionData,
} from '../../../../src/protocol/dataflow-events.js'
import { eventName } from '../../../../src/protocol/event-name.js'
import {
  readRecognizerRequest,
  writeRecognizerRequest,
  type RecognizeRequest,
  readRecognizerMessage,
  writeRecognizerMessage,
  type RecognizerFinal,
  type RecognizerMilestone,
  type RecognizerPartial,
  type RecognizerResponse,
  type RecognizerResult,
} from '../../../../src/protocol/recognizer-messages.js'
import { recognitionParameters, type ParameterRow } from '../../../../src/protocol/recognition-parameters.js'
import { sessionStates } from '../../../../src/protocol/states.js'
import { defaultSessionLimits } from '../../../server/src/sessions/session-context.js'
import { resolveServiceLimits } from '../../src/configuration/service-options.js'
import { memoryClients } from '../../../server/src/identity/clients/client.js'
import { blocksOf, named, tableBelow } from '../../../../test/docs/markdown.js'
import { endTrailer } from '../../../../src/transport/grpc/errors.js'

const root = join(__dirname, '../../../..')
const page = readFileSync(join(root, 'docs/PROTOCOL.md'), 'utf8')

const column = (heading: string, index = 0): readonly string[] =>
  tableBelow(page, heading).map((row) => named(row[index]))
const required = (heading: string): readonly string[] => {
  const rows = tableBelow(page, heading)
  return rows.filter((row) => row.includes('yes')).map((row) => named(row[0]))
}
const keys = (json: string): readonly string[] => Object.keys(JSON.parse(json) as object)
const sorted = (names: readonly string[]): readonly string[] => [...names].sort()

// Models with every field; a new field of a codec is a compile error here.
const audio: Required<StartAudio> = { sampleRateHz: 8000, channels: 1, encoding: 'pcm', output: {} }
const start: Required<StartRequest> = {
  audio,
  tenant: 't',
  token: 'x',
  projectName: 'p',
  language: 'en',
  settings: {},
  callProperties: {},
  sessionId: 's',
}
const update: Required<UpdateRequest> = { settings: {}, callProperties: {} }
const envelope: Required<EventEnvelope> = {
  name: 'n',
  channel: 0,
  startMs: 0,
  endMs: 0,
  groupId: 'g',
  tags: [],
  data: null,
}
const word = { text: 'w', startMs: 0, endMs: 1, confidence: 1 }
const data: Required<RecognitionData> = {
  text: 'w',
  confidence: 1,
  stableLength: 1,
  words: [word],
  slots: {},
  isIncomplete: true,
  recognitionId: 'r',
  heardMs: 1,
  error: 'e',
}
const recognize: Required<RecognizeRequest> = {
  audioFormat: 'pcm',
  modelName: 'm',
  modelTenant: 't',
  modelVersion: '1',
  sampleRateHz: 8000,
  sessionId: 's',
  audioSplitter: 'realtime-vad',
  sensitivity: 6,
  preSpeechBufferMs: 0,
  postSpeechBufferMs: 0,
  maxSpeechDurationMs: -1,
  silenceTriggerMs: 400,
  completeSilenceMs: 120,
  gracefulSilenceThresholdMs: 0,
  reject: 'medium',
  phrases: ['ask for maria'],
  language: 'en',
}
const response: Required<RecognizerResponse> = { operationResult: 'Success', recognitionId: 'r', sessionId: 's' }
const result: Required<RecognizerResult> = { recognitionId: 'r', text: 't', channel: 0, startMs: 0, endMs: 1 }
const partial: Required<RecognizerPartial> = { ...result, stableLength: 1 }
const milestone: Required<RecognizerMilestone> = {
  ...result,
  confidence: 1,
  words: [{ text: 't', startMs: 0, endMs: 1, confidence: 1 }],
  slots: {},
  isIncomplete: true,
}
const final: Required<RecognizerFinal> = { ...result, operationResult: 'Success', confidence: 1, heardMs: 1 }

/** Every message with fields: its heading on the page, and a complete example as the codec writes it. */
const messages: Readonly<Record<string, string>> = {
  'Token response': JSON.stringify(
    tokenResponse.encode({ accessToken: 'x', expiresInSeconds: 1, tokenType: 'Bearer', scope: 's' }),
  ),
  Start: writeDataflowRequest({ request: 'Start', ...start }),
  Audio: JSON.stringify((JSON.parse(writeDataflowRequest({ request: 'Start', ...start })) as { Audio: object }).Audio),
  Update: writeDataflowRequest({ request: 'Update', ...update }),
  Response: writeDataflowResponse('success', 'Start', 's'),
  Event: JSON.stringify(eventEnvelope.encode(envelope)),
  'Result data': JSON.stringify(recognitionData.encode(data)),
  Word: JSON.stringify((recognitionData.encode(data)['Words'] as readonly object[])[0]),
  recognize: writeRecognizerRequest({ request: 'recognize', ...recognize }),
  Responses: writeRecognizerMessage({ message: 'recognize-response', ...response }),
  // Every field that one of both has.
  Results: JSON.stringify({
    ...(JSON.parse(writeRecognizerMessage({ message: 'partial-result', ...partial })) as object),
    ...(JSON.parse(writeRecognizerMessage({ message: 'milestone-result', ...milestone })) as object),
  }),
  'final-result': writeRecognizerMessage({ message: 'final-result', ...final }),
}

/** The reader of each message, to determine which fields are required. */
const reads: Readonly<Record<string, (json: string) => boolean>> = {
  'Token response': (json) => either.isRight(parseToken(json, 0)),
  Start: (json) => either.isRight(readDataflowRequest(json)),
  Audio: (json) => {
    const whole = JSON.parse(messages['Start'] ?? '') as object
    return either.isRight(readDataflowRequest(JSON.stringify({ ...whole, Audio: JSON.parse(json) as object })))
  },
  Update: (json) => either.isRight(readDataflowRequest(json)),
  Response: (json) => either.isRight(readDataflowResponse(json)),
  Event: (json) => either.isRight(readEventEnvelope(json)),
  'Result data': (json) => either.isRight(recognitionData.decode(JSON.parse(json))),
  Word: (json) => {
    const read = recognitionData.decode({ Text: 't', Words: [JSON.parse(json)] })
    return either.isRight(read) && read.right.words !== undefined
  },
  recognize: (json) => either.isRight(readRecognizerRequest(json)),
  Responses: (json) => either.isRight(readRecognizerMessage(json)),
  Results: (json) => either.isRight(readRecognizerMessage(json)),
  'final-result': (json) => either.isRight(readRecognizerMessage(json)),
}

describe('the tables of fields in PROTOCOL.md', () => {
  it.each(Object.keys(messages))('name every field of "%s" that its codec writes, and no other', (heading) => {
    expect(sorted(column(heading))).toEqual(sorted(keys(messages[heading] ?? '')))
  })

  it.each(Object.keys(messages))('mark the fields as required without which "%s" cannot be read', (heading) => {
    const whole = JSON.parse(messages[heading] ?? '') as Record<string, unknown>
    const needed = Object.keys(whole).filter((key) => {
      const { [key]: _left, ...rest } = whole
      return reads[heading]?.(JSON.stringify(rest)) === false
    })
    expect(sorted(required(heading))).toEqual(sorted(needed))
  })

  it.each([
    ['Start', writeDataflowRequest({ request: 'Start', ...start }, 'kebab')],
    ['Update', writeDataflowRequest({ request: 'Update', ...update }, 'kebab')],
    [
      'Audio',
      JSON.stringify(
        (JSON.parse(writeDataflowRequest({ request: 'Start', ...start }, 'kebab')) as { audio: object }).audio,
      ),
    ],
  ])('name the kebab form of every field of "%s"', (heading, json) => {
    expect(sorted(column(heading, 1))).toEqual(sorted(keys(json)))
  })

  it('name the content types by their numbers', () => {
    const row = tableBelow(page, 'Stream message').find((cells) => cells[0] === '`content_type`')
    for (const [name, number] of Object.entries(contentType)) {
      expect(row?.at(-1)).toContain(`\`${name.toUpperCase()}\` ${String(number)}`)
    }
    const proto = readFileSync(join(root, 'proto/dataflow.proto'), 'utf8')
    for (const [field = '', number = '', type = ''] of tableBelow(page, 'Stream message').map((cells) =>
      cells.map(named),
    )) {
      expect(proto).toMatch(new RegExp(`${type === 'enum' ? 'CONTENT_TYPE' : type} ${field} = ${number};`))
    }
  })
})

describe('the token request in PROTOCOL.md', () => {
  it('has the fields that the client sends, with its constants', async () => {
    const bodies: string[] = []
    const fetch: TokenFetch = (_url, { body }) => {
      bodies.push(body)
      return Promise.reject(new Error('not today'))
    }
    const token$ = requestToken({ authUrl: 'https://localhost', clientId: 'i', clientSecret: 's', fetch })
    await expect(lastValueFrom(token$)).rejects.toMatchObject({ code: 'connection-failed' })
    const form = new URLSearchParams(bodies[0])
    expect(column('Token request')).toEqual([...form.keys()])
    for (const [name = '', , value = ''] of tableBelow(page, 'Token request').slice(2)) {
      expect(named(value)).toBe(form.get(named(name)))
    }
  })
})

describe('the parameters of a recognition in PROTOCOL.md', () => {
  const rows = Object.values<ParameterRow>(recognitionParameters)
  const plain = (cell = ''): string => cell.replaceAll('`', '').replace(/^\*extra\*: /, '')
  const isAsDeclared = (row: readonly string[] = [], { codec }: ParameterRow, byDefault?: string | number) => {
    expect(plain(row.at(-2))).toMatch(new RegExp(`^${codec.name}([;:,]|$)`))
    if (byDefault !== undefined) expect(plain(row.at(-1))).toBe(String(byDefault))
  }

  it('are the settings of the transcribe project, in both forms, with their values and defaults', () => {
    const onPage = tableBelow(page, 'Transcribe settings')
    expect(onPage.map((row) => [named(row[0]), named(row[1])])).toEqual(
      Object.values(settingFields).map(({ names }) => names),
    )
    for (const [index, parameter] of rows.entries()) {
      isAsDeclared(onPage.at(index - rows.length), parameter, parameter.projectDefault ?? parameter.default)
    }
  })

  it('are the last fields of recognize, with their values and defaults', () => {
    const onPage = tableBelow(page, 'recognize').slice(-rows.length)
    expect(onPage.map((row) => named(row[0]))).toEqual(rows.map(({ field }) => field))
    for (const [index, parameter] of rows.entries()) isAsDeclared(onPage[index], parameter, parameter.default)
  })
})

describe('the tables of messages in PROTOCOL.md', () => {
  it('name every message of the dataflow stream', () => {
    const names = tableBelow(page, '3.1 Messages').map(([message = '']) => named(message))
    const known = requestNames.flatMap((name) => [name, `${name}Response`])
    expect(sorted(names)).toEqual(sorted([...known, 'AUDIO', 'AUDIO', 'EVENT', 'half-close']))
  })

  it('name every message of the recognizer', () => {
    const requests = ['recognize', 'stop-recognition', 'finalize-recognition']
    const results = ['partial-result', 'milestone-result', 'final-result', 'event']
    for (const name of requests) {
      const json = name === 'recognize' ? (messages['recognize'] ?? '') : JSON.stringify({ 'message-name': name })
      expect(readRecognizerRequest(json)).toMatchObject({ right: { request: name } })
    }
    const names = tableBelow(page, '4.2 Messages').map(([message = '']) => named(message))
    expect(sorted(names)).toEqual(
      sorted([...requests, ...requests.map((name) => `${name}-response`), ...results, 'binary']),
    )
  })

  it('name every event of the transcribe project', () => {
    const rows = page.split('\n').filter((line) => /^\| `(Speech|SR) /.test(line))
    expect(rows.map((row) => named(row))).toEqual(Object.values(eventName))
  })
})

describe('the audio warnings in PROTOCOL.md', () => {
  it('are all kinds that the service reports', () => {
    expect(sorted(column('Audio warnings'))).toEqual(sorted(Object.keys(soundFaults)))
  })
})

describe('the states in PROTOCOL.md', () => {
  it('are those of a session, in their order', () => {
    expect(column('6. States')).toEqual(sessionStates)
  })

  it('name every state of the service', () => {
    const words = page.slice(page.indexOf("The service's states"), page.indexOf('Audio before the start-response'))
    expect([...words.matchAll(/`([a-z]+)`/g)].map(([, name]) => name)).toEqual([
      ...['opened', 'started', 'running', 'flushing', 'ended', 'stopped', 'refused'],
    ])
  })
})

describe('the JSON in PROTOCOL.md', () => {
  const blocks = blocksOf(page)

  it('is the complete content of its blocks', () => {
    expect(blocks.length).toBeGreaterThan(12)
    expect(new Set(blocks.map(({ language }) => language))).toEqual(new Set(['json']))
  })

  it.each(blocks.map(({ text, line }) => [line, text] as const))('of line %i is read by its codec', (_line, text) => {
    expect(readAny(text)).toMatchObject({ _tag: 'Right' })
  })

  it('of both forms of a Start has the same meaning', () => {
    const starts = blocks
      .map(({ text }) => text)
      .filter((text) => /"(MessageName|message-name)": "start"/i.test(text))
      .map((text) => readDataflowRequest(text))
      .flatMap((read) => (either.isRight(read) ? [read.right] : []))
    expect(starts).toHaveLength(2)
    const [first, second] = starts.map((read: DataflowRequest) => ({ ...read, settings: undefined }))
    expect(first).toEqual(second)
  })

  it('has a milestone that is one', () => {
    const event = blocks
      .map(({ text }) => readEventEnvelope(text))
      .find((read) => either.isRight(read) && read.right.name === 'SR Milestone')
    expect(event !== undefined && either.isRight(event) && sessionEventOf(event.right)).toMatchObject({
      type: 'milestone',
    })
  })
})

describe('the errors and limits in PROTOCOL.md', () => {
  it('are named by existing codes', () => {
    const codes = [...page.matchAll(/`([a-z]+(?:-[a-z]+)+)(?::|`)/g)].map(([, code = '']) => code)
    const known = new Set([...Object.keys(errorTable), ...knownWords()])
    expect(codes.filter((code) => !known.has(code))).toEqual([])
  })

  it('are the defaults of the service', () => {
    const limits = new Map(tableBelow(page, '8. Limits').map(([name = '', value = '']) => [name, value]))
    const options = { clients: memoryClients([]), modelFolders: [] }
    const inUse = resolveServiceLimits(options)
    const generous = resolveServiceLimits({ ...options, development: true })
    expect(limits.get('message')).toBe(`${String(inUse.maxMessageBytes / 1_048_576)} MiB`)
    expect(limits.get('sessions of the service')).toMatch(
      new RegExp(`^${String(inUse.sessions)}; ${String(generous.sessions)} `),
    )
    expect(limits.get('sessions of one token')).toMatch(
      new RegExp(`^${String(inUse.sessionsPerToken)}; ${String(generous.sessionsPerToken)} `),
    )
    for (const [name, limit] of [
      ['sessions of one tenant', 'sessionsPerTenant'],
      ['connections of the service, of all interfaces', 'connections'],
      ['connections of one address', 'connectionsPerAddress'],
      ['streams without a Start', 'unstarted'],
      ['streams without a Start of one address', 'unstartedPerAddress'],
      ['streams of one gRPC connection', 'streamsPerConnection'],
    ] as const) {
      const shown = limits.get(name)?.replace(/,(?=\d{3})/g, '')
      expect(shown, name).toMatch(new RegExp(`^${String(inUse[limit])}; ${String(generous[limit])} `))
    }
    expect(limits.get('pace of the audio')).toContain(
      `${String(inUse.maxPacePercent / 100)} times real time after a burst of ${String(inUse.paceBurstMs / 1000)} s`,
    )
    expect(limits.get('socket without a recognition')).toBe(limits.get('no audio'))
    expect(limits.get('time until `Start` (gRPC)')).toBe(`${String(defaultSessionLimits.startWithinMs / 1000)} s`)
    expect(limits.get('session')).toBe(`${String(defaultSessionLimits.maxSessionMs / 3_600_000)} h`)
    expect(limits.get('no audio')).toBe(`${String(defaultSessionLimits.idleMs / 1000)} s`)
    expect(limits.get('audio taken in and not recognized yet')).toBe(
      `${String(defaultSessionLimits.maxPendingAudioMs / 1000)} s`,
    )
  })
})

/** Names with a hyphen that belong to the wire and not to errors. */
/** The compiler keeps them equal to the type. */
const soundFaults: Readonly<Record<SoundFault, true>> = {
  'file-header': true,
  'wrong-encoding': true,
  'swapped-bytes': true,
  'wrong-rate': true,
  'dead-channel': true,
  'equal-channels': true,
  clipping: true,
  'dc-offset': true,
  'mains-hum': true,
}

const knownWords = (): readonly string[] => [
  ...Object.values(messages).flatMap(keys),
  ...keys(writeDataflowRequest({ request: 'Start', ...start }, 'kebab')),
  ...column('Audio', 1),
  ...column('Transcribe settings', 1),
  ...column('4.2 Messages'),
  ...Object.keys(soundFaults),
  ...['half-close', 'realtime-vad', 'audio-segmenter', 'well-known', 'retry-after', endTrailer],
]

/** By the one field that identifies a message. */
const readAny = (text: string): unknown => {
  const json = JSON.parse(text) as Readonly<Record<string, unknown>>
  if ('access_token' in json) return parseToken(text, 0)
  if ('Name' in json) return readEventEnvelope(text)
  if ('MessageName' in json) {
    return String(json['MessageName']).endsWith('Response') ? readDataflowResponse(text) : readDataflowRequest(text)
  }
  if (json['message-name'] === 'start') return readDataflowRequest(text)
  const request = readRecognizerRequest(text)
  return either.isRight(request) ? request : readRecognizerMessage(text)
}
