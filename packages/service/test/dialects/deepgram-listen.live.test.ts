import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { spoken } from '../../../server/test/sessions/spoken.js'
import { plainService, subscriptionOf, type PlainService } from '../plain-service.js'

let service: PlainService
let speech: Uint8Array
beforeAll(async () => {
  speech = await spoken(9_000)
  const options = {
    dialects: ['deepgram-listen'],
    dialectModels: { 'nova-3': 'm' },
    limits: { sessionsPerToken: 2, requestBurst: 1_000 },
  }
  service = await plainService(options, [await subscriptionOf('narrow', { models: ['n'], tenants: ['Acme'] })])
})
afterAll(async () => {
  expect(service.faults).toEqual([])
  await service.close()
})

const open: WebSocket[] = []
afterEach(() => {
  for (const socket of open.splice(0)) socket.terminate()
})

interface Alternative {
  readonly transcript: string
  readonly confidence: number
  readonly words: readonly { word: string; start: number; end: number; confidence: number; speaker?: number }[]
}

interface Message {
  readonly type: string
  readonly channel_index: readonly [number, number]
  readonly start: number
  readonly duration: number
  readonly is_final: boolean
  readonly speech_final: boolean
  readonly from_finalize: boolean
  readonly channel: { readonly alternatives: readonly [Alternative] }
  readonly metadata: { readonly request_id: string }
  readonly [field: string]: unknown
}

const linear16 = 'model=nova-3&encoding=linear16&sample_rate=8000'

const urlOf = (query: string, { started }: Pick<PlainService, 'started'> = service): string =>
  `${started.authUrl.replace('http', 'ws')}/v1/listen?${query}`

const dial = (query: string, token = service.token, { started }: Pick<PlainService, 'started'> = service) => {
  const socket = new WebSocket(urlOf(query, { started }), { headers: { Authorization: `Token ${token}` } })
  open.push(socket)
  const messages: Message[] = []
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }))
  })
  socket.on('message', (data: Buffer) => messages.push(JSON.parse(data.toString()) as Message))
  const say = (message: object): void => socket.send(JSON.stringify(message))
  const ofType = (type: string): readonly Message[] => messages.filter((message) => message.type === type)
  const finals = (): readonly Message[] => ofType('Results').filter(({ is_final: isFinal }) => isFinal)
  return { socket, messages, closed, say, ofType, finals }
}

const opened = async (query: string) => {
  const client = dial(query)
  const requestId = once(client.socket, 'upgrade').then(
    ([response]: { headers: Record<string, string> }[]) => response?.headers['dg-request-id'],
  )
  await once(client.socket, 'open')
  return { ...client, requestId: await requestId }
}

const textOf = (results: readonly Message[]): string =>
  results
    .map(({ channel }) => channel.alternatives[0].transcript)
    .filter(Boolean)
    .join(' ')

const refusalOf = async (query: string, token?: string) => {
  const { socket } = dial(query, token)
  socket.on('error', () => undefined)
  const [, response] = (await once(socket, 'unexpected-response')) as [
    unknown,
    AsyncIterable<Buffer> & { statusCode: number; headers: Record<string, string> },
  ]
  let body = ''
  for await (const part of response) body += part.toString()
  const { statusCode: status, headers } = response
  return { status, headers, ...(JSON.parse(body) as { err_code: string; err_msg: string; request_id: string }) }
}

