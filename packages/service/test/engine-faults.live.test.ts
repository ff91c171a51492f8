import { Observable } from 'rxjs'
import { afterEach, describe, expect, it } from 'vitest'
import { SpeechError } from '../../../src/errors/speech-error.js'
import type { EngineKind } from '../../engines/src/engine.js'
import { scriptedEngine } from '../src/testing/scripted-engine.js'
import { openStream, plainClient, type Conversation } from './interop/plain-dataflow-client.js'
import { openSocket } from './interop/plain-socket-client.js'
import { spoken } from '../../server/test/sessions/spoken.js'
import { breakingEngine } from '../../engines/test/breaking-engine.js'
import { plainService, recognizeOf, startOf, type PlainService } from './plain-service.js'

let open: PlainService | undefined
afterEach(() => open?.close())

/** A service whose engine fails in its channels as scripted. */
const started = async (breakAtPart: readonly (number | undefined)[], fault?: () => unknown): Promise<PlainService> =>
  (open = await plainService({}, [], breakingEngine(scriptedEngine({ texts: ['hello world'] }), breakAtPart, fault)))

const stereo = { Audio: { SampleRate: 8000, ChannelCount: 2, Encoding: 'pcm' } }

/** Speech on the left, silence on the right. */
const leftOnly = (left: Uint8Array): Uint8Array => {
  const both = new Uint8Array(2 * left.length)
  for (let at = 0; at < left.length; at += 2) both.set(left.subarray(at, at + 2), 2 * at)
  return both
}

const overGrpc = async (service: PlainService, audio: Uint8Array, start: object = {}): Promise<Conversation> => {
  const client = plainClient(service)
  const stream = openStream(client)
  stream.request(startOf(service.token, { ...start }))
  await stream.answered
  for (let at = 0; at < audio.length; at += 32_000) {
    stream.raw({ binary_content: audio.subarray(at, at + 32_000), content_type: 0 })
  }
  stream.request({ MessageName: 'Finalize' })
  const conversation = await stream.ended
  client.close()
  return conversation
}

const overSocket = async (service: PlainService, audio: Uint8Array): Promise<readonly Record<string, unknown>[]> => {
  const socket = await openSocket(service)
  socket.send(recognizeOf())
  const messages = [await socket.receive()]
  socket.audio(audio)
  socket.send({ 'message-name': 'finalize-recognition' })
  while (messages.at(-1)?.['message-name'] !== 'final-result') messages.push(await socket.receive())
  const final = messages.at(-1)
  if (final?.['operation-result'] !== 'Success') messages.push(await socket.receive())
  else {
    socket.close()
    await socket.receive()
  }
  return messages
}

const named = (events: Conversation['events'], name: string) => events.filter((event) => event['Name'] === name)
const milestonesOf = (events: Conversation['events']): readonly unknown[] =>
  named(events, 'SR Milestone').map((event) => (event['Data'] as { readonly Text: unknown }).Text)

describe('an engine that fails once', () => {
  it('is reported on gRPC as an event, and changes no result', async () => {
    const audio = await spoken(4_000)
    const whole = await overGrpc(await started([]), audio)
    await open?.close()
    const broken = await overGrpc(await started([4]), audio)
    const faults = named(broken.events, 'Engine Failed')
    expect(faults).toMatchObject([{ Channel: 0, Data: { Code: 'engine-failed', Retried: true } }])
    expect(faults[0]?.['StartMsec']).toBe(named(broken.events, 'Speech Started')[0]?.['StartMsec'])
    expect(milestonesOf(whole.events).length).toBeGreaterThan(0)
    expect(named(broken.events, 'SR Milestone')).toEqual(named(whole.events, 'SR Milestone'))
    expect(named(broken.events, 'SR Final')).toEqual(named(whole.events, 'SR Final'))
    expect(broken.status).toBe('OK')
    expect(open?.faults).toMatchObject([{ code: 'engine-failed' }])
  })

  it('is not reported on the WebSocket, whose contract has no message for it, and changes no result', async () => {
    const audio = await spoken(4_000)
    const results = (messages: readonly Record<string, unknown>[]) =>
      messages
        .filter((message) => ['milestone-result', 'final-result'].includes(String(message['message-name'])))
        .map(({ 'recognition-id': _id, ...rest }) => rest)
    const whole = results(await overSocket(await started([]), audio))
    await open?.close()
    const broken = await overSocket(await started([4]), audio)
    expect(results(broken)).toEqual(whole)
    expect(whole.at(-1)).toMatchObject({ 'operation-result': 'Success' })
    expect(open?.faults).toMatchObject([{ code: 'engine-failed' }])
  })
})

