import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lastValueFrom, of, toArray, type Observable } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dataflow } from '../../src/client/dataflow/dataflow.js'
import { recognize } from '../../src/client/recognizer/recognize.js'
import { bytesOf } from '../../src/audio/pcm.js'
import type { RejectLevel } from '../../src/protocol/recognizer-messages.js'
import type { SessionEvent } from '../../src/protocol/session-event.js'
import { liveService, type LiveService } from '../interop/live-service.js'
import { callTurns } from './engines/call-turns.js'
import { serviceOfWorkers } from './workers/service-of-workers.js'

const format = { sampleRateHz: 8000, channels: 1, encoding: 'pcm' } as const

const weather = ['tomorrow it rains in the mountains', 'a cold wind blows from the north', 'expect fog along the coast']

let folder: string
let sentence: Uint8Array
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rxspeech-rejection-'))
  const model = join(folder, 'Default/weather/1')
  await mkdir(model, { recursive: true })
  await writeFile(join(model, 'phrases.txt'), weather.join('\n'))
  await writeFile(
    join(model, 'model.json'),
    JSON.stringify({ engine: 'soundswallower', phrases: 'phrases.txt', batch: true }),
  )
  const [, , , friday] = await callTurns()
  sentence = bytesOf(friday?.samples ?? new Int16Array(0))
})
afterAll(() => rm(folder, { recursive: true }))

type Run = (service: LiveService, options: object) => Observable<SessionEvent>

const transports: readonly (readonly [string, Run])[] = [
  [
    'WebSocket',
    ({ service, ca, token }, options) =>
      of(sentence).pipe(recognize({ url: service.access.wsUrl, ca, token, model: 'weather', format, ...options })),
  ],
  [
    'gRPC',
    ({ service, ca, token }, options) =>
      of(sentence).pipe(
        dataflow({
          ...{ url: service.access.grpc, ca, token, model: 'weather', format },
          ...{ tenant: 'Default', project: 'transcribe' },
          ...options,
        }),
      ),
  ],
]

const eventsOf = (run: Run, service: LiveService, options: object = {}): Promise<readonly SessionEvent[]> =>
  lastValueFrom(run(service, options).pipe(toArray()))

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
])('%s', { timeout: 120_000 }, (_name, start) => {
  let live: LiveService
  beforeAll(async () => {
    live = await start()
  }, 60_000)
  afterAll(() => live.close())

  it.each(transports)(
    'rejects other speech over %s, by the level of the model or of the session',
    async (_over, run) => {
      expect(results(await eventsOf(run, live))).toEqual(rejected)
      expect(results(await eventsOf(run, live, { reject: 'low' satisfies RejectLevel }))).toEqual(rejected)
      expect(results(await eventsOf(run, live, { reject: 'off' satisfies RejectLevel }))).toEqual(accepted)
    },
  )

  it.each(transports)(
    'clears what the partials showed over %s, then tells the times of the segment',
    async (_over, run) => {
      const events = await eventsOf(run, live)
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

  it.each(transports)('refuses a level that does not exist over %s', async (_over, run) => {
    const failure = (options: object): Promise<unknown> =>
      Promise.resolve()
        .then(() => eventsOf(run, live, options))
        .catch((error: unknown) => error)
    const refusal = await failure({ reject: 'some' })
    expect(['invalid-field', 'invalid-options']).toContain((refusal as { readonly code: string }).code)
    expect(String(refusal)).toContain('reject')
  })
})
