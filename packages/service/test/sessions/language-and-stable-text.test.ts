import { filter, ignoreElements, lastValueFrom, of, Subject, take, toArray, type Observable } from 'rxjs'
import { afterEach, describe, expect, it } from 'vitest'
import { bytesOf } from '../../../../src/audio/pcm.js'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import type { UpdateRequest } from '../../../../src/protocol/dataflow-messages.js'
import type { SessionEvent } from '../../../../src/protocol/session-event.js'
import type { Engine } from '../../../engines/src/engine.js'
import { createSegmentEngine } from '../../../engines/src/segment-engine.js'
import { inMemoryService, type InMemoryService } from '../../src/testing/in-memory-service.js'
import {
  connectRecognizer,
  finalizeRecognition,
  parsed,
  recognize as startOf,
  untilFinal,
  vanish,
} from '../../../server/test/recognizer/recognizer-connection.js'
import { spoken } from '../../../server/test/sessions/spoken.js'

const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
const words = ['one', 'two', 'three']

/** Each segment has the language of the session and three words, one in 200 ms, of which the last one may change. */
const engineOf = (languages?: readonly string[]): Engine =>
  createSegmentEngine({
    capabilities: {
      ...{ sampleRateHz: 8000, partials: true, words: false, kind: 'dictation', segmentsAtOnce: 2 },
      languages,
    },
    openChannel:
      ({ language = 'default' }) =>
      (_startMs, { progress, decided }) => {
        let sampleCount = 0
        const shown = (): readonly string[] => [language, ...words.slice(0, sampleCount / 1600)]
        return {
          write: ({ length }) => {
            sampleCount += length
            const stable = shown().slice(0, -1).join(' ')
            progress(length, ` ${shown().join(' ')}`, stable === '' ? 0 : stable.length + 1)
          },
          close: () => decided([], { text: [language, ...words].join(' ') }),
          abort: () => undefined,
        }
      },
  })

const opened: InMemoryService[] = []
const serviceOf = (...options: Parameters<typeof inMemoryService>): InMemoryService => {
  const service = inMemoryService(...options)
  opened.push(service)
  return service
}
afterEach(async () => {
  for (const service of opened.splice(0)) await service.close()
})

interface Options {
  readonly language?: string
  readonly update$?: Observable<UpdateRequest>
  readonly project?: string
}
const sessions = {
  WebSocket: (service: InMemoryService, { language }: Options) =>
    recognize({ ...service.recognizer({ format, voiceActivity: { gracefulSilenceThresholdMs: 0 } }), language }),
  gRPC: (service: InMemoryService, options: Options) => dataflow({ ...service.dataflow({ format }), ...options }),
}
type Over = keyof typeof sessions
const transports = Object.keys(sessions) as readonly Over[]

const run = async (
  over: Over,
  engine: Engine,
  options: Options = {},
  seconds = 4,
): Promise<readonly SessionEvent[]> => {
  const session = sessions[over](serviceOf({ engine }), options)
  return lastValueFrom(session(of(await spoken(seconds * 1_000))).pipe(toArray()))
}

const textOf = (events: readonly SessionEvent[]): string =>
  events.flatMap((event) => (event.type === 'milestone' ? [event.text] : [])).join('')

describe.each(transports)('the language of a session over %s', (over) => {
  it.each([
    ['fr', 'fr'],
    ['en-US', 'en'],
    ['FR', 'fr'],
    ['auto', 'auto'],
    [undefined, 'default'],
  ])('%s reaches the engine as %s', async (language, code) => {
    const events = await run(over, engineOf(['en', 'fr', 'auto']), language === undefined ? {} : { language })
    expect(textOf(events).split(' ')[0]).toBe(code)
  })

  it('is refused by name if the model lacks it, with those that it has', async () => {
    const message = /^language "de" cannot be used with this model; it has en, fr\.$/i
    await expect(run(over, engineOf(['en', 'fr']), { language: 'de-AT' })).rejects.toMatchObject({
      ...{ code: 'invalid-field', retryable: false },
      message: expect.stringMatching(message) as unknown,
    })
    const many = Array.from({ length: 99 }, (_none, at) => `l${String.fromCharCode(97 + (at % 26))}`)
    const refused = run(over, engineOf(many), { language: 'de' })
    await expect(refused).rejects.toThrow(/la, lb, .* and 59 more\.$/)
  })
})

