import { asyncScheduler, NEVER } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { parseCassette, readCassette, record, replay, toMarbles, type Cassette } from '../../src/cassette.js'
import { dataflow, loadDataflow, nodeFetch } from '../../src/grpc.js'
import {
  chunk,
  deinterleave,
  eventsOf,
  interleave,
  keepFresh,
  metrics,
  pace,
  recognize,
  requestToken,
  sampleClock,
  startSession,
  toCaptions,
  toSrt,
  toWebVtt,
  transcode,
} from '../../src/index.js'
import {
  createModelRegistry,
  createSegmentEngine,
  openIdentityStore,
  pocketsphinx,
  remote,
  soundswallower,
  startDevelopmentService,
  startService,
} from '../../src/service.js'
import {
  drawMarbles,
  expectNoHandles,
  faultMarbles,
  faultProxy,
  inMemoryService,
  linkFaults,
  scriptedEngine,
  verifyingService,
} from '../../src/testing.js'

const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 2 } as const
const session = { token: 't', format: { ...format, channels: 1 } } as const
const cassette: Cassette = {
  header: { version: 1, transport: 'websocket', format, startedAt: '2026-01-01T00:00:00Z', audio: 'sha256' },
  lines: [],
}
const capabilities = { sampleRateHz: 8000, partials: false, words: true, kind: 'dictation', segmentsAtOnce: 1 } as const
const nonsense: object = { nonsense: 'a-value' }

/** Every function with options, given one that it does not have. */
const calls: Readonly<Record<string, () => unknown>> = {
  recognize: () => recognize({ ...session, ...nonsense, url: 'wss://localhost', model: 'm' }),
  dataflow: () => dataflow({ ...session, ...nonsense, url: 'localhost', tenant: 't', project: 'p' }),
  requestToken: () =>
    requestToken({ ...nonsense, authUrl: 'https://localhost', clientId: 'c', clientSecret: 'secret-secret' }),
  keepFresh: () => keepFresh({ ...nonsense }),
  pace: () => pace({ ...nonsense, format }),
  chunk: () => chunk({ ...nonsense, format }),
  interleave: () => interleave(NEVER, NEVER, { ...nonsense, format }),
  deinterleave: () => deinterleave({ ...nonsense, format }),
  transcode: () => transcode({ ...nonsense, from: 'pcm', to: 'ulaw' }),
  metrics: () => metrics({ ...nonsense }),
  sampleClock: () => sampleClock({ ...nonsense, format }),
  toCaptions: () => toCaptions({ ...nonsense }),
  toSrt: () => toSrt({ ...nonsense }),
  toWebVtt: () => toWebVtt({ ...nonsense }),
  eventsOf: () => eventsOf(NEVER, { ...nonsense }),
  startSession: () => startSession(() => NEVER, { ...nonsense }),
  record: () => record(() => undefined, { ...nonsense }),
  replay: () => replay(cassette, { ...nonsense }),
  toMarbles: () => toMarbles(cassette, { ...nonsense }),
  inMemoryService: () => inMemoryService({ ...nonsense }),
  verifyingService: () => verifyingService({ ...nonsense }),
  linkFaults: () => linkFaults({ ...nonsense }),
  faultProxy: () => faultProxy({ ...nonsense, target: 1 }),
  faultMarbles: () => faultMarbles('-', { ...nonsense }),
  scriptedEngine: () => scriptedEngine({ ...nonsense, texts: [] }),
  startService: () => startService({ ...nonsense, modelFolders: [] }),
  startDevelopmentService: () =>
    startDevelopmentService({ ...nonsense, modelFolders: [], stateFolder: '/dev/null/none' }),
  'client of replay': () => replay(cassette).client(() => NEVER, { ...nonsense, token: 't' }),
  'listen of verifyingService': () => verifyingService().listen({ ...nonsense }),
  nodeFetch: () => nodeFetch({ ...nonsense }),
  parseCassette: () => parseCassette('', { ...nonsense }),
  readCassette: () => readCassette('/dev/null/none', { ...nonsense }),
  loadDataflow: () => loadDataflow({ ...nonsense }),
  expectNoHandles: () => expectNoHandles(() => undefined, { ...nonsense }),
  drawMarbles: () => drawMarbles(NEVER, { ...nonsense, frameMs: 1, scheduler: asyncScheduler }),
  createModelRegistry: () => createModelRegistry({ ...nonsense, folders: [], kinds: [] }),
  createSegmentEngine: () =>
    createSegmentEngine({
      ...nonsense,
      capabilities,
      openChannel: () => () => Promise.reject(new Error('unused')) as never,
    }),
  openIdentityStore: () => openIdentityStore({ ...nonsense, stateFolder: '/dev/null/none' }),
  remote: () => remote({ ...nonsense }),
  pocketsphinx: () => pocketsphinx({ ...nonsense }),
  soundswallower: () => soundswallower({ ...nonsense }),
}

describe('an unknown option', () => {
  it.each(Object.entries(calls))('is refused by name by %s', async (_name, call) => {
    const error = await Promise.resolve()
      .then(call)
      .catch((one: unknown) => one)
    expect(error).toMatchObject({
      code: 'invalid-options',
      message: expect.stringMatching(/^Unknown option "nonsense"; /) as string,
    })
    expect(String(error)).not.toContain('a-value')
  })
})
