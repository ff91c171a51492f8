import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { everyNth } from '../../../../test/thorough.js'
import { plainService, recognizeOf, startOf, type PlainService } from '../plain-service.js'
import { openStream, plainClient } from './plain-dataflow-client.js'
import { openSocket } from './plain-socket-client.js'

let service: PlainService
beforeAll(async () => {
  service = await plainService({ limits: { sessionsPerToken: 200, requestBurst: 10_000 } })
})
afterAll(() => service.close())

const junk: readonly string[] = [
  ...['', ' ', '{', '}', '[]', 'null', 'true', '0', '"x"', 'NaN', '{"a":}', "{'a':1}", '\u0000', '\uFEFF{}', '<xml/>'],
  ...['{"a":1}{"b":2}', '{"message-name":}', '-1e9999', `1${'0'.repeat(400)}`, '{"MessageName":1e309}', '"\ud800"'],
  ...[
    '['.repeat(100_000),
    `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
    `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`,
  ],
  ...['x'.repeat(900_000), JSON.stringify('x'.repeat(900_000)), JSON.stringify({ ['x'.repeat(500_000)]: 1 })],
]
const values: readonly unknown[] = [
  ...[
    null,
    true,
    0,
    -1,
    1.5,
    1e308,
    2 ** 60,
    '',
    ' ',
    '0',
    'NaN',
    '٣',
    'ü',
    '\u0000',
    '\r\n',
    '../../etc/passwd',
    '%00',
  ],
  ...["' OR 1=1", '${7*7}', '<script>', 'x'.repeat(5_000), [], [[]], {}, { a: {} }, ['x']],
]
const prototypes = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty']
type Json = Readonly<Record<string, unknown>>
const variants = (message: Json, fields: readonly string[]): readonly string[] => [
  ...fields.flatMap((field) => values.map((value) => JSON.stringify({ ...message, [field]: value }))),
  ...prototypes.map((name) => JSON.stringify(message).replace('{', `{"${name}":{"polluted":1},`)),
]

/** What a refusal never contains: internals of the service, the token, or the text of the client. */
const inside = /\bat .*\.[jt]s:\d|node_modules|\w+Error\b|position \d+|Unexpected token|polluted|passwd|<script>|OR 1=1/
const expectPlain = (answer: unknown): void => {
  const text = JSON.stringify(answer)
  expect(text).not.toMatch(inside)
  expect(text).not.toContain(service.token.slice(-40))
}
/** Each message, or a share of them, in a separate session. */
const oneByOne = async <Work>(works: readonly Work[], run: (work: Work) => Promise<void>): Promise<void> => {
  const line = works.filter((_work, at) => at % everyNth(4) === 0)
  const next = async (): Promise<void> => {
    for (let work = line.shift(); work !== undefined; work = line.shift()) await run(work)
  }
  await Promise.all(Array.from({ length: 8 }, next))
}

describe('hostile messages', () => {
  it('end a gRPC stream with a status that names the refusal, and reveal no internals', async () => {
    const client = plainClient(service)
    const start = startOf(service.token)
    const fields = ['MessageName', 'Tenant', 'ProjectName', 'Token', 'Audio', 'Settings', 'CallProperties', 'Language']
    const audioFields = ['SampleRate', 'ChannelCount', 'Encoding', 'Output']
    const first = [
      ...junk,
      ...variants(start, fields),
      ...variants(start.Audio, audioFields).map((audio) =>
        JSON.stringify({ ...start, Audio: JSON.parse(audio) as Json }),
      ),
    ]
    const later = [
      ...junk,
      ...variants({ MessageName: 'Update' }, [
        'MessageName',
        'Settings',
        'CallProperties',
        'settings',
        'call-properties',
      ]),
    ]
    await oneByOne([...first.map((text) => [text]), ...later.map((text) => [start, text, text])], async (requests) => {
      const stream = openStream(client)
      for (const request of requests) stream.request(request)
      stream.raw({ binary_content: new Uint8Array(320), content_type: 0 })
      stream.stream.end()
      const { status, details, responses } = await stream.ended
      expect(status).toMatch(
        /^(OK|INVALID_ARGUMENT|FAILED_PRECONDITION|UNAUTHENTICATED|PERMISSION_DENIED|RESOURCE_EXHAUSTED)$/,
      )
      expect(responses.length).toBeGreaterThan(0)
      expectPlain([details, responses])
    })
    expect(first.length + later.length).toBeGreaterThan(450)
    expect(service.faults).toEqual([])
    client.close()
  })

  it('are answered on the WebSocket, or close it with a code that names the refusal', async () => {
    const fields = [
      'message-name',
      'audio-format',
      'sample-rate',
      'model-name',
      'model-tenant',
      'audio-splitter',
      'vad-sensitivity',
    ]
    const first = [...junk, ...variants(recognizeOf(), fields)]
    const marker = '{"message-name":"stop-recognition"}'
    await oneByOne([...first.map((text) => [text]), ...junk.map((text) => [recognizeOf(), text])], async (texts) => {
      const socket = await openSocket(service)
      for (const text of texts) socket.send(text)
      socket.send(marker)
      for (;;) {
        const received = await socket.receive()
        expectPlain(received)
        if ('close' in received) {
          expect([1003, 1007, 1008, 1009]).toContain(received['close'])
          return
        }
        if (received['message-name'] === 'stop-recognition-response') break
      }
      socket.close()
      await socket.receive()
    })
    expect(first.length + junk.length).toBeGreaterThan(200)
    expect(service.faults).toEqual([])
    expect(({} as Json)['polluted']).toBeUndefined()
  })
})