describe('the socket /v1/listen', () => {
  it('sends definitive results, then the metadata, and closes with 1000', async () => {
    const { socket, messages, closed, say, finals, requestId } = await opened(linear16)
    for (let at = 0; at < speech.length; at += 1601) socket.send(speech.subarray(at, at + 1601))
    say({ type: 'CloseStream' })
    expect(await closed).toEqual({ code: 1000, reason: '' })
    expect(textOf(finals())).toMatch(/^hello world( hello world)*$/)
    expect(messages.length).toBe(finals().length + 1)
    const [first] = finals()
    expect(first).toMatchObject({
      channel_index: [0, 1],
      speech_final: true,
      from_finalize: false,
      metadata: { request_id: requestId, model_info: { name: 'm' }, model_uuid: 'm' },
    })
    const [word] = first?.channel.alternatives[0].words ?? []
    expect(word).toMatchObject({ word: 'hello', punctuated_word: 'hello', confidence: 0.9 })
    expect(word?.start).toBe(first?.start)
    expect(messages.at(-1)).toMatchObject({
      type: 'Metadata',
      request_id: requestId,
      sha256: createHash('sha256').update(speech).digest('hex'),
      duration: 9,
      channels: 1,
    })
  })

  it('ends also with an empty message of bytes', async () => {
    const { socket, messages, closed } = await opened(linear16)
    socket.send(speech)
    socket.send(new Uint8Array(0))
    expect((await closed).code).toBe(1000)
    expect(messages.at(-1)?.type).toBe('Metadata')
  })

  it('sends interim results, and where speech begins, only if they are asked for', async () => {
    const { socket, messages, closed, say, ofType } = await opened(
      `${linear16}&interim_results=true&vad_events=true&utterance_end_ms=1000`,
    )
    for (let at = 0; at < speech.length; at += 800) socket.send(speech.subarray(at, at + 800))
    say({ type: 'CloseStream' })
    expect((await closed).code).toBe(1000)
    const kinds = messages.map((message) => ('is_final' in message && !message.is_final ? 'interim' : message.type))
    expect(kinds.slice(0, 3)).toEqual(['SpeechStarted', 'interim', 'interim'])
    expect(ofType('SpeechStarted')[0]).toMatchObject({ channel: [0, 1], timestamp: ofType('Results')[0]?.start })
    const interim = ofType('Results')[0]?.channel.alternatives[0]
    expect(interim).toEqual({ transcript: 'hello', confidence: 0, words: [] })
    expect(kinds).toContain('UtteranceEnd')
  })

  it('has no speech_final without endpointing', async () => {
    const { socket, closed, say, finals } = await opened(`${linear16}&endpointing=false`)
    socket.send(speech)
    say({ type: 'CloseStream' })
    await closed
    expect(finals().length).toBeGreaterThan(0)
    expect(finals().every(({ speech_final: isSpeechFinal }) => !isSpeechFinal)).toBe(true)
  })

  it('answers each Finalize, and loses no audio behind it', async () => {
    const { socket, closed, say, finals, ofType } = await opened(linear16)
    say({ type: 'Finalize' })
    socket.send(speech.subarray(0, 32_000))
    say({ type: 'Finalize' })
    socket.send(speech.subarray(32_000))
    say({ type: 'CloseStream' })
    expect((await closed).code).toBe(1000)
    const finalized = finals().filter(({ from_finalize: isFromFinalize }) => isFromFinalize)
    expect(finalized.map(({ channel }) => channel.alternatives[0].transcript)).toEqual(['', 'hello world'])
    expect(finalized[0]).toMatchObject({ start: 0, duration: 0 })
    // The times go on behind it.
    const after = finals().at(-1)
    expect(after?.start).toBeGreaterThanOrEqual(2)
    expect(after?.channel.alternatives[0].words[0]?.start).toBe(after?.start)
    expect(ofType('Metadata')[0]?.duration).toBe(9)
  })

  it('has a conversation for each channel, or mixes them', async () => {
    const stereo = new Uint8Array(speech.length * 2)
    for (let at = 0; at < speech.length; at += 2) stereo.set(speech.subarray(at, at + 2), at * 2)
    const both = await opened(`${linear16}&channels=2&multichannel=true&diarize=true`)
    both.socket.send(stereo)
    both.say({ type: 'Finalize' })
    both.say({ type: 'CloseStream' })
    expect((await both.closed).code).toBe(1000)
    const spokenOn = both.finals().filter(({ channel }) => channel.alternatives[0].transcript !== '')
    expect(spokenOn.every(({ channel_index: [at, of] }) => at === 0 && of === 2)).toBe(true)
    expect(spokenOn[0]?.channel.alternatives[0].words[0]?.speaker).toBe(0)
    const finalized = both.finals().filter(({ from_finalize: isFromFinalize }) => isFromFinalize)
    expect(finalized.map(({ channel_index: index }) => index).toSorted()).toEqual([
      [0, 2],
      [1, 2],
    ])
    expect(both.ofType('Metadata')[0]).toMatchObject({ channels: 2, duration: 9 })
    const one = await opened(`${linear16}&channels=2`)
    one.socket.send(stereo)
    one.say({ type: 'CloseStream' })
    expect((await one.closed).code).toBe(1000)
    expect(textOf(one.finals())).toMatch(/^hello world/)
  })

  it('reads the header of a WAV file, cut anywhere', async () => {
    const wav = await readFile('samples/call.wav')
    const { socket, closed, say, finals, ofType } = await opened('model=nova-3&multichannel=true')
    for (let at = 0; at < 100; at += 7) socket.send(wav.subarray(at, Math.min(at + 7, 100)))
    socket.send(wav.subarray(100, 100_000))
    say({ type: 'CloseStream' })
    expect((await closed).code).toBe(1000)
    expect(ofType('Metadata')[0]).toMatchObject({ channels: 2 })
    expect(new Set(finals().map(({ channel_index: [at] }) => at))).toEqual(new Set([0, 1]))
  })

  it.each([
    ['text that is not JSON', 'hello'],
    ['an unknown type', '{"type":"Flush"}'],
    ['a message without a type', '{}'],
  ])('closes with 1008 and a sentence for %s', async (_case, text) => {
    const { socket, closed, messages } = await opened(linear16)
    socket.send(text)
    expect(await closed).toMatchObject({
      code: 1008,
      reason: expect.stringMatching(/^unknown-message: A .*\.$/) as string,
    })
    expect(messages.at(-1)).toMatchObject({ type: 'Error', variant: 'SchemaError' })
  })

  it('closes with 1008 for a container that it does not read', async () => {
    const { socket, closed } = await opened('model=nova-3')
    socket.send(Buffer.from('OggS and more than twelve bytes'))
    expect(await closed).toMatchObject({ code: 1008, reason: expect.stringContaining('This is Ogg') as string })
  })

  it('answers Configure, which can change nothing', async () => {
    const { closed, say, messages } = await opened(linear16)
    say({ type: 'Configure', keyterms: ['Ada'] })
    say({ type: 'Configure', processors: {} })
    say({ type: 'Configure', features: { numerals: true } })
    say({ type: 'CloseStream' })
    await closed
    expect(messages.slice(0, 3)).toMatchObject([
      { type: 'ConfigureFailure', code: 'CONFIGURE_KEYTERMS_NOT_SUPPORTED' },
      { type: 'ConfigureSuccess' },
      { type: 'ConfigureFailure', code: 'CONFIGURE_INTERNAL_ERROR' },
    ])
  })

  it.each([
    ['an option that is not supported', `${linear16}&summarize=v2`, 'summarize'],
    ['an encoding that is not supported', 'model=nova-3&encoding=opus&sample_rate=48000', 'encoding'],
    ['a model that is not there', linear16.replace('nova-3', 'nova-9'), 'nova-9'],
    ['phrases that the model does not take', `${linear16}&keyterm=Ada`, 'keyterm cannot be used'],
    ['a language that the model lacks', `${linear16}&language=de`, 'language'],
    ['languages that the model does not detect', `${linear16}&language=multi`, 'language "multi" cannot be used'],
  ])('is refused before it opens for %s', async (_case, query, name) => {
    const refused = await refusalOf(query)
    expect(refused).toMatchObject({
      status: 400,
      err_code: 'INVALID_QUERY_PARAMETER',
      err_msg: expect.stringContaining(name) as string,
    })
    expect(refused.headers['dg-error']).toBe(refused.err_msg)
    expect(refused.headers['dg-request-id']).toBe(refused.request_id)
  })

  it('is refused with a wrong token, and with no place left', async () => {
    const wrong = await refusalOf(linear16, 'not-a-token')
    expect(wrong).toMatchObject({ status: 401, err_code: 'INVALID_AUTH' })
    expect(JSON.stringify(wrong)).not.toContain('not-a-token')
    await opened(linear16)
    await opened(linear16)
    expect(await refusalOf(linear16)).toMatchObject({ status: 429, err_code: 'TOO_MANY_REQUESTS' })
  })

  it('takes the default language of clients, and is opened by a subprotocol', async () => {
    const socket = new WebSocket(urlOf(`${linear16}&language=en-US`), ['token', service.token])
    open.push(socket)
    await once(socket, 'open')
    expect(socket.protocol).toBe('token')
  })

  it('closes with 1011 when the service does, after the results of what was spoken', async () => {
    const closing = await plainService({ dialects: ['deepgram-listen'], dialectModels: { '*': 'm' } })
    const { socket, closed, finals, ofType } = dial(linear16, closing.token, closing)
    await once(socket, 'open')
    socket.send(speech.subarray(0, 64_000))
    await expect.poll(() => ofType('Results').length).toBeGreaterThan(0)
    await closing.close()
    expect(await closed).toMatchObject({ code: 1011, reason: expect.stringMatching(/^going-away: /) as string })
    expect(textOf(finals())).toBe('hello world')
  })

  it('closes with 1011 when the client sends faster than it may', async () => {
    const { socket, closed } = await opened(linear16.replace('nova-3', 'paced'))
    socket.send(new Uint8Array(16_000 * 12))
    expect(await closed).toMatchObject({ code: 1011, reason: expect.stringMatching(/^too-fast: /) as string })
  })
})

