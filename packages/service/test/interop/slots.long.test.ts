import { lastValueFrom, toArray } from 'rxjs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import type { Slots } from '../../../../src/protocol/session-event.js'
import { readRecording } from '../../../../test/audio/read-recording.js'
import { liveService, type LiveService } from './live-service.js'
import { sessionOptions } from './session-options.js'

let live: LiveService
beforeAll(async () => {
  live = await liveService({ modelFolders: ['samples/models'], defaultModel: 'call' })
})
afterAll(() => live.close())

it('the milestones of the sample call have the slots of its grammar, the same over both transports', async () => {
  const { format, bytes } = await readRecording('samples/call.wav')
  const { grpc, websocket } = sessionOptions(live, format, 'call')
  for (const session of [dataflow(grpc), recognize(websocket)]) {
    const events = await lastValueFrom(session([bytes]).pipe(toArray()))
    const slots: Record<string, Slots | undefined> = {}
    for (const event of events) if (event.type === 'milestone') slots[event.text.trim()] = event.slots
    expect(slots).toMatchObject({
      'hello i would like to book a table for four': { count: 'four' },
      'friday at half past seven please': { day: 'friday', time: 'half past seven' },
      'i have a table at a quarter past eight': { time: 'a quarter past eight' },
      'five five five zero one four two': { number: '5 5 5 0 1 4 2' },
      'we will see you on friday': { day: 'friday' },
    })
    expect(slots['one moment please']).toBeUndefined()
    expect(Object.values(slots).filter((slot) => slot !== undefined).length).toBeLessThan(Object.keys(slots).length)
  }
})
