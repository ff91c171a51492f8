import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { plainService, recognizeOf, type PlainService } from '../plain-service.js'
import { openSocket, type PlainSocket } from './plain-socket-client.js'

let service: PlainService
let socket: PlainSocket
beforeAll(async () => {
  service = await plainService({ limits: { requestBurst: 1_000 } })
  socket = await openSocket(service)
})
afterAll(async () => {
  socket.close()
  await service.close()
})

/** Values that are not whole numbers for any field. */
const illTyped = [5.5, true, [], {}, null, 'abc', '', '5.5', 1e21]

const table: Readonly<Record<string, { readonly good: readonly unknown[]; readonly bad: readonly unknown[] }>> = {
  'vad-sensitivity': { good: [1, 10, 6, '6', ' 7 '], bad: [0, 11, -1, '11', ...illTyped] },
  'vad-pre-speech-buffer-msec': { good: [0, 5000, '300'], bad: [-1, 5001, ...illTyped] },
  'vad-post-speech-buffer-msec': { good: [0, 5000, '400'], bad: [-1, 5001, ...illTyped] },
  'vad-max-speech-duration-msec': { good: [-1, '-1', 1000, 3_600_000], bad: [-2, 0, 1, 999, ...illTyped] },
  'vad-silence-trigger-msec': { good: [50, 60_000, '400'], bad: [49, 0, -1, 60_001, ...illTyped] },
  'vad-graceful-silence-threshold-msec': { good: [0, 1, 10_000, '10000'], bad: [-1, ...illTyped] },
  'sample-rate': { good: [8000, 16_000, 48_000, '8000'], bad: [7_999, 48_001, 0, -8000, ...illTyped] },
  'audio-splitter': { good: ['realtime-vad', 'audio-segmenter'], bad: ['', 'REALTIME-VAD', 'none', 1, true, [], null] },
  'audio-format': { good: ['pcm'], bad: ['ulaw', 'PCM', '', 1, null, []] },
  'model-version': { good: ['', '1'], bad: [1, true, [], null] },
  'model-tenant': { good: ['Default', ''], bad: [1, true, [], null] },
}

const answerTo = async (field: string, value: unknown): Promise<string> => {
  socket.send(recognizeOf({ [field]: value }))
  const { 'operation-result': result } = await socket.receive()
  if (result === 'Success') {
    socket.send({ 'message-name': 'stop-recognition' })
    await socket.receive()
  }
  return String(result)
}

describe.each(Object.keys(table))('%s of recognize', (field) => {
  const { good = [], bad = [] } = table[field] ?? {}

  it.each(good)('accepts %j', async (value) => {
    expect(await answerTo(field, value)).toBe('Success')
  })

  it.each(bad.map((value) => [JSON.stringify(value), value]))('rejects %s by its name', async (_shown, value) => {
    expect(await answerTo(field, value)).toMatch(new RegExp(`^invalid-field: ${field} must be `))
  })
})
