import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { lastValueFrom, toArray, type ObservableInput } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AudioFormat } from '../../src/audio/format.js'
import { readWav } from '../../src/audio/read-wav.js'
import { pace } from '../../src/operators/pace.js'
import type { SessionEvent } from '../../src/protocol/session-event.js'
import { dataflow } from '../../src/session/dataflow.js'
import { recognize } from '../../src/session/recognize.js'
import { liveService, sampleModels, type LiveService } from './live-service.js'

let live: LiveService
beforeAll(async () => {
  live = await liveService({ modelFolders: [sampleModels, 'test/service/engine/fixtures'], defaultModel: 'call' })
})
afterAll(() => live.close())

const audioOf = async (path: string): Promise<{ format: AudioFormat; bytes: Uint8Array }> => {
  const file = await readFile(path)
  const { format, audio } = await readWav(
    (async function* () {
      yield await Promise.resolve(new Uint8Array(file))
    })(),
  )
  const parts: Uint8Array[] = []
  for await (const part of audio) parts.push(part)
  return { format, bytes: Buffer.concat(parts) }
}

type Over = 'grpc' | 'websocket'

const run = (
  over: Over,
  format: AudioFormat,
  model: string,
  source: ObservableInput<Uint8Array>,
): Promise<SessionEvent[]> => {
  const { access } = live.service
  const session =
    over === 'grpc'
      ? dataflow({
          address: access.grpc,
          rootCertificates: live.ca,
          token: live.token,
          tenant: access.tenant,
          projectName: access.project,
          settings: { ModelName: model },
          format,
        })
      : recognize({
          url: access.wsUrl,
          ca: live.ca,
          token: live.token,
          modelName: model,
          voiceActivity: { gracefulSilenceThresholdMs: 0 },
          format,
        })
  return lastValueFrom(session(source).pipe(toArray()))
}

/** Milestones and finals, channel by channel, by what both interfaces tell of them. */
const results = (events: readonly SessionEvent[]): readonly unknown[] =>
  [0, 1].map((channel) =>
    events
      .filter((event) => event.type === 'milestone' || event.type === 'final')
      .filter((event) => event.channel === channel)
      .map(({ type, text, startMs, endMs }) => ({ type, text, startMs, endMs })),
  )

const finalTexts = (events: readonly SessionEvent[]): readonly string[] =>
  events.flatMap((event) => (event.type === 'final' ? [event.text] : []))

describe('the sample call', () => {
  it('gives the same milestones and finals over both transports, at any chunking and pace', async () => {
    const { format, bytes } = await audioOf('samples/call.wav')
    const whole = results(await run('grpc', format, 'call', [bytes]))
    const cut = Array.from({ length: Math.ceil(bytes.length / 594) }, (_none, index) =>
      bytes.subarray(index * 594, index * 594 + 594),
    )
    const overSocket = results(await run('websocket', format, 'call', cut))
    const paced = results(await run('grpc', format, 'call', pace({ format, speed: 8 })([bytes])))
    expect(whole.map((lane) => (lane as unknown[]).length).every((count) => count > 3)).toBe(true)
    expect(overSocket).toEqual(whole)
    expect(paced).toEqual(whole)
  }, 120_000)
})

const recordings = '../shared/audio'
describe.skipIf(!existsSync(recordings))('a recording of a person', () => {
  it.each([
    ['ten-of-clubs.wav', 'ten of clubs'],
    ['four-queen-of-clubs.wav', 'four queen of clubs'],
    ['seven-of-clubs.wav', 'seven of clubs'],
  ])('%s gives the words over both transports', async (file, words) => {
    const { format, bytes } = await audioOf(`${recordings}/${file}`)
    for (const over of ['grpc', 'websocket'] as const) {
      expect(finalTexts(await run(over, format, 'cards', [bytes]))).toEqual([words])
    }
  })
})
