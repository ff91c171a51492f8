import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStream, plainClient } from './interop/plain-dataflow-client.js'
import { openSocket } from './interop/plain-socket-client.js'
import { spoken } from '../../server/test/sessions/spoken.js'
import { plainService, recognizeOf, startOf, type PlainService } from './plain-service.js'

const count = 20
/** Speech, then enough silence to end a recognition; 8 kHz. */
const speechAndSilence = async (): Promise<Uint8Array> => {
  const speech = await spoken(3_000)
  const audio = new Uint8Array(speech.length + 4 * 16_000)
  audio.set(speech)
  return audio
}

let service: PlainService
beforeEach(async () => {
  // One place: each recognition has to release it, or keep that of its socket.
  service = await plainService({ operations: { host: '127.0.0.1', port: 0 }, limits: { sessions: 1 } })
})
afterEach(() => service.close())

const metric = async (line: string): Promise<number> => {
  const body = await (await fetch(`${service.started.operationsUrl ?? ''}/metrics`)).text()
  return Number(
    body
      .split('\n')
      .find((item) => item.startsWith(`${line} `))
      ?.slice(line.length + 1),
  )
}
const states = ['opened', 'running', 'flushing', 'idle'] as const
const atRest = async (by: string): Promise<void> => {
  const sessions = async () =>
    Promise.all(states.map((state) => metric(`rxspeech_sessions{interface="${by}",state="${state}"}`)))
  while ((await sessions()).some((session) => session !== 0)) await new Promise(setImmediate)
  expect(
    await metric(`rxspeech_sessions_started_total{interface="${by}",tenant="Default",model="m",version="1"}`),
  ).toBe(count)
}

describe('20 consecutive recognitions, each ended by the service', () => {
  it('run on one socket, with separate times and limits, and release its place', async () => {
    const audio = await speechAndSilence()
    const socket = await openSocket(service)
    const finals: Record<string, unknown>[] = []
    for (let run = 0; run < count; run += 1) {
      socket.send(recognizeOf({ 'vad-graceful-silence-threshold-msec': 1_000 }))
      expect(await socket.receive()).toMatchObject({ 'operation-result': 'Success' })
      for (let at = 0; at < audio.length; at += 3_200) socket.audio(audio.subarray(at, at + 3_200))
      let received: Record<string, unknown>
      do received = await socket.receive()
      while (received['message-name'] !== 'final-result')
      finals.push(received)
      // Audio that is still in transit belongs to no recognition.
      socket.audio(new Uint8Array(3_200))
    }
    const [first] = finals
    expect(first).toMatchObject({
      'operation-result': 'Success',
      text: expect.stringMatching(/^hello world/) as unknown,
    })
    expect(Number(first?.['end-msec'])).toBeLessThanOrEqual(7_000)
    expect(new Set(finals.map((final) => final['recognition-id'])).size).toBe(count)
    for (const final of finals) expect({ ...final, 'recognition-id': '' }).toEqual({ ...first, 'recognition-id': '' })
    socket.raw.close(1000)
    expect(await socket.receive()).toMatchObject({ close: 1000 })
    await atRest('websocket')
    expect(await metric('rxspeech_sessions_ended_total{interface="websocket",outcome="completed"}')).toBe(1)
    const next = await openSocket(service)
    next.close()
    await next.receive()
    expect(service.faults).toEqual([])
  })

  it('run over gRPC, each to the end of its stream with OK after its final', async () => {
    const audio = await speechAndSilence()
    const client = plainClient(service)
    for (let run = 0; run < count; run += 1) {
      const stream = openStream(client)
      stream.request(startOf(service.token, { Settings: { VadGracefulSilenceThresholdMsec: 1_000 } }))
      await stream.answered
      for (let at = 0; at < audio.length; at += 3_200) {
        stream.raw({ binary_content: audio.subarray(at, at + 3_200), content_type: 0 })
      }
      // The client has not half-closed: a status of OK arrives only with the trailers of the service.
      const { status, events } = await stream.ended
      expect(status).toBe('OK')
      expect(events.at(-1)).toMatchObject({ Name: 'SR Final', Channel: 0 })
      expect(events.filter((event) => event['Name'] === 'SR Final')).toHaveLength(1)
      expect(Number(events.at(-1)?.['EndMsec'])).toBeLessThanOrEqual(7_000)
    }
    await atRest('grpc')
    expect(service.faults).toEqual([])
    client.close()
  })
})
