import { request as httpRequest, type IncomingMessage } from 'node:http'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  noopMonitor,
  type ServiceMonitor,
  type SessionEnd,
  type SessionFacts,
} from '../../../server/src/monitor/service-monitor.js'
import { wavHeader } from '../../../../src/audio/wav-header.js'
import { plainService, subscriptionOf, type PlainService } from '../plain-service.js'

const ended: { readonly facts: SessionFacts; readonly end: SessionEnd }[] = []
const failures: unknown[] = []
const monitor: ServiceMonitor = {
  ...noopMonitor,
  sessionEnded: (facts, end) => ended.push({ facts, end }),
  authFailed: (...failure) => failures.push(failure),
}

let service: PlainService
let wav: Buffer
beforeAll(async () => {
  wav = await readFile('samples/call.wav')
  const options = {
    monitor,
    dialects: ['openai-transcriptions'],
    dialectModels: { 'whisper-1': 'm', 'gpt-lost': 'absent' },
    limits: { sessionsPerToken: 2, requestBurst: 1_000 },
  }
  service = await plainService(options, [await subscriptionOf('narrow', { models: ['n'], tenants: ['Acme'] })])
})
afterAll(() => service.close())

type Fields = readonly (readonly [name: string, value: string | Blob, fileName?: string])[]

const recording = (bytes: Uint8Array = wav): Blob =>
  new Blob([Uint8Array.from(bytes)], { type: 'application/octet-stream' })

const oneChannel = Buffer.concat([
  wavHeader({ encoding: 'pcm', sampleRateHz: 8000, channels: 1 }, 16_000),
  Buffer.alloc(16_000),
])

const formOf = (fields: Fields): FormData => {
  const form = new FormData()
  for (const [name, value, fileName] of fields) {
    if (typeof value === 'string') form.append(name, value)
    else form.append(name, value, fileName ?? 'call.wav')
  }
  return form
}

const urlOf = (path: string): string => `${service.started.authUrl}${path}`

