import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SessionEvent } from '../../../src/protocol/session-event.js'
import { soundswallower } from '../../engines/src/soundswallower/soundswallower.js'
import { liveService, type LiveService } from './interop/live-service.js'
import { tinyModel, tinySherpaModel } from '../../engines/test/sherpa-onnx/tiny-model.js'
import { order, sayOver, writeModel, writeWeatherModel, type Say } from './weather-sessions.js'
import { serviceOfWorkers, type LoggedLine } from './workers/service-of-workers.js'
import { temporaryFolder } from '../../../test/temporary-folder.js'

const folder = temporaryFolder()
beforeAll(async () => {
  await writeWeatherModel(folder)
  const tiny = tinySherpaModel()
  const { options } = tinyModel(tiny, { batch: true })
  await cp(tiny, join(folder, 'Default/tiny/1'), { recursive: true })
  await rm(tiny, { recursive: true })
  await writeModel(folder, 'tiny', { 'model.json': JSON.stringify(options) })
})

/** With the name that the phrases have there. */
const transports = [
  ['WebSocket', 'phrases', sayOver.WebSocket],
  ['gRPC', 'Phrases', sayOver.gRPC],
] as const

/** The results, and that there was none. */
const results = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => {
    if (event.type === 'milestone') return [event.text]
    return event.type === 'event' && event.name === 'SR No Match' ? ['no match'] : []
  })

const failureOf = (say: Say, service: LiveService, options: object): Promise<unknown> =>
  say(service, options).catch((error: unknown) => error)

describe.each([
  [
    'a service',
    // One decoder, which segments of sessions with and without phrases use in turn.
    () => {
      const engines = [soundswallower({ workers: 1, decodersPerWorker: 1 })]
      return liveService({ modelFolders: [folder], defaultModel: 'weather', engines })
    },
  ],
  ['a service of workers', () => serviceOfWorkers({ modelFolders: [folder], defaultModel: 'weather' })],
] as const)('%s', (_name, start) => {
  let live: LiveService & { readonly lines?: readonly LoggedLine[] }
  beforeAll(async () => {
    live = await start()
  })
  afterAll(() => live.close())

  it.each(transports)('recognizes the phrases of a session over %s, and of no other', async (_over, _field, say) => {
    const phrases = ['Friday at eight, please', 'Friday at half past seven, please.']
    const sessions = [{}, { phrases }, { phrases: ['thank you goodbye'] }, { phrases }, { phrases: [] }]
    const found = await Promise.all(sessions.map((options) => say(live, options)))
    expect(found.map(results)).toEqual([['no match'], [order], ['no match'], [order], ['no match']])
    const milestone = found[1]?.find((event) => event.type === 'milestone')
    expect(milestone).toMatchObject({ words: order.split(' ').map((text) => ({ text })) })
    expect(milestone?.confidence).toBeGreaterThan(0.5)
  })

  it.each(transports)('names a phrase that it refuses over %s', async (_over, field, say) => {
    const cases = [
      [['thank you', 'a qwzrtpx'], `${field}[1] has the word "qwzrtpx", which the dictionary of the model lacks.`],
      [['fridday'], `${field}[0] has the word "fridday", which the dictionary of the model lacks; near are "friday".`],
      [['thank you', ' .'], `${field}[1] has no word.`],
      [['<sil>'], `${field}[0] has "<sil>", which cannot be a word.`],
      [[Array.from({ length: 11 }, () => 'no').join(' ')], `${field}[0] has 11 words; at most 10 are possible.`],
      [['n'.repeat(201)], `${field}[0] has more than 200 characters.`],
      [Array.from({ length: 101 }, () => 'no'), `${field} has 101 phrases; at most 100 are possible.`],
    ] as const
    for (const [phrases, message] of cases) {
      expect(await failureOf(say, live, { phrases })).toMatchObject({ code: 'invalid-field', message })
    }
    expect(JSON.stringify(live.lines ?? [])).not.toMatch(/qwzrtpx|fridday|thank/)
  })

  it.each(transports)('refuses phrases over %s for an engine that takes none', async (_over, field, say) => {
    expect(await failureOf(say, live, { model: 'tiny', phrases: ['thank you'] })).toMatchObject({
      code: 'invalid-field',
      message: `${field} cannot be used with this model, whose engine takes no phrases of a session; leave them out, or choose a model that takes them, such as one of a grammar.`,
    })
  })

  it.each(transports)('refuses what is no list over %s', async (_over, _field, say) => {
    const error = await failureOf(say, live, { phrases: order })
    expect(error).toMatchObject({ code: 'invalid-options' })
    expect(String(error)).toContain('phrases')
  })
})
