import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deinterleaveChannels } from '../../../../src/audio/channels.js'
import { decodeSamples } from '../../../../src/audio/codec.js'
import { bytesOf } from '../../../../src/audio/pcm.js'
import { liveService, type LiveService } from './live-service.js'
import { play, pythonClients } from './python-player.js'
import { callFile, transcriptOf } from './sample-call.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

/** The offset of the samples. */
const headerBytes = 58

let live: LiveService
const folder = temporaryFolder()
/** The left channel of the call as PCM. */
let left: string
beforeAll(async () => {
  live = await liveService()
  left = join(folder, 'left.raw')
  const [bytes] = deinterleaveChannels(new Uint8Array(readFileSync(callFile).subarray(headerBytes)), 1)
  await writeFile(left, bytesOf(decodeSamples(bytes, 'ulaw')))
})
afterAll(async () => {
  await live.close()
})

type Line = Readonly<Record<string, unknown>>
const jsonOf = (line: Line): Readonly<Record<string, unknown>> => line['json'] as Readonly<Record<string, unknown>>

const start = (change: Line = {}): Line => ({
  MessageName: 'Start',
  Audio: { SampleRate: 8000, ChannelCount: 2, Encoding: 'ulaw' },
  Tenant: 'Default',
  Token: live.token,
  ProjectName: 'transcribe',
  ...change,
})

const dataflow = (steps: readonly unknown[], more: Line = {}): Promise<readonly Line[]> =>
  play('dataflow_player', {
    address: live.service.access.grpc,
    ca: live.service.access.ca,
    steps,
    ...more,
  })

/** After the header of the file; 20 ms of stereo µ-law are 320 bytes. */
const audio = (from = headerBytes, to = 10_000_000, size = 320): unknown => ['audio', callFile, from, to, size]

const eventsNamed = (lines: readonly Line[], name: string): readonly Line[] =>
  lines
    .filter((line) => line['kind'] === 'EVENT')
    .map(jsonOf)
    .filter((event) => event['Name'] === name)