describe('the language of a session', () => {
  it('is refused by a model without languages, except that of a Start, which is for its project', async () => {
    await expect(run('WebSocket', engineOf(), { language: 'en' })).rejects.toThrow(
      /^language "en" cannot be used with this model: its engine takes no language of a session\.$/,
    )
    expect(textOf(await run('gRPC', engineOf(), { language: 'en' }))).toMatch(/^default/)
  })

  it('that is no tag is refused before anything is sent, and in a Start it is for its project', async () => {
    const wrong = /language must be a language such as "en" or "en-US", or "auto"/
    expect(() => sessions.WebSocket(serviceOf(), { language: 'English' })).toThrow(wrong)
    expect(textOf(await run('gRPC', engineOf(['en']), { language: 'English' }))).toMatch(/^default/)
  })

  it('is that of the node if the session has none', async () => {
    const project = [
      'version: 1',
      'nodes:',
      '  in: entry',
      '  speech: { node: recognizer, options: { language: fr-CA } }',
      '  out: publisher',
      'wires:',
      '  - in -> speech',
      '  - speech -> out',
    ].join('\n')
    const texts = [{}, { language: 'en' }].map(async (options) => {
      const service = serviceOf({ engine: engineOf(['en', 'fr']), projects: { french: project } })
      const session = sessions.gRPC(service, { ...options, project: 'french' })
      return textOf(await lastValueFrom(session(of(await spoken(4_000))).pipe(toArray())))
    })
    const [own, asked] = await Promise.all(texts)
    expect(own).toMatch(/^fr/)
    expect(asked).toMatch(/^en/)
  })

  it('is another one with the next recognize of a connection', async () => {
    const connection = connectRecognizer(() => Promise.resolve(engineOf(['en', 'fr'])))
    const said = async (language: string): Promise<string> => {
      connection.send(startOf({ language }), await spoken(2_000), finalizeRecognition)
      return parsed((await untilFinal(connection)).at(-1) ?? '')['text'] ?? ''
    }
    expect(await said('en')).toMatch(/^en one/)
    expect(await said('fr')).toMatch(/^fr one/)
    connection.send(startOf({ language: 'de' }))
    expect(parsed(await connection.receive())['operation-result']).toMatch(/^invalid-field: language "de" /)
    vanish(connection)
  })

  it('changes with an Update from the next segment on, and one that the model lacks changes nothing', async () => {
    const speech = await spoken(12_000)
    const audio$ = new Subject<Uint8Array>()
    const update$ = new Subject<UpdateRequest>()
    const events: SessionEvent[] = []
    const session = sessions.gRPC(serviceOf({ engine: engineOf(['en', 'fr']) }), { language: 'en', update$ })
    const event$ = new Subject<SessionEvent>()
    const end = lastValueFrom(event$.pipe(ignoreElements()), { defaultValue: undefined })
    event$.subscribe({ next: (event) => events.push(event), error: () => undefined })
    const first = (isWanted: (event: SessionEvent) => boolean) => lastValueFrom(event$.pipe(filter(isWanted), take(1)))
    const [streaming, milestone] = [
      first((event) => event.type === 'connection' && event.state === 'streaming'),
      first(({ type }) => type === 'milestone'),
    ]
    const answers = lastValueFrom(
      event$.pipe(
        filter((event) => event.type === 'response' && event.request === 'Update'),
        take(2),
        toArray(),
      ),
    )
    session(audio$).subscribe(event$)
    await streaming
    audio$.next(speech.slice(0, speech.length / 2))
    await milestone
    const before = events.filter(({ type }) => type === 'milestone').length
    update$.next({ settings: { Language: 'de' } })
    update$.next({ settings: { Language: 'fr-FR' } })
    expect(await answers).toMatchObject([
      {
        success: false,
        operationResult: 'invalid-field: Language "de" cannot be used with this model; it has en, fr.',
      },
      { success: true },
    ])
    audio$.next(speech.slice(speech.length / 2))
    audio$.complete()
    await end
    const texts = events.flatMap((event) => (event.type === 'milestone' ? [event.text.trim().split(' ')[0]] : []))
    // The segment that was open at the Update keeps its language.
    expect(texts.slice(0, before).every((text) => text === 'en')).toBe(true)
    expect(new Set(texts.slice(before + 1))).toEqual(new Set(['fr']))
    expect(texts.length).toBeGreaterThan(before + 1)
  })
})

describe('the stable part of partials', () => {
  it('is the same over both transports, ends at a word and grows within a segment', async () => {
    const runs = await Promise.all(
      transports.map(async (over) => {
        const partials = (await run(over, engineOf())).flatMap((event) => (event.type === 'partial' ? [event] : []))
        return partials.map(({ text, stableLength }) => ({ text, stableLength }))
      }),
    )
    expect(runs[0]?.slice(0, 3)).toEqual([
      { text: 'default one', stableLength: 7 },
      { text: 'default one two', stableLength: 11 },
      { text: 'default one two three', stableLength: 15 },
    ])
    expect(runs[1]).toEqual(runs[0])
  })

  it('is that of each channel', async () => {
    const stereo = { encoding: 'pcm', sampleRateHz: 8000, channels: 2 } as const
    const service = serviceOf({ engine: engineOf() })
    const quiet = await spoken(2_000)
    const samples = new Int16Array(quiet.buffer, quiet.byteOffset, quiet.byteLength / 2)
    const both = bytesOf(Int16Array.from({ length: 2 * samples.length }, (_none, at) => samples[at >> 1] ?? 0))
    for (const session of [
      recognize(service.recognizer({ format: stereo })),
      dataflow(service.dataflow({ format: stereo })),
    ]) {
      const events = await lastValueFrom(session(of(both)).pipe(toArray()))
      const stable = [0, 1].map((channel) =>
        events.flatMap((event) => (event.type === 'partial' && event.channel === channel ? [event.stableLength] : [])),
      )
      expect(stable[0]?.slice(0, 2)).toEqual([7, 11])
      expect(stable[1]).toEqual(stable[0])
    }
  })
})
