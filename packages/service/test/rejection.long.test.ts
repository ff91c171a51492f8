import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RejectLevel } from '../../../src/protocol/recognition-parameters.js'
import type { SessionEvent } from '../../../src/protocol/session-event.js'
import { liveService, type LiveService } from './interop/live-service.js'
import { sayOver, weather, writeWeatherModel } from './weather-sessions.js'
import { serviceOfWorkers } from './workers/service-of-workers.js'
import { temporaryFolder } from '../../../test/temporary-folder.js'

const folder = temporaryFolder()
beforeAll(async () => {
  await writeWeatherModel(folder)
})

const transports = Object.entries(sayOver)

/** What was recognized, in order, without the partials before the last one. */
const results = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => {
    if (event.type === 'milestone') return [['milestone', weather.includes(event.text)]]
    if (event.type === 'final') return [['final', weather.includes(event.text), event.text === '']]
    return event.type === 'event' && event.name === 'SR No Match' ? [['no match']] : []
  })

const rejected = [['no match'], ['final', false, true]]
const accepted = [
  ['milestone', true],
  ['final', true, false],
]

describe.each([
  ['a service', () => liveService({ modelFolders: [folder], defaultModel: 'weather' })],
  ['a service of workers', () => serviceOfWorkers({ modelFolders: [folder], defaultModel: 'weather' })],
])('%s', (_name, start) => {
  let live: LiveService
  beforeAll(async () => {
    live = await start()
  })
  afterAll(() => live.close())

  it.each(transports)(
    'rejects other speech over %s, by the level of the model or of the session',
    async (_over, say) => {
      expect(results(await say(live))).toEqual(rejected)
      expect(results(await say(live, { reject: 'low' satisfies RejectLevel }))).toEqual(rejected)
      expect(results(await say(live, { reject: 'off' satisfies RejectLevel }))).toEqual(accepted)
    },
  )

  it.each(transports)(
    'clears what the partials showed over %s, then tells the times of the segment',
    async (_over, say) => {
      const events = await say(live)
      const at = events.findIndex((event) => event.type === 'event' && event.name === 'SR No Match')
      const partials = events.slice(0, at).flatMap((event) => (event.type === 'partial' ? [event] : []))
      expect(partials.length).toBeGreaterThan(1)
      const last = partials.at(-1)
      expect(last).toMatchObject({
        text: '',
        startMs: expect.any(Number) as number,
        endMs: expect.any(Number) as number,
      })
      expect(events[at]).toMatchObject({ channel: 0, startMs: last?.startMs, endMs: last?.endMs })
      expect(Number(last?.endMs)).toBeGreaterThan(1000)
      expect(events.slice(at + 1).filter(({ type }) => type === 'partial' || type === 'milestone')).toEqual([])
    },
  )

  it.each(transports)('refuses a level that does not exist over %s', async (_over, say) => {
    const refusal: unknown = await say(live, { reject: 'some' }).catch((error: unknown) => error)
    expect(['invalid-field', 'invalid-options']).toContain((refusal as { readonly code: string }).code)
    expect(String(refusal)).toContain('reject')
  })
})