// A complete call takes long when other tests run concurrently.
describe.skipIf(pythonClients.areAbsent)(pythonClients.title('a client of another stack'), () => {
  describe("with Python's gRPC", () => {
    it.each([
      ['a half-close', [], {}],
      ['Finalize', [['request', { MessageName: 'Finalize' }], ['stay']], {}],
      ['gzip', [], { compression: 'gzip' }],
    ] as const)('recognizes the complete call, ended by %s', async (_name, ending, more) => {
      const lines = await dataflow([['request', start()], ['receive', 1], audio(), ...ending], more)
      expect(jsonOf(lines[0] ?? {})).toMatchObject({ MessageName: 'StartResponse', 'operation-result': 'success' })
      const finals = eventsNamed(lines, 'SR Final').toSorted((a, b) => Number(a['Channel']) - Number(b['Channel']))
      expect(finals.map(({ Data }) => (Data as { readonly Text: string }).Text)).toEqual([
        transcriptOf(0),
        transcriptOf(1),
      ])
      expect(lines.at(-1)).toMatchObject({ status: 'OK' })
    })

    it('reads each refusal as a start-response, then a matching status, never UNKNOWN or INTERNAL', async () => {
      for (const [request, code, status] of [
        [start({ Token: 'x' }), 'unauthenticated', 'UNAUTHENTICATED'],
        [start({ Tenant: 'nobody' }), 'tenant-denied', 'PERMISSION_DENIED'],
        [start({ ProjectName: '../transcribe' }), 'project-denied', 'PERMISSION_DENIED'],
        [
          start({ Audio: { SampleRate: true, ChannelCount: 2, Encoding: 'ulaw' } }),
          'invalid-field',
          'INVALID_ARGUMENT',
        ],
        ['{', 'invalid-json', 'INVALID_ARGUMENT'],
        [{ MessageName: 'Begin' }, 'unknown-message', 'INVALID_ARGUMENT'],
      ] as const) {
        const lines = await dataflow([['request', request], ['stay']])
        expect(String(jsonOf(lines[0] ?? {})['operation-result'])).toMatch(new RegExp(`^${code}: `))
        expect(lines.at(-1)).toMatchObject({ status })
      }
    })

    it('stops without a final, and can be cancelled', async () => {
      const stopped = await dataflow([
        ['request', start()],
        ['receive', 1],
        audio(headerBytes, headerBytes + 80_000),
        ['request', { MessageName: 'Stop' }],
        ['stay'],
      ])
      expect(stopped.at(-1)).toMatchObject({ status: 'OK' })
      expect(eventsNamed(stopped, 'SR Final')).toEqual([])
      const cancelled = await dataflow([
        ['request', start()],
        ['receive', 1],
        audio(headerBytes, headerBytes + 80_000),
        ['cancel'],
      ])
      expect(cancelled.at(-1)).toMatchObject({ status: 'CANCELLED' })
    })
  })

  describe("with Python's websockets", () => {
    const recognizer = (steps: readonly unknown[], more: Line = {}): Promise<readonly Line[]> =>
      play('recognizer_player', {
        url: `${live.service.access.wsUrl}/recognizer?ModelName=call`,
        ca: live.service.access.ca,
        token: live.token,
        steps,
        ...more,
      })
    const recognize = (change: Line = {}): Line => ({
      'message-name': 'recognize',
      'audio-format': 'pcm',
      'model-name': 'call',
      'sample-rate': 8000,
      ...change,
    })

    it('recognizes twice on one socket, every field of every result a string', async () => {
      const once = [
        ['send', recognize({ 'vad-graceful-silence-threshold-msec': 0 })],
        ['receive', 1],
        ['audio', left, 0, 10_000_000, 320],
        ['send', { 'message-name': 'finalize-recognition' }],
        ['receive-until', 'final-result'],
      ]
      const lines = await recognizer([...once, ['ping'], ...once, ['close', 1000]])
      const finals = lines.filter((line) => line['message-name'] === 'final-result')
      expect(finals.map((line) => line['text'])).toEqual([transcriptOf(0), transcriptOf(0)])
      expect(new Set(finals.map((line) => line['recognition-id'])).size).toBe(2)
      expect(
        lines
          .flatMap((line) => ('message-name' in line ? Object.values(line) : []))
          .filter((item) => typeof item !== 'string'),
      ).toEqual([])
      expect(lines.at(-1)).toMatchObject({ close: 1000 })
    })

    it('may send the token as a browser does, offer compression, and send its text in fragments', async () => {
      const lines = await recognizer(
        [
          ['fragments', JSON.stringify(recognize()), 7],
          ['receive', 1],
          ['send', { 'message-name': 'stop-recognition' }],
          ['receive', 1],
          ['close', 1000],
        ],
        { token: undefined, subprotocols: ['rxspeech', `bearer.${live.token}`], compression: 'deflate' },
      )
      expect(lines[0]).toEqual({ subprotocol: 'rxspeech', extensions: [] })
      expect(lines.slice(1, 3)).toMatchObject([
        { 'message-name': 'recognize-response', 'operation-result': 'Success' },
        { 'message-name': 'stop-recognition-response', 'operation-result': 'Success' },
      ])
    })

    it('is refused with a status before the socket, and with a close code after it', async () => {
      expect(await recognizer([], { token: 'x' })).toEqual([{ http: 401 }])
      const closed = await recognizer([], { token: undefined, subprotocols: ['rxspeech', 'bearer.x'] })
      expect(closed.at(-1)).toMatchObject({ close: 4401 })
      const early = await recognizer([['bytes', '00000000']])
      expect(early.at(-1)?.['close']).not.toBe(1006)
    })
  })

  it("gets a token with Python's requests, with the form or with Basic, and RFC 6749's errors", async () => {
    const { authUrl, ca, clientId, clientSecret } = live.service.access
    const grant = { grant_type: 'client_credentials', scope: 'Ldm_Integration' }
    const form = { ...grant, client_id: clientId, client_secret: clientSecret }
    const answers = await play('token_player', {
      url: authUrl,
      ca,
      requests: [
        { form },
        { form: grant, basic: [clientId, clientSecret] },
        { form: { ...form, client_secret: 'wrong' } },
        { form: { ...form, scope: 'other' } },
        { form: { ...form, grant_type: 'password' } },
        { method: 'GET' },
      ],
    })
    expect(
      answers.map(({ status, body }) => [status, (body as Line)['error'] ?? (body as Line)['token_type']]),
    ).toEqual([
      [200, 'Bearer'],
      [200, 'Bearer'],
      [401, 'invalid_client'],
      [400, 'invalid_scope'],
      [400, 'unsupported_grant_type'],
      [405, 'invalid_request'],
    ])
    expect(answers[0]?.['body']).toMatchObject({ expires_in: 31536000, scope: 'Ldm_Integration' })
    expect((answers[0]?.['headers'] as Line)['cache-control']).toContain('no-store')
  })
})
