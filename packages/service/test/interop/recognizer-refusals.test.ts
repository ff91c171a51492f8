import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { liveService, type LiveService } from './live-service.js'
import { openSocket, type PlainSocket, type SocketWay } from './plain-socket-client.js'

let live: LiveService
const sockets: PlainSocket[] = []
beforeAll(async () => {
  live = await liveService()
})
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.close()
})
afterAll(() => live.close())

const open = async (way?: SocketWay): Promise<PlainSocket> => {
  const socket = await openSocket(live, way)
  sockets.push(socket)
  return socket
}

const recognize = {
  'message-name': 'recognize',
  'audio-format': 'pcm',
  'sample-rate': 8000,
  'model-name': 'call',
  'vad-graceful-silence-threshold-msec': 0,
}
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown
const success = { 'message-name': 'recognize-response', 'operation-result': 'Success', 'recognition-id': uuid }

describe('an upgrade', () => {
  it('is refused with 401 without a token, and with an invalid one', async () => {
    await expect(open({ withoutHeader: true })).rejects.toThrow(/^HTTP 401: unauthenticated: /)
    await expect(open({ token: 'wrong' })).rejects.toThrow(/^HTTP 401: unauthenticated: /)
    await expect(open({ withoutHeader: true, path: `/recognizer?access_token=${live.token}` })).rejects.toThrow(
      /^HTTP 401/,
    )
  })

  it('is refused with 404 at another path', async () => {
    await expect(open({ path: '/elsewhere' })).rejects.toThrow(/^HTTP 404/)
  })

  it.each(['', 'bearer ', 'BEARER '])('accepts a token after %j in the header', async (scheme) => {
    const socket = await open({ scheme })
    socket.send(recognize)
    expect(await socket.receive()).toEqual(success)
    socket.close()
  })

  it.each(['Basic ', 'Token ', 'Bearer Bearer '])('is refused with 401 for a token after %j', async (scheme) => {
    await expect(open({ scheme })).rejects.toThrow(/^HTTP 401: unauthenticated: /)
  })

  it('is refused with 401 for an invalid token without a scheme', async () => {
    await expect(open({ scheme: '', token: 'wrong' })).rejects.toThrow(/^HTTP 401: unauthenticated: /)
  })

  it('accepts a token by subprotocol and selects the other one', async () => {
    const socket = await open({ withoutHeader: true, protocols: ['rxspeech', `bearer.${live.token}`] })
    socket.send(recognize)
    expect(await socket.receive()).toEqual(success)
    socket.close()
    expect(await socket.receive()).toMatchObject({ close: 1005, protocol: 'rxspeech' })
  })

  it('is closed with 4401 for an invalid token by subprotocol, since a browser cannot see a status', async () => {
    const socket = await open({ withoutHeader: true, protocols: ['rxspeech', 'bearer.wrong'] })
    expect(await socket.receive()).toMatchObject({
      close: 4401,
      reason: expect.stringMatching(/^unauthenticated: /) as unknown,
    })
  })

  it('is also accepted at /', async () => {
    const socket = await open({ path: '/' })
    socket.send(recognize)
    expect(await socket.receive()).toEqual(success)
  })
})

describe('an invalid recognize', () => {
  it.each([
    ['audio-format', 'mp3'],
    ['audio-format', undefined],
    ['sample-rate', 5.5],
    ['sample-rate', true],
    ['sample-rate', []],
    ['sample-rate', 'abc'],
    ['sample-rate', undefined],
    ['sample-rate', 1000],
    ['model-name', undefined],
    ['model-name', ''],
    ['audio-splitter', 'other'],
    ['vad-sensitivity', 0],
    ['vad-sensitivity', 11],
    ['vad-pre-speech-buffer-msec', -1],
    ['vad-pre-speech-buffer-msec', 5001],
    ['vad-post-speech-buffer-msec', 5001],
    ['vad-max-speech-duration-msec', 999],
    ['vad-max-speech-duration-msec', -2],
    ['vad-silence-trigger-msec', 49],
    ['vad-silence-trigger-msec', 60_001],
    ['vad-graceful-silence-threshold-msec', -1],
  ])('is refused with the field %s for %j, and may be sent again', async (field, value) => {
    const socket = await open()
    socket.send({ ...recognize, [field]: value })
    expect(await socket.receive()).toEqual({
      'message-name': 'recognize-response',
      'operation-result': expect.stringMatching(new RegExp(`^invalid-field: ${field} `)) as unknown,
      'recognition-id': '',
    })
    socket.send(recognize)
    expect(await socket.receive()).toEqual(success)
  })

  it.each([
    ['an unknown model', { 'model-name': '../../etc/passwd' }, /^model-denied: /],
    ['an unknown model tenant', { 'model-tenant': 'nobody' }, /^model-denied: /],
    ['an unknown model version', { 'model-version': '99' }, /^model-denied: /],
  ])('is refused for %s', async (_name, change, result) => {
    const socket = await open()
    socket.send({ ...recognize, ...change })
    expect((await socket.receive())['operation-result']).toMatch(result)
  })

  it('is refused when the address names another model', async () => {
    const socket = await open({ path: '/recognizer?ModelName=other' })
    socket.send(recognize)
    expect((await socket.receive())['operation-result']).toMatch(/^model-mismatch: /)
  })

  it('is accepted with integers as strings', async () => {
    const socket = await open()
    socket.send({ ...recognize, 'sample-rate': '16000', 'vad-sensitivity': '3' })
    expect(await socket.receive()).toEqual(success)
  })
})

