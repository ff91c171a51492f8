import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { readFile } from 'node:fs/promises'
import { lastValueFrom, toArray } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { decodeMuLaw } from '../../../../src/audio/g711.js'
import { bytesOf } from '../../../../src/audio/pcm.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import type { SessionEvent } from '../../../../src/protocol/session-event.js'
import { createSegmentEngine } from '../../../engines/src/segment-engine.js'
import { noopMonitor, type SessionFacts } from '../../../server/src/monitor/service-monitor.js'
import { scriptedEngine } from '../../src/testing/scripted-engine.js'
import { plainService, type PlainService } from '../plain-service.js'

/** One channel of the sample call, as µ-law and as samples at 24 kHz. */
let ulaw: Uint8Array
let wide: Uint8Array
let service: PlainService
const ended: SessionFacts[] = []
const texts = ['good evening harbor grill', 'how can i help you', 'one moment please', 'thank you']
const mapped = { dialects: ['openai-realtime'], dialectModels: { 'gpt-transcribe': 'm' } }

beforeAll(async () => {
  const headerBytes = 58
  const wav = (await readFile('samples/call.wav')).subarray(headerBytes)
  ulaw = Uint8Array.from(wav.filter((_, at) => at % 2 === 0))
  const samples = decodeMuLaw(ulaw)
  wide = bytesOf(Int16Array.from({ length: ulaw.length * 3 }, (_, at) => samples[Math.floor(at / 3)] ?? 0))
  service = await plainService(
    {
      ...mapped,
      monitor: { ...noopMonitor, sessionEnded: (facts) => ended.push(facts) },
      limits: { sessionsPerToken: 4, requestBurst: 1_000 },
    },
    [],
    scriptedEngine({ texts }),
  )
})
afterAll(() => service.close())

const completed = 'conversation.item.input_audio_transcription.completed'
const transcription = { model: 'gpt-transcribe' }

type Event = Readonly<Record<string, unknown>> & { readonly type: string }

interface Dialled {
  readonly query?: string
  readonly protocols?: string[]
  readonly headers?: Readonly<Record<string, string>>
  readonly to?: PlainService
}

const dial = ({ query = '?intent=transcription', protocols = [], headers, to = service }: Dialled = {}): WebSocket =>
  new WebSocket(`${to.started.authUrl.replace('http', 'ws')}/v1/realtime${query}`, protocols, {
    headers: headers ?? { Authorization: `Bearer ${to.token}` },
  })

const opened = async (dialled?: Dialled) => {
  const socket = dial(dialled)
  const events: Event[] = []
  const waiting: { readonly type: string; readonly resolve: (event: Event) => void }[] = []
  socket.on('message', (message: Buffer) => {
    const event = JSON.parse(message.toString()) as Event
    events.push(event)
    for (const { type, resolve } of waiting) if (type === event.type) resolve(event)
  })
  const closed = once(socket, 'close').then(([code]) => code as number)
  const upgraded = once(socket, 'upgrade') as Promise<[IncomingMessage]>
  await once(socket, 'open')
  const send = (type: string, fields: object = {}): void => socket.send(JSON.stringify({ type, ...fields }))
  return {
    socket,
    events,
    closed,
    headers: (await upgraded)[0].headers,
    send,
    next: (type: string) => new Promise<Event>((resolve) => waiting.push({ type, resolve })),
    update: (input: object): void => send('session.update', { session: { type: 'transcription', audio: { input } } }),
    append: (audio: Uint8Array, stepBytes = 4_801): void => {
      for (let at = 0; at < audio.length; at += stepBytes) {
        send('input_audio_buffer.append', {
          audio: Buffer.from(audio.subarray(at, at + stepBytes)).toString('base64'),
        })
      }
    },
    transcripts: () => events.filter(({ type }) => type === completed).map(({ transcript }) => transcript),
  }
}

const ownText = async (sampleRateHz: number, audio: Uint8Array): Promise<string> => {
  const session = recognize({
    url: service.started.wsUrl,
    token: service.token,
    model: 'm',
    format: { encoding: 'pcm', sampleRateHz, channels: 1 },
  })
  const events: readonly SessionEvent[] = await lastValueFrom(session([audio]).pipe(toArray()))
  return events.flatMap((event) => (event.type === 'milestone' ? [event.text] : [])).join('')
}