const transcribe = (fields: Fields, token = service.token): Promise<Response> =>
  fetch(urlOf('/v1/audio/transcriptions'), {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}` },
    body: formOf(fields),
  })

interface Refused {
  readonly error: {
    readonly message: string
    readonly type: string
    readonly param: string | null
    readonly code: string
  }
}

const refusalOf = async (answer: Promise<Response>) => {
  const response = await answer
  const { error } = (await response.json()) as Refused
  return { status: response.status, retry: response.headers.get('x-should-retry'), ...error }
}

describe('POST /v1/audio/transcriptions', () => {
  it('answers with the text, whichever part comes first', async () => {
    for (const fields of [
      [
        ['file', recording()],
        ['model', 'm'],
      ],
      [
        ['model', 'whisper-1'],
        ['file', recording()],
      ],
    ] as const) {
      const response = await transcribe(fields)
      expect(response.status).toBe(200)
      const { text, usage } = (await response.json()) as { text: string; usage: { seconds: number } }
      expect(text).toMatch(/^hello world( hello world)*$/)
      expect(usage.seconds).toBeGreaterThan(1)
    }
  })

  it('reads what curl sends, as guides of clients write it', async ({ skip }) => {
    const curl = promisify(execFile)
    const isThere = await curl('curl', ['--version']).then(
      () => true,
      () => false,
    )
    skip(!isThere, 'curl is not installed')
    const fields = ['file=@samples/call.wav', 'model=whisper-1', 'response_format=text']
    const form = fields.flatMap((field) => ['-F', field])
    const headers = [`Authorization: Bearer ${service.token}`, 'Content-Type: multipart/form-data']
    const { stdout } = await curl('curl', [
      ...['-sS', '--fail-with-body', urlOf('/v1/audio/transcriptions')],
      ...[...headers.flatMap((header) => ['-H', header]), ...form],
    ])
    expect(stdout).toMatch(/^hello world/)
  })

  it('reads a body of an unknown length', async () => {
    const boundary = 'openai-0123456789'
    const request = httpRequest(urlOf('/v1/audio/transcriptions'), {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${service.token}`,
        'Content-Type': `multipart/form-data; boundary=${boundary}`,
        'Transfer-Encoding': 'chunked',
      },
    })
    const head = 'Content-Disposition: form-data; name='
    request.write(`--${boundary}\r\n${head}"file"; filename="a.wav"\r\nContent-Type: application/octet-stream\r\n\r\n`)
    for (let at = 0; at < wav.length; at += 30_000) request.write(wav.subarray(at, at + 30_000))
    request.end(`\r\n--${boundary}\r\n${head}"model"\r\n\r\nm\r\n--${boundary}--\r\n`)
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect(response.statusCode).toBe(200)
    response.resume()
  })

  it('writes segments and words with all fields that clients check', async () => {
    const response = await transcribe([
      ['file', recording()],
      ['model', 'm'],
      ['response_format', 'verbose_json'],
      ['timestamp_granularities[]', 'word'],
      ['timestamp_granularities[]', 'segment'],
    ])
    const body = (await response.json()) as {
      duration: number
      segments: Readonly<Record<string, unknown>>[]
      words: { word: string; start: number; end: number }[]
    }
    expect(body).toMatchObject({ task: 'transcribe', language: 'unknown' })
    const [segment] = body.segments
    for (const name of [
      'id',
      'seek',
      'start',
      'end',
      'temperature',
      'avg_logprob',
      'compression_ratio',
      'no_speech_prob',
    ])
      expect(segment?.[name], name).toBeTypeOf('number')
    expect(body.words[0]).toMatchObject({ word: 'hello' })
    expect(body.words.at(-1)?.end).toBeLessThanOrEqual(body.duration)
  })

  it.each([
    ['text', /^hello world.*\n$/],
    ['srt', /^1\n\d\d:\d\d:\d\d,\d{3} --> .*\nhello world/],
    ['vtt', /^WEBVTT\n\n1\n\d\d:\d\d:\d\d\.\d{3} --> .*\nhello world/],
  ])('writes %s as plain text', async (format, expected) => {
    const response = await transcribe([
      ['file', recording()],
      ['model', 'm'],
      ['response_format', format],
    ])
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/)
    expect(await response.text()).toMatch(expected)
  })

  it('sends definitive texts as events, which together are the text', async () => {
    const response = await transcribe([
      ['file', recording()],
      ['model', 'm'],
      ['stream', 'true'],
    ])
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const events = (await response.text())
      .split('\n\n')
      .filter((frame) => frame !== '')
      .map((frame) => JSON.parse(frame.replace(/^data: /, '')) as { type: string; delta?: string; text?: string })
    expect(events.length).toBeGreaterThan(1)
    expect(events.slice(0, -1).every(({ type }) => type === 'transcript.text.delta')).toBe(true)
    expect(events.at(-1)).toEqual({
      type: 'transcript.text.done',
      text: events.map(({ delta = '' }) => delta).join(''),
    })
  })

  it('refuses a stream by its status if nothing was recognized yet', async () => {
    const broken = transcribe([
      ['file', recording(Buffer.from('no'))],
      ['model', 'm'],
      ['stream', 'true'],
    ])
    expect(await refusalOf(broken)).toMatchObject({ status: 400, code: 'invalid_audio' })
    const cut = await transcribe([
      ['file', recording(wav.subarray(0, 200_000))],
      ['model', 'm'],
      ['stream', 'true'],
    ])
    expect(await cut.text()).toMatch(/event: error\ndata: {"error":{"message":"The WAV file ends early/)
  })

  it('is a session of its client for the operator, with the true address', async () => {
    ended.length = 0
    await transcribe([
      ['file', recording()],
      ['model', 'm'],
    ]).then((response) => response.text())
    await expect.poll(() => ended).toHaveLength(1)
    expect(ended[0]).toMatchObject({
      facts: { interface: 'http', peer: '127.0.0.1', clientId: 'client', model: 'm' },
      end: { outcome: 'completed' },
    })
    expect(ended[0]?.end.audioMs).toBeGreaterThan(1_000)
  })

  it('has the id of its session as x-request-id, and one of its own when it is refused', async () => {
    ended.length = 0
    const response = await transcribe([
      ['file', recording()],
      ['model', 'm'],
    ])
    await response.text()
    await expect.poll(() => ended).toHaveLength(1)
    expect(response.headers.get('x-request-id')).toBe(ended[0]?.facts.sessionId)
    const refused = await transcribe([['model', 'm']])
    const unknown = await transcribe([['model', 'm']], 'not-a-token')
    const ids = [response, refused, unknown].map(({ headers }) => headers.get('x-request-id') ?? '')
    for (const id of ids) expect(id).toMatch(/^[\da-f-]{36}$/)
    expect(new Set(ids).size).toBe(3)
  })

  it('takes two channels for two speakers in diarized_json, each a session of the request', async () => {
    ended.length = 0
    const response = await transcribe([
      ['file', recording()],
      ['model', 'm'],
      ['response_format', 'diarized_json'],
    ])
    const body = (await response.json()) as {
      readonly text: string
      readonly segments: readonly { readonly speaker: string; readonly text: string; readonly start: number }[]
    }
    expect([...new Set(body.segments.map(({ speaker }) => speaker))].sort()).toEqual(['A', 'B'])
    expect(body.segments[0]).toMatchObject({ type: 'transcript.text.segment', id: 'seg_0', text: 'hello world' })
    expect(body.segments.map(({ start }) => start)).toEqual(
      body.segments.map(({ start }) => start).sort((a, b) => a - b),
    )
    expect(body.text).toMatch(/^hello world( hello world)+$/)
    await expect.poll(() => ended).toHaveLength(2)
    const id = response.headers.get('x-request-id') ?? ''
    expect(ended.map(({ facts }) => facts.sessionId).sort()).toEqual([id, `${id}-2`])
    const mono = transcribe([
      ['file', recording(oneChannel)],
      ['model', 'm'],
      ['response_format', 'diarized_json'],
    ])
    expect(await refusalOf(mono)).toMatchObject({ status: 400, param: 'response_format', code: 'invalid_value' })
    expect(service.faults).toEqual([])
  })

  it.each([
    ['an option that is not supported', [['prompt', 'Names']], 400, 'prompt', 'unsupported_parameter'],
    ['an unknown stream', [['stream', 'yes']], 400, 'stream', 'invalid_value'],
    ['a field that is unknown', [['speed', '2']], 400, 'speed', 'unknown_parameter'],
    [
      'an object in place of a value',
      [['chunking_strategy[type]', 'server_vad']],
      400,
      'chunking_strategy[type]',
      'unsupported_parameter',
    ],
    ['an unknown format', [['response_format', 'xml']], 400, 'response_format', 'invalid_value'],
    [
      'granularities without verbose_json',
      [['timestamp_granularities[]', 'word']],
      400,
      'timestamp_granularities',
      'invalid_value',
    ],
  ] as const)('refuses %s by its name', async (_case, fields, status, param, code) => {
    const refused = await refusalOf(transcribe([['file', recording()], ['model', 'm'], ...fields]))
    expect(refused).toMatchObject({ status, param, code, type: 'invalid_request_error', retry: 'false' })
  })

  it.each([
    ['nova-3', 'client'],
    ['gpt-lost', 'client'],
    ['m', 'narrow'],
  ])('refuses the model %s of the client %s, which is not there for it', async (model, clientId) => {
    const fields: Fields = [
      ['file', recording()],
      ['model', model],
    ]
    const refused = await refusalOf(transcribe(fields, await service.newToken(clientId)))
    expect(refused).toMatchObject({ status: 404, code: 'model_not_found', param: 'model' })
  })

  it('refuses what is no recording, and no form, with a sentence', async () => {
    const noWav = refusalOf(
      transcribe([
        ['file', recording(Buffer.from('not audio at all'))],
        ['model', 'm'],
      ]),
    )
    expect(await noWav).toMatchObject({ status: 400, param: 'file', code: 'invalid_audio' })
    expect(await refusalOf(transcribe([['model', 'm']]))).toMatchObject({ status: 400, param: 'file' })
    const noForm = fetch(urlOf('/v1/audio/transcriptions'), {
      method: 'POST',
      headers: { Authorization: `Bearer ${service.token}`, 'Content-Type': 'application/json' },
      body: '{}',
    })
    expect(await refusalOf(noForm)).toMatchObject({ status: 400, code: 'invalid_body' })
  })

  it('refuses a file that is too long, before all of it has arrived', async () => {
    const long = transcribe([
      ['file', recording(new Uint8Array(26 * 1_048_576))],
      ['model', 'm'],
    ])
    expect(await refusalOf(long)).toMatchObject({ status: 413, code: 'file_too_large' })
  })

  it('refuses a token that is missing or wrong, as an upgrade does', async () => {
    failures.length = 0
    const refused = await refusalOf(
      transcribe(
        [
          ['file', recording()],
          ['model', 'm'],
        ],
        'not-a-token',
      ),
    )
    expect(refused).toMatchObject({
      status: 401,
      type: 'authentication_error',
      code: 'unauthenticated',
      retry: 'false',
    })
    expect(refused.message).not.toContain('not-a-token')
    expect(await refusalOf(fetch(urlOf('/v1/models')))).toMatchObject({ status: 401 })
    expect(failures).toEqual([
      ['invalid-token', 'http', '127.0.0.1'],
      ['missing-token', 'http', '127.0.0.1'],
    ])
  })

  it('is refused without losing the answer, while its file is still sent', async () => {
    const { hostname, port } = new URL(service.started.authUrl)
    const socket = connect(Number(port), hostname).setEncoding('utf8')
    const head = 'POST /v1/audio/transcriptions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer wrong\r\n'
    socket.write(`${head}Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 60\r\n\r\n--b\r\n`)
    const ended = once(socket, 'end').then(() => 'ended' as const)
    const [answer] = (await once(socket, 'data')) as [string]
    expect(answer).toMatch(/^HTTP\/1.1 401 .*The token is not valid/s)
    // An end would have come before the answer to another request.
    const other = fetch(urlOf('/v1/models')).then(() => 'open' as const)
    expect(await Promise.race([ended, other])).toBe('open')
    socket.write('x'.repeat(55))
    expect(await ended).toBe('ended')
  })

  it('counts against the sessions of its token while it is uploaded, and leaves nothing behind', async () => {
    const uploads = async () => (await readdir(tmpdir())).filter((name) => name.startsWith('rxspeech-upload-'))
    const before = await uploads()
    const slow = Array.from({ length: 2 }, () => {
      const request = httpRequest(urlOf('/v1/audio/transcriptions'), {
        method: 'POST',
        headers: { Authorization: `Bearer ${service.token}`, 'Content-Type': 'multipart/form-data; boundary=b' },
      })
      request.on('error', () => undefined)
      request.write('--b\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF')
      return request
    })
    await expect
      .poll(async () => (await refusalOf(fetch(urlOf('/v1/models'), bearer())).catch(() => undefined))?.status)
      .toBe(429)
    const refused = await refusalOf(fetch(urlOf('/v1/models'), bearer()))
    expect(refused).toMatchObject({ code: 'overloaded', type: 'rate_limit_error', retry: 'true' })
    for (const request of slow) request.destroy()
    await expect.poll(async () => (await fetch(urlOf('/v1/models'), bearer())).status).toBe(200)
    await expect.poll(uploads).toEqual(before)
    expect(service.faults).toEqual([])
  })
})

const bearer = (token = service.token) => ({ headers: { Authorization: `Bearer ${token}` } })

describe('GET /v1/models', () => {
  it('lists what the token grants', async () => {
    const list = (await (await fetch(urlOf('/v1/models'), bearer())).json()) as { data: { id: string }[] }
    expect(list.data.map(({ id }) => id)).toEqual(expect.arrayContaining(['m', 'n']))
    const narrow = bearer(await service.newToken('narrow'))
    const own = (await (await fetch(urlOf('/v1/models'), narrow)).json()) as { data: { id: string }[] }
    expect(own.data.map(({ id }) => id)).toEqual(['n'])
  })

  it('finds one by its name, and by one that is mapped', async () => {
    const found = await fetch(urlOf('/v1/models/whisper-1'), bearer())
    expect(await found.json()).toMatchObject({ id: 'whisper-1', object: 'model' })
    expect(await refusalOf(fetch(urlOf('/v1/models/org%2Fmodel'), bearer()))).toMatchObject({
      status: 404,
      message: expect.stringContaining('org/model') as unknown,
    })
  })

  it.each([
    ['POST', '/audio/transcriptions'],
    ['GET', '/models'],
  ])('says that the base address must end with /v1: %s %s', async (method, path) => {
    const response = await fetch(urlOf(path), { method, headers: { Authorization: `Bearer ${service.token}` } })
    expect(response.status).toBe(404)
    expect(((await response.json()) as Refused).error.message).toBe('The base address of the client must end with /v1.')
  })

  it('can be asked by a page, which reads the answer and its headers', async () => {
    const origin = 'https://example.com'
    const asked = { Origin: origin, 'Access-Control-Request-Method': 'POST' }
    const preflight = await fetch(urlOf('/v1/audio/transcriptions'), { method: 'OPTIONS', headers: asked })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*')
    expect(preflight.headers.get('access-control-allow-headers')).toBe('authorization, *')
    const issued = await fetch(urlOf('/connect/page-token'), {
      method: 'POST',
      headers: { Authorization: `Bearer ${service.token}` },
      body: new URLSearchParams({ origin }),
    })
    const { access_token: token } = (await issued.json()) as { readonly access_token: string }
    const page = (from: string) =>
      fetch(urlOf('/v1/models'), { headers: { Authorization: `Bearer ${token}`, Origin: from } })
    const answer = await page(origin)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    expect(answer.headers.get('access-control-expose-headers')).toContain('x-request-id')
    expect((await page('https://elsewhere.example')).status).toBe(401)
    const other = await fetch(urlOf('/v1/other'), { method: 'OPTIONS', headers: asked })
    expect(other.status).toBe(404)
  })

  it('is for pages only with a token for pages', async () => {
    const page = fetch(urlOf('/v1/models'), { headers: { ...bearer().headers, Origin: 'https://example.com' } })
    expect(await refusalOf(page)).toMatchObject({ status: 401, code: 'unauthenticated' })
  })
})