describe('an engine that fails three times in one segment', () => {
  it('sends every channel of a gRPC stream one final with the text so far and the error, then the status', async () => {
    // Channels: left and right at the start, then each retry of the left one
    const first = await overGrpc(await started([]), leftOnly(await spoken(9_000)), stereo)
    await open?.close()
    const [milestone] = named(first.events, 'SR Milestone')
    const segments = named(first.events, 'Speech Started').length
    expect(segments).toBeGreaterThan(1)
    const partsOfFirst = await partsUntilClose(leftOnly(await spoken(9_000)))
    const service = await started([partsOfFirst + 2, undefined, 2, 2])
    const { events, status, details } = await overGrpc(service, leftOnly(await spoken(9_000)), stereo)
    const Error = 'engine-failed: A scripted fault.'
    expect(named(events, 'Engine Failed').map((event) => event['Data'])).toEqual([
      { Code: 'engine-failed', Retried: true },
      { Code: 'engine-failed', Retried: true },
      { Code: 'engine-failed', Retried: false },
    ])
    expect(events.slice(-2)).toMatchObject([
      { Name: 'SR Final', Channel: 0, Data: { Text: milestonesOf([milestone ?? {}])[0], Error } },
      { Name: 'SR Final', Channel: 1, Data: { Text: '', Error } },
    ])
    expect(named(events, 'SR Final')).toHaveLength(2)
    expect({ status, details }).toEqual({ status: 'UNAVAILABLE', details: Error })
  })

  it('ends a WebSocket recognition with the error in its one final, and closes with 1011', async () => {
    const messages = await overSocket(await started([2, 2, 2]), await spoken(4_000))
    expect(messages.slice(-2)).toMatchObject([
      { 'message-name': 'final-result', 'operation-result': 'engine-failed: A scripted fault.', text: '' },
      { close: 1011 },
    ])
  })
})

describe('an engine that is overloaded', () => {
  const overloaded = () => new SpeechError('overloaded', 'The recognition engine is full.', { retryAfterMs: 3_000 })
  const result = 'overloaded: The recognition engine is full.'

  it('is reported as such on gRPC, in the final and in the status', async () => {
    const { events, status, details } = await overGrpc(await started([2], overloaded), await spoken(4_000))
    expect(named(events, 'Engine Failed').map((event) => event['Data'])).toEqual([
      { Code: 'overloaded', Retried: false },
    ])
    expect(named(events, 'SR Final')).toMatchObject([{ Data: { Error: result } }])
    expect(named(events, 'Node Failed')).toEqual([])
    expect({ status, details }).toEqual({ status: 'RESOURCE_EXHAUSTED', details: result })
    expect(open?.faults).toMatchObject([{ code: 'overloaded' }])
  })

  it('is reported as such on the WebSocket, in the final and by the close code', async () => {
    const messages = await overSocket(await started([2], overloaded), await spoken(4_000))
    expect(messages.slice(-2)).toMatchObject([
      { 'message-name': 'final-result', 'operation-result': result },
      { close: 4429 },
    ])
  })

  it('refuses the start if it is overloaded while it opens', async () => {
    const scripted: EngineKind = { name: 'scripted', open: () => Promise.reject(overloaded()) }
    open = await plainService({ engines: [scripted] })
    const { responses, status } = await overGrpc(open, new Uint8Array(0))
    expect(responses).toMatchObject([{ MessageName: 'StartResponse', 'operation-result': result }])
    expect(status).toBe('RESOURCE_EXHAUSTED')
    const socket = await openSocket(open)
    socket.send(recognizeOf())
    expect(await socket.receive()).toMatchObject({ 'message-name': 'recognize-response', 'operation-result': result })
    socket.close()
    await socket.receive()
  })
})

/** The number of parts of the left channel's first segment that the engine receives. */
const partsUntilClose = async (audio: Uint8Array): Promise<number> => {
  const engine = scriptedEngine({ texts: ['x'] })
  let count = 0
  let closed = false
  const service = await plainService({}, [], {
    ...engine,
    recognize: () => (part$) =>
      engine.recognize()(
        new Observable((subscriber) =>
          part$.subscribe({
            next: (part) => {
              if (!closed) count += 1
              closed ||= part.type === 'close'
              subscriber.next(part)
            },
            error: (error: unknown) => subscriber.error(error),
            complete: () => subscriber.complete(),
          }),
        ),
      ),
  })
  await overGrpc(service, audio, stereo)
  await service.close()
  return count
}
