import { afterEach, describe, expect, it } from 'vitest'
import type { Engine } from '../../engines/src/engine.js'
import { createSegmentEngine } from '../../engines/src/segment-engine.js'
import { scriptedEngine } from '../src/testing/scripted-engine.js'
import { openStream, plainClient } from './interop/plain-dataflow-client.js'
import { openSocket, type PlainSocket } from './interop/plain-socket-client.js'
import { plainService, recognizeOf, startOf, type PlainService } from './plain-service.js'
import { spoken } from '../../server/test/sessions/spoken.js'

let service: PlainService
afterEach(() => service.close())

const words = Array.from({ length: 100 }, (_none, index) => `w${index}`).join(' ')
const log: { readonly message: string; readonly fields: unknown }[] = []

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const blockFor = (ms: number): void => {
  const endMs = performance.now() + ms
  while (performance.now() < endMs);
}

/** Blocks the loop of the service, which is that of this test, again and again; `meanwhile` runs in between. */
const overload = async (meanwhile: (turn: number) => void): Promise<void> => {
  for (let turn = 0; turn < 7; turn += 1) {
    blockFor(250)
    meanwhile(turn)
    await pause(1)
  }
}

/** The first socket that the service accepts again. */
const accepted = async (): Promise<PlainSocket> => {
  for (;;) {
    const socket = await openSocket(service).catch(() => undefined)
    if (socket !== undefined) return socket
    await pause(100)
  }
}

describe('a service whose loop is late', () => {
  it('refuses new sessions at once, thins the partials of running ones, tells them, and recovers', async () => {
    service = await plainService(
      {
        limits: { maxLoopDelayMs: 100 },
        operations: { host: '127.0.0.1', port: 0 },
        logger: { log: (_level, message, fields) => log.push({ message, fields }) },
      },
      [],
      scriptedEngine({ texts: [words] }),
    )
    const client = plainClient(service)
    // Two seconds of speech without a pause, again and again: one long segment.
    const sentence = (await spoken(3_200)).subarray(1_200 * 16)
    const speech = Buffer.concat(Array.from({ length: 20 }, () => sentence))
    const stream = openStream(client)
    stream.request(startOf(service.token))
    await stream.answered
    const socket = await openSocket(service)
    const received: Record<string, unknown>[] = []
    socket.raw.on('message', (data: Buffer) => received.push(JSON.parse(data.toString()) as Record<string, unknown>))
    socket.send(recognizeOf())
    await socket.receive()
    let sent = 0
    const speak = (ms: number): void => {
      const bytes = speech.subarray(sent, (sent += ms * 16))
      socket.audio(bytes)
      stream.raw({ binary_content: bytes, content_type: 0 })
    }
    speak(1_200)
    await overload(() => speak(300))

    const refusedSocket = await openSocket(service).catch(String)
    const refusedStream = openStream(client)
    refusedStream.request(startOf(service.token))
    const refused = await refusedStream.ended
    const refusal = 'overloaded: The service is too busy for another session; try again later.'
    expect(refusedSocket).toBe(`Error: HTTP 429: ${refusal}`)
    expect(refused.responses[0]?.['operation-result']).toBe(refusal)
    expect(Number(refused.retryAfter)).toBeGreaterThanOrEqual(2)
    const metrics = await (await fetch(`${String(service.started.operationsUrl)}/metrics`)).text()
    expect(metrics).toContain('rxspeech_partials_thinned 1')
    expect(metrics).toMatch(/rxspeech_loop_delay_seconds [0-9.]+/)
    expect(metrics).toMatch(/rxspeech_load [0-9.]+/)
    expect(metrics).toMatch(/rxspeech_refusals_total\{interface="websocket",code="overloaded"\} 1/)
    expect(metrics).toMatch(/rxspeech_refusals_total\{interface="grpc",code="overloaded"\} 1/)
    expect(log).toContainEqual({
      message: 'Overloaded: new sessions are refused',
      fields: { loadPercent: expect.any(Number) as unknown, loopDelayMs: expect.any(Number) as unknown },
    })

    // Half a second without delays, which a busy machine may have to wait for.
    const again = await accepted()
    again.close()
    const onSocket = () =>
      received
        .filter((message) => message['message-name'] === 'event')
        .map(({ name, channel, data }) => ({ name, channel, data }))
    const onStream = () =>
      stream.events
        .filter(({ Name }) => Name === 'Partials Thinned')
        .map(({ Name: name, Channel, Data: data }) => ({ name, channel: String(Channel), data }))
    while (onSocket().length < 2 || onStream().length < 2) {
      speak(100)
      await pause(100)
    }
    const told = ['begun', 'ended'].map((phase) => ({
      name: 'Partials Thinned',
      channel: '0',
      data: { Phase: phase, IntervalMsec: 1_000 },
    }))
    expect(onSocket().slice(0, 2)).toEqual(told)
    expect(onStream().slice(0, 2)).toEqual(told)
    stream.stream.end()
    socket.send({ 'message-name': 'finalize-recognition' })
    const { status, events } = await stream.ended
    expect(status).toBe('OK')
    expect(events.at(-1)).toMatchObject({
      Name: 'SR Final',
      Data: { Text: expect.stringContaining('w0 w1') as unknown },
    })
    socket.close()
    client.close()
  })
})

/** A socket whose session is refused: the service measures how far an engine is behind. */
const untilRefused = async (): Promise<PlainSocket> => {
  for (;;) {
    const socket = await openSocket(service)
    socket.send(recognizeOf())
    if ((await socket.receive())['operation-result'] !== 'Success') return socket
    socket.close()
    await pause(50)
  }
}

/** An engine whose segments stay unread until they close. */
const stuckEngine = (): Engine =>
  createSegmentEngine({
    capabilities: { sampleRateHz: 8000, partials: true, words: true, kind: 'dictation', segmentsAtOnce: 1_000 },
    openChannel: () => (_startMs, listener) => ({
      write: () => undefined,
      close: () => listener.decided([]),
      abort: () => undefined,
    }),
  })

describe('a model whose engine is behind', () => {
  it('gets no further session on either interface, while a session that runs may recognize again', async () => {
    service = await plainService({ limits: { maxEngineDelayMs: 100 } }, [], stuckEngine())
    const speech = await spoken(3_200)
    const sockets = [await openSocket(service), await openSocket(service)] as const
    for (const socket of sockets) {
      socket.send(recognizeOf())
      expect(await socket.receive()).toMatchObject({ 'operation-result': 'Success' })
      socket.audio(speech)
    }
    const refusal = 'overloaded: The model is too busy for another session; try again later, or use another one.'
    const third = await untilRefused()
    third.send(recognizeOf())
    expect(await third.receive()).toMatchObject({ 'operation-result': refusal })
    const client = plainClient(service)
    const stream = openStream(client)
    stream.request(startOf(service.token))
    const { responses, retryAfter } = await stream.ended
    expect(responses[0]?.['operation-result']).toBe(refusal)
    expect(Number(retryAfter)).toBeGreaterThanOrEqual(2)

    third.send(recognizeOf({ 'model-name': 'paced' }))
    expect(await third.receive()).toMatchObject({ 'operation-result': 'Success' })

    const [first] = sockets
    first.send({ 'message-name': 'stop-recognition' })
    expect(await first.receive()).toMatchObject({ 'message-name': 'stop-recognition-response' })
    first.send(recognizeOf())
    expect(await first.receive()).toMatchObject({ 'message-name': 'recognize-response', 'operation-result': 'Success' })
    for (const socket of [...sockets, third]) socket.close()
    client.close()
  })
})
