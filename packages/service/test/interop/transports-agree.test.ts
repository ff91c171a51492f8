import { existsSync } from 'node:fs'
import { lastValueFrom, toArray, type ObservableInput } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bytesForMs, type AudioFormat } from '../../../../src/audio/format.js'
import { pace } from '../../../../src/operators/audio/pace.js'
import type { SessionEvent } from '../../../../src/protocol/session-event.js'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import { readRecording } from '../../../../test/audio/read-recording.js'
import { callModels, liveService, type LiveService } from './live-service.js'
import { resultsByChannel, sessionOptions, type Over } from './session-options.js'
import { longIt } from '../../../../test/thorough.js'

let live: LiveService
beforeAll(async () => {
  live = await liveService({ modelFolders: [callModels, 'packages/engines/test/fixtures'], defaultModel: 'call' })
})
afterAll(() => live.close())

const run = (
  over: Over,
  format: AudioFormat,
  model: string,
  source: ObservableInput<Uint8Array>,
): Promise<SessionEvent[]> => {
  const { grpc, websocket } = sessionOptions(live, format, model)
  const session = over === 'grpc' ? dataflow(grpc) : recognize(websocket)
  return lastValueFrom(session(source).pipe(toArray()))
}

const finalTexts = (events: readonly SessionEvent[]): readonly string[] =>
  events.flatMap((event) => (event.type === 'final' ? [event.text] : []))

describe('the sample call', () => {
  longIt('has the same milestones and finals over both transports, at any chunking and pace', async () => {
    const { format, bytes } = await readRecording('samples/call.wav')
    const whole = resultsByChannel(await run('grpc', format, 'call', [bytes]))
    const cut = Array.from({ length: Math.ceil(bytes.length / 594) }, (_none, index) =>
      bytes.subarray(index * 594, index * 594 + 594),
    )
    const overSocket = resultsByChannel(await run('websocket', format, 'call', cut))
    const paced = resultsByChannel(await run('grpc', format, 'call', pace({ format, speed: 8 })([bytes])))
    expect(whole.every((channel) => channel.length > 3)).toBe(true)
    expect(overSocket).toEqual(whole)
    expect(paced).toEqual(whole)
  })

  it('keeps the words of a sentence whose audio stops, and says that it is incomplete', async () => {
    const { format, bytes } = await readRecording('samples/call.wav')
    // After "good evening harbor grill how can i", and in the middle of "would" in "hello i would like to book".
    for (const [toMs, channel, text] of [
      [2_580, 0, 'good evening harbor grill how can i'],
      [4_480, 1, 'hello i would'],
    ] as const) {
      const source = [bytes.subarray(0, bytesForMs(format, toMs))]
      const overGrpc = resultsByChannel(await run('grpc', format, 'call', source))
      expect(overGrpc[channel]).toMatchObject([
        { type: 'milestone', text, isIncomplete: true },
        { type: 'final', text },
      ])
      expect(resultsByChannel(await run('websocket', format, 'call', source))).toEqual(overGrpc)
    }
  })
})

const recordings = '../shared/audio'
describe.skipIf(!existsSync(recordings))('a recording of a person', () => {
  it.each([
    ['ten-of-clubs.wav', 'ten of clubs'],
    ['four-queen-of-clubs.wav', 'four queen of clubs'],
    ['seven-of-clubs.wav', 'seven of clubs'],
  ])('%s has the same words over both transports', async (file, words) => {
    const { format, bytes } = await readRecording(`${recordings}/${file}`)
    for (const over of ['grpc', 'websocket'] as const) {
      expect(finalTexts(await run(over, format, 'cards', [bytes]))).toEqual([words])
    }
  })
})