describe('an unexpected message', () => {
  it.each([
    ['junk', 'junk', 1007, /^invalid-json: /],
    ['a list', '[]', 1007, /^invalid-json: /],
    ['an unknown name', '{"message-name":"dance"}', 1003, /^unknown-message: .*dance/],
    ['no name', '{}', 1003, /^unknown-message: /],
  ])('closes the socket for %s', async (_name, text, close, reason) => {
    const socket = await open()
    socket.send(text)
    expect(await socket.receive()).toMatchObject({ close, reason: expect.stringMatching(reason) as unknown })
  })

  it('closes the socket for audio before recognize', async () => {
    const socket = await open()
    socket.audio(new Uint8Array(320))
    expect(await socket.receive()).toMatchObject({
      close: 1008,
      reason: expect.stringMatching(/^not-started: /) as unknown,
    })
  })

  it('refuses stop and finalize without a recognition', async () => {
    const socket = await open()
    socket.send({ 'message-name': 'stop-recognition' })
    const error = expect.stringMatching(/^no-recognition: /) as unknown
    expect(await socket.receive()).toMatchObject({
      'message-name': 'stop-recognition-response',
      'operation-result': error,
    })
    socket.send({ 'message-name': 'finalize-recognition' })
    expect(await socket.receive()).toMatchObject({
      'message-name': 'finalize-recognition-response',
      'operation-result': error,
    })
  })

  it('refuses a second recognize and continues', async () => {
    const socket = await open()
    socket.send(recognize)
    const { 'recognition-id': id } = await socket.receive()
    socket.send(recognize)
    expect((await socket.receive())['operation-result']).toMatch(/^already-started: /)
    socket.send({ 'message-name': 'finalize-recognition' })
    expect(await socket.receive()).toMatchObject({ 'operation-result': 'Success', 'recognition-id': id })
    expect(await socket.receive()).toMatchObject({ 'message-name': 'final-result', 'recognition-id': id })
  })

  it('ends the recognition and the socket for a cut sample, and names the bytes', async () => {
    const socket = await open()
    socket.send(recognize)
    await socket.receive()
    socket.audio(new Uint8Array(321))
    const error = expect.stringMatching(/^cut-sample: .*321 bytes/) as unknown
    expect(await socket.receive()).toMatchObject({
      'message-name': 'final-result',
      'operation-result': error,
      'start-msec': '0',
      'end-msec': '0',
    })
    expect(await socket.receive()).toMatchObject({ close: 1003, reason: error })
  })

  it('ends the recognition with its final and closes with 1009 for a message that is too big', async () => {
    const socket = await open()
    socket.send(recognize)
    await socket.receive()
    socket.audio(new Uint8Array(1_048_578))
    expect(await socket.receive()).toMatchObject({
      'message-name': 'final-result',
      'operation-result': expect.stringMatching(/^message-too-big: /) as unknown,
    })
    expect(await socket.receive()).toMatchObject({ close: 1009 })
  })
})

describe('the requests of a recognition', () => {
  it('finalizes to exactly one final with an empty text for silence, and ignores later audio', async () => {
    const socket = await open()
    socket.send(recognize)
    const { 'recognition-id': id } = await socket.receive()
    socket.audio(new Uint8Array(16_000))
    socket.send({ 'message-name': 'finalize-recognition' })
    socket.audio(new Uint8Array(16_000))
    expect(await socket.receive()).toMatchObject({
      'message-name': 'finalize-recognition-response',
      'recognition-id': id,
    })
    expect(await socket.receive()).toEqual({
      'message-name': 'final-result',
      'recognition-id': id,
      'operation-result': 'Success',
      text: '',
      confidence: '0.00',
      channel: '0',
      'start-msec': expect.any(String) as unknown,
      'end-msec': '1000',
      'heard-msec': '1000',
    })
    socket.audio(new Uint8Array(320))
    socket.send(recognize)
    expect(await socket.receive()).toEqual(success)
  })

  it('stops without a final, and recognizes again on the same socket', async () => {
    const socket = await open()
    socket.send(recognize)
    const { 'recognition-id': id } = await socket.receive()
    socket.audio(new Uint8Array(16_000))
    socket.send({ 'message-name': 'stop-recognition' })
    expect(await socket.receive()).toEqual({
      'message-name': 'stop-recognition-response',
      'operation-result': 'Success',
      'recognition-id': id,
    })
    socket.send(recognize)
    expect(await socket.receive()).toEqual(success)
  })

  it('ends with an unrequested final after a graceful silence', async () => {
    const socket = await open()
    socket.send({ ...recognize, 'vad-graceful-silence-threshold-msec': 1000 })
    await socket.receive()
    socket.audio(new Uint8Array(32_000))
    expect(await socket.receive()).toMatchObject({ 'message-name': 'final-result', text: '', 'end-msec': '1000' })
    socket.send({ 'message-name': 'finalize-recognition' })
    expect((await socket.receive())['operation-result']).toMatch(/^no-recognition: /)
  })
})