describe('a transcription session', () => {
  it('has the text of our own client, in one item for each commit', async () => {
    const client = await opened()
    client.update({ format: { type: 'audio/pcmu' }, transcription, turn_detection: null })
    client.append(ulaw)
    client.send('input_audio_buffer.commit')
    await client.next(completed)
    expect(client.transcripts()).toEqual([await ownText(8_000, bytesOf(decodeMuLaw(ulaw)))])
    client.socket.close()
    expect(await client.closed).toBe(1005)
  })

  it('has it in the items that the service makes', async () => {
    const client = await opened()
    client.update({ transcription, turn_detection: { type: 'semantic_vad' } })
    client.append(wide)
    client.send('input_audio_buffer.commit')
    await client.next('input_audio_buffer.committed')
    const text = await ownText(24_000, wide)
    await expect.poll(() => client.transcripts().join(' ').trim()).toBe(text)
    expect(client.transcripts().length).toBeGreaterThan(3)
    client.socket.terminate()
  })

  it('is that of its id for the client and the operator', async () => {
    const client = await opened({ query: '?model=gpt-transcribe' })
    const id = client.headers['x-request-id']
    await expect.poll(() => client.events).toMatchObject([{ type: 'session.created', session: { id } }])
    client.append(ulaw.subarray(0, 4_800))
    client.send('input_audio_buffer.commit')
    await client.next(completed)
    client.socket.close()
    await expect
      .poll(() => ended.find(({ sessionId }) => sessionId === id))
      .toMatchObject({ interface: 'websocket', clientId: 'client', model: 'm' })
  })

  it('is opened by a token in a subprotocol, which is not shown', async () => {
    const protocols = ['realtime', `openai-insecure-api-key.${service.token}`, 'openai-organization.o']
    const client = await opened({ protocols, headers: {} })
    expect(client.socket.protocol).toBe('realtime')
    client.socket.terminate()
  })

  it('ends after a message that is too long, with an error', async () => {
    const client = await opened()
    client.send('input_audio_buffer.append', { audio: 'A'.repeat(1_100_000) })
    expect(await client.closed).toBe(1009)
    expect(client.events.at(-1)).toMatchObject({ type: 'error', error: { code: 'message_too_big' } })
  })
})

describe('an upgrade', () => {
  const refusalOf = async (dialled: Dialled) => {
    const socket = dial(dialled).on('error', () => undefined)
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage]
    let body = ''
    for await (const part of response) body += String(part)
    const { error } = JSON.parse(body) as { readonly error: object }
    return { status: response.statusCode, id: response.headers['x-request-id'], ...error }
  }

  it.each([
    ['a wrong token', { headers: { Authorization: 'Bearer no' } }, 401, 'unauthenticated'],
    ['no token', { headers: {} }, 401, 'unauthenticated'],
    ['a model that is not there', { query: '?model=nova-3' }, 404, 'model_not_found'],
    ['a query that is unknown', { query: '?call_id=1' }, 400, 'unknown_parameter'],
    ['two models', { query: '?model=n&model=m' }, 400, 'invalid_value'],
  ])('is refused with %s', async (_case, dialled, status, code) => {
    expect(await refusalOf(dialled)).toMatchObject({ status, code, id: expect.any(String) as string })
  })

  it('is refused from a page whose token is none for pages', async () => {
    const headers = { Authorization: `Bearer ${service.token}`, Origin: 'https://example.com' }
    expect(await refusalOf({ headers })).toMatchObject({ status: 401 })
  })

  it('is refused beyond the sessions of its token', async () => {
    const headers = { Authorization: `Bearer ${await service.newToken()}` }
    const clients = await Promise.all(Array.from({ length: 4 }, () => opened({ headers })))
    expect(await refusalOf({ headers })).toMatchObject({ status: 429, code: 'overloaded', type: 'rate_limit_error' })
    for (const { socket } of clients) socket.terminate()
  })

  it('needs no secret of the service, for which it says where tokens come from', async () => {
    const headers = { Authorization: `Bearer ${await service.newToken()}` }
    const response = await fetch(`${service.started.authUrl}/v1/realtime/client_secrets`, { method: 'POST', headers })
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ error: { code: 'not_supported', type: 'invalid_request_error' } })
  })
})

