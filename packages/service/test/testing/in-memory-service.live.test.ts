import { happeningsOf } from '../../../../test/client/happenings.js'
import { existsSync } from 'node:fs'
import { of, lastValueFrom, toArray, type ObservableInput } from 'rxjs'
import { afterEach, describe, expect, it } from 'vitest'
import type { AudioFormat } from '../../../../src/audio/format.js'
import { isSpeechError } from '../../../../src/errors/speech-error.js'
import type { SessionEvent } from '../../../../src/protocol/session-event.js'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import type { ResumptionOptions } from '../../../../src/client/options.js'
import { inMemoryService, type InMemoryService } from '../../src/testing/in-memory-service.js'
import { scriptedEngine } from '../../src/testing/scripted-engine.js'
import { readRecording } from '../../../../test/audio/read-recording.js'
import { callModels } from '../interop/live-service.js'
import { patience } from '../interop/session-options.js'
import { longIt } from '../../../../test/thorough.js'

const opened: InMemoryService[] = []
const open = (...options: Parameters<typeof inMemoryService>): InMemoryService => {
  const service = inMemoryService(...options)
  opened.push(service)
  return service
}
afterEach(async () => {
  for (const service of opened.splice(0)) await service.close()
})

type Over = 'recognize' | 'dataflow'

const session = (
  over: Over,
  service: Pick<InMemoryService, 'recognizer' | 'dataflow'>,
  format: AudioFormat,
  resumption?: ResumptionOptions,
): ((source: ObservableInput<Uint8Array>) => ReturnType<ReturnType<typeof recognize>>) =>
  over === 'recognize'
    ? recognize(
        service.recognizer({ ...patience, format, resumption, voiceActivity: { gracefulSilenceThresholdMs: 0 } }),
      )
    : dataflow(service.dataflow({ ...patience, format, resumption }))

const run = (over: Over, service: InMemoryService, format: AudioFormat, source: ObservableInput<Uint8Array>) =>
  lastValueFrom(session(over, service, format)(source).pipe(toArray()))

/** The results of each channel, milestone by milestone, and how it ended. */
const resultsOf = (events: readonly SessionEvent[]): readonly unknown[] =>
  [0, 1].flatMap((channel) =>
    events.flatMap((event) => {
      if ((event.type !== 'milestone' && event.type !== 'final') || (event.channel ?? 0) !== channel) return []
      return [[event.type, channel, event.text, event.startMs, event.endMs]]
    }),
  )

const states = (events: readonly SessionEvent[]): readonly string[] => events.flatMap((event) => happeningsOf(event))
const wholeLife = ['authorizing', 'connecting', 'starting', 'streaming', 'finalizing', 'done']

describe('a service in memory', () => {
  it('gives a session with real models more time for its start and its end', () => {
    const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
    const [real, scripted] = [open({ modelFolders: [callModels] }), open()]
    for (const over of ['recognizer', 'dataflow'] as const) {
      expect(real[over]({ format }).timeouts).toEqual({ startMs: 60_000, finalizeMs: 120_000 })
      expect(real[over]({ format, timeouts: { startMs: 1 } }).timeouts).toEqual({ startMs: 1 })
      expect(scripted[over]({ format }).timeouts).toBeUndefined()
    }
  })

  it('sends the same results over both interfaces, pushed and pulled', async () => {
    const { format, bytes } = await readRecording('samples/call.wav')
    const texts = ['one two three', 'four five', 'six']
    const runs: unknown[] = []
    for (const over of ['recognize', 'dataflow'] as const) {
      for (const make of [() => of(bytes), () => [bytes]]) {
        const events = await run(over, open({ engine: scriptedEngine({ texts }) }), format, make())
        expect(states(events)).toEqual(wholeLife)
        expect(events.filter(({ type }) => type === 'final')).toHaveLength(2)
        runs.push(resultsOf(events))
      }
    }
    expect(JSON.stringify(runs[0])).toContain('four five')
    for (const other of runs) expect(other).toEqual(runs[0])
  })

  it.skipIf(!existsSync('../shared/audio/librivox-0870.wav'))(
    'sends the same results over both interfaces for a recording of one speaker (skipped without ../shared/audio)',
    async () => {
      const { format, bytes } = await readRecording('../shared/audio/librivox-0870.wav')
      const engine = (): ReturnType<typeof scriptedEngine> =>
        scriptedEngine({ texts: ['a b', 'c'], sampleRateHz: format.sampleRateHz })
      const [first, second] = await Promise.all(
        (['recognize', 'dataflow'] as const).map((over) => run(over, open({ engine: engine() }), format, [bytes])),
      )
      expect(resultsOf(first ?? []).length).toBeGreaterThan(1)
      expect(resultsOf(first ?? [])).toEqual(resultsOf(second ?? []))
    },
  )

  it.each(['', 'Bearer '])('accepts a token after %j in the header, and no other token', async (scheme) => {
    const service = open()
    const { format, bytes } = await readRecording('samples/call.wav')
    const events = (given: string) => {
      const presentToken = (url: string, token: string) => ({ url, headers: { Authorization: scheme + token + given } })
      const source$ = of(bytes.subarray(0, 16_000))
      return lastValueFrom(
        recognize(service.recognizer({ presentToken, format, resumption: false }))(source$).pipe(toArray()),
      )
    }
    expect(states(await events(''))).toContain('done')
    await expect(events('x')).rejects.toMatchObject({ code: 'unauthenticated' })
  })

  longIt('recognizes real words with the models of a folder', async () => {
    const { format, bytes } = await readRecording('samples/call.wav')
    const service = open({ modelFolders: [callModels], defaultModel: 'call' })
    const text = (await run('dataflow', service, format, [bytes])).flatMap((event) =>
      event.type === 'final' ? [event.text] : [],
    )
    expect(text.join(' ')).toContain('friday')
  })

  it.each(['recognize', 'dataflow'] as const)('refuses another token by name over %s', async (over) => {
    const service = open({ token: 'right' })
    const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
    const wrong: typeof service = {
      ...service,
      recognizer: (options) => service.recognizer({ ...options, token: 'wrong' }),
      dataflow: (options) => service.dataflow({ ...options, token: 'wrong' }),
    }
    const error = await run(over, wrong, format, []).catch((error: unknown) => error)
    expect(isSpeechError(error) && error.code).toBe('unauthenticated')
  })

  it.each(['recognize', 'dataflow'] as const)(
    'finalizes running sessions over %s when it drains, then accepts no more',
    async (over) => {
      const service = open()
      const { format, bytes } = await readRecording('samples/call.wav')
      const events: SessionEvent[] = []
      let count = 0
      const ended = new Promise((resolve) => {
        session(
          over,
          service,
          format,
          // The client looks for another service, and there is none.
          { budgetMs: 2_000 },
        )(of(bytes)).subscribe({
          next: (event) => {
            events.push(event)
            if (event.type === 'connection' && event.state === 'streaming' && count++ === 0)
              queueMicrotask(() => service.drain())
          },
          complete: () => resolve('complete'),
          error: resolve,
        })
      })
      const end = await ended
      expect(end === 'complete' ? 'going-away' : isSpeechError(end) && end.code).toBe('going-away')
      const late$ = session(over, service, format, { budgetMs: 100 })([]).pipe(toArray())
      const after = await lastValueFrom(late$).catch((error: unknown) => error)
      expect(isSpeechError(after) && after.retryable).toBe(true)
    },
  )
})