interface Answer {
  readonly metadata: Readonly<Record<string, unknown>>
  readonly results: {
    readonly channels: readonly { readonly alternatives: readonly [Alternative] }[]
    readonly utterances?: readonly Readonly<Record<string, unknown>>[]
  }
}

const post = (query: string, body: Buffer | string, type = 'application/octet-stream', token = service.token) =>
  fetch(`${service.started.authUrl}/v1/listen?${query}`, {
    method: 'POST',
    headers: { Authorization: `Token ${token}`, 'Content-Type': type },
    body: new Blob([Uint8Array.from(Buffer.from(body))]),
  })

describe('POST /v1/listen', () => {
  let call: Buffer
  beforeAll(async () => {
    call = await readFile('samples/call.wav')
  })

  it.each(['application/octet-stream', 'audio/wav', 'deepgram/audio+video'])(
    'answers to a body of %s',
    async (type) => {
      const response = await post('model=nova-3&smart_format=true&language=en-US', call, type)
      expect(response.status).toBe(200)
      const { metadata, results } = (await response.json()) as Answer
      expect(metadata).toMatchObject({
        request_id: response.headers.get('dg-request-id'),
        sha256: createHash('sha256').update(call).digest('hex'),
        duration: 32.781,
        channels: 1,
        models: ['m'],
      })
      const [alternative] = results.channels[0]?.alternatives ?? []
      expect(alternative?.transcript).toMatch(/^hello world( hello world)*$/)
      expect(alternative?.words.map(({ word }) => word).join(' ')).toBe(alternative?.transcript)
      expect(alternative?.confidence).toBe(0.9)
      expect(results.utterances).toBeUndefined()
    },
  )

  it('has channels and utterances if they are asked for', async () => {
    const response = await post('model=nova-3&multichannel=true&utterances=true&diarize=true', call)
    const { metadata, results } = (await response.json()) as Answer
    expect(metadata['channels']).toBe(2)
    expect(results.channels).toHaveLength(2)
    expect(results.channels[1]?.alternatives[0].words[0]).toMatchObject({ word: 'hello', speaker: 1 })
    const { utterances = [] } = results
    const starts = utterances.map(({ start }) => Number(start))
    expect(starts).toEqual(starts.toSorted((a, b) => a - b))
    expect(new Set(utterances.map(({ channel }) => channel))).toEqual(new Set([0, 1]))
    expect(utterances[0]).toMatchObject({ transcript: 'hello world', channel: 0, speaker: 0 })
  })

  it.each([
    ['an address', 'model=nova-3', '{"url":"https://example.com/a.wav"}', 'application/json', 'Bad Request'],
    ['an option of sockets', 'model=nova-3&interim_results=true', 'x', 'audio/wav', 'INVALID_QUERY_PARAMETER'],
    ['no model', '', 'x', 'audio/wav', 'INVALID_QUERY_PARAMETER'],
    ['a model of others', 'model=broken-one', 'x', 'audio/wav', 'INVALID_QUERY_PARAMETER'],
    ['what is no recording', 'model=nova-3', 'not audio at all, nothing', 'audio/wav', 'INVALID_AUDIO'],
  ])('refuses %s with a sentence', async (_case, query, body, type, code) => {
    const response = await post(query, body, type)
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({
      err_code: code,
      err_msg: expect.stringMatching(/^[A-Za-z_]+ .*\.$/s) as string,
      request_id: response.headers.get('dg-request-id'),
    })
  })

  it('refuses a model that the token does not grant, and a wrong token', async () => {
    const narrow = await post('model=nova-3', call, 'audio/wav', await service.newToken('narrow'))
    expect(narrow.status).toBe(400)
    const wrong = await post('model=nova-3', call, 'audio/wav', 'wrong')
    expect(wrong.status).toBe(401)
    expect(await wrong.json()).toMatchObject({ err_code: 'INVALID_AUTH' })
  })
})