describe('a recognition that lasts too long', () => {
  /** Until "evening". */
  const beginMs = 1_900
  const limits = { maxSessionMs: 200 }

  it('is followed by another at the next audio, if it has read all', async () => {
    const brief = await plainService({ ...mapped, limits }, [], scriptedEngine({ texts }))
    const client = await opened({ to: brief })
    client.update({ format: { type: 'audio/pcmu' }, transcription })
    await client.next('session.updated')
    client.append(ulaw.subarray(0, 8 * beginMs))
    await client.next(completed)
    client.append(ulaw.subarray(8 * beginMs, 8 * 2_600))
    await client.next(completed)
    expect(client.transcripts()).toEqual([texts[0], texts[0]])
    const starts = client.events.filter(({ type }) => type === 'input_audio_buffer.speech_started')
    expect(starts).toMatchObject([{ audio_start_ms: expect.any(Number) as number }, { audio_start_ms: beginMs }])
    expect(client.events.map(({ type }) => type)).not.toContain('error')
    client.socket.close()
    await brief.close()
  })

  it('ends the session, if audio came that it has not read', async () => {
    let isClosed = (): void => undefined
    let decide = (): void => undefined
    const closed = new Promise<void>((resolve) => (isClosed = resolve))
    const slow = createSegmentEngine({
      capabilities: { sampleRateHz: 8_000, partials: false, words: true, kind: 'dictation', segmentsAtOnce: 1 },
      openChannel: () => (startMs, listener) => ({
        write: ({ length }) => listener.progress(length),
        close: (endMs) => {
          decide = () => listener.decided([{ text: 'good', startMs, endMs, confidence: 1 }])
          isClosed()
        },
        abort: () => undefined,
      }),
    })
    const brief = await plainService({ ...mapped, limits }, [], slow)
    const client = await opened({ to: brief })
    client.update({ format: { type: 'audio/pcmu' }, transcription })
    await client.next('session.updated')
    client.append(ulaw.subarray(0, 8 * beginMs))
    await closed
    client.append(ulaw.subarray(8 * beginMs, 8 * 2_600))
    client.send('conversation.item.retrieve', { item_id: 'none' })
    await client.next('error')
    decide()
    expect(await client.closed).toBe(1001)
    expect(client.events.at(-1)).toMatchObject({ type: 'error', error: { code: 'going_away' } })
    await brief.close()
  })
})

describe('the end of a service', () => {
  it('closes a session with the results that it has', async () => {
    const closing = await plainService(mapped, [], scriptedEngine({ texts }))
    const client = await opened({ to: closing })
    client.update({ format: { type: 'audio/pcmu' }, transcription, turn_detection: null })
    client.append(ulaw.subarray(0, 32_000))
    await client.next('conversation.item.input_audio_transcription.delta')
    await closing.started.close({ drainMs: 100 })
    await closing.close()
    expect(await client.closed).toBe(1001)
    expect(client.events.slice(-2)).toMatchObject([
      { type: 'conversation.item.input_audio_transcription.failed', error: { code: 'going_away' } },
      { type: 'error', error: { code: 'going_away', type: 'server_error' } },
    ])
  })

  it('is no loss in silence when its engine fails', async () => {
    const broken = createSegmentEngine({
      capabilities: { sampleRateHz: 8_000, partials: false, words: false, kind: 'dictation', segmentsAtOnce: 1 },
      openChannel: () => (_startMs, listener) => ({
        write: () => listener.failed(new SpeechError('engine-failed', 'The engine is broken.')),
        close: () => undefined,
        abort: () => undefined,
      }),
    })
    const failing = await plainService(mapped, [], broken)
    const client = await opened({ to: failing })
    client.update({ format: { type: 'audio/pcmu' }, transcription })
    client.append(ulaw.subarray(0, 24_000))
    expect(await client.closed).toBe(1011)
    expect(client.events.slice(-2)).toMatchObject([
      { type: 'conversation.item.input_audio_transcription.failed', error: { code: 'engine_failed' } },
      { type: 'error', error: { code: 'engine_failed' } },
    ])
    await failing.close()
  })
})
