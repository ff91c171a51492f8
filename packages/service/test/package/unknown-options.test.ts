import { asyncScheduler, firstValueFrom, NEVER } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { parseCassette, readCassette, record, replay, type Cassette } from '../../../../src/cassette.js'
import { dataflow, nodeFetch } from '../../../../src/grpc.js'
import { sampleClock } from '../../../../src/audio.js'
import * as audio from '../../../../src/audio.js'
import { captionLines, toCaptions, toSrt, toWebVtt, writeTo } from '../../../../src/captions.js'
import * as captions from '../../../../src/captions.js'
import { dialGrpc } from '../../../../src/transport/grpc/client.js'
import { loadDataflow } from '../../../../src/transport/grpc/proto.js'
import * as cassettes from '../../../../src/cassette.js'
import * as grpc from '../../../../src/grpc.js'
import * as index from '../../../../src/index.js'
import * as nodes from '../../../server/src/nodes.js'
import * as services from '../../src/index.js'
import * as testing from '../../../../src/testing.js'
import {
  chunk,
  deinterleave,
  checkSound,
  failover,
  interleave,
  keepFresh,
  metrics,
  sessionState,
  pace,
  recognize,
  requestToken,
  startSession,
  toAsyncIterable,
  toReadableStream,
  transcode,
} from '../../../../src/index.js'
import {
  createModelRegistry,
  createSegmentEngine,
  openIdentityStore,
  openai,
  remote,
  vosk,
  soundswallower,
  startDevelopmentService,
  registerClient,
  rotateSecret,
  startEngineProcess,
  startService,
  type ClientRegistry,
  type ServiceOptions,
} from '../../src/index.js'
import {
  drawMarbles,
  expectNoHandles,
  faultMarbles,
  faultProxy,
  linkFaults,
  scriptedDial,
  scriptedRecognizer,
  verifyingService,
} from '../../../../src/testing.js'
import { inMemoryService, scriptedEngine } from '../../src/testing.js'
import { grpcServerLink } from '../../../../src/transport/grpc/server.js'
import { dialBrowserSocket } from '../../../../src/transport/websocket/browser-client.js'
import { dialWebSocket } from '../../../../src/transport/websocket/client.js'
import { webSocketLink } from '../../../../src/transport/websocket/server.js'
import type { Socket } from '../../../../src/transport/websocket/socket.js'

const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 2 } as const
const session = { token: 't', format: { ...format, channels: 1 } } as const
const cassette: Cassette = {
  header: { version: 1, transport: 'websocket', format, startedAt: '2026-01-01T00:00:00Z', audio: 'sha256' },
  lines: [],
}
const capabilities = { sampleRateHz: 8000, partials: false, words: true, kind: 'dictation', segmentsAtOnce: 1 } as const
const nonsense: object = { nonsense: 'a-value' }
const client = { tenants: [], projects: [], models: [], validFromMs: 0, validUntilMs: 1 }
const registry = {} as ClientRegistry
const loopback = { host: '127.0.0.1', port: 0 }
const startWith = (options: Partial<ServiceOptions>): Promise<unknown> => startService({ modelFolders: [], ...options })

/** The functions of all entry points; a class begins with a capital letter. */
const publicFunctions = [
  ...new Set(
    [index, audio, captions, grpc, cassettes, testing, services, nodes].flatMap((module) =>
      Object.entries(module).flatMap(([name, value]) =>
        typeof value === 'function' && /^[a-z]/.test(name) ? [name] : [],
      ),
    ),
  ),
]

/** The public functions that have no options, with what they take instead. */
const withoutOptions: readonly string[] = [
  // A format, and numbers or bytes
  ...['bytesForMs', 'bytesPerFrame', 'bytesPerSecond', 'msForBytes', 'wavHeader'],
  ...[
    'decodeALaw',
    'decodeMuLaw',
    'encodeALaw',
    'encodeMuLaw',
    'decodeSamples',
    'encodeSamples',
    'bytesOf',
    'samplesOf',
  ],
  ...['positionAudio', 'readWav'],
  // Nothing, a name, a list, an event, an error, a signal, a stream, a report or secrets
  ...['transcript', 'ledger', 'spot', 'sherpaOnnx', 'wyoming', 'newClientId', 'newClientSecret', 'resultOf'],
  ...['toFile', 'toStream', 'faultScripts', 'isSpeechError', 'isNodeFault', 'fromAbortSignal'],
  ...['hashSecret', 'cancelClient', 'memoryClients'],
  // An event, a node, or codecs of its options
  ...['resultOf', 'defineNode', 'nodeOptions', 'listOf', 'numberFrom', 'oneOfWords', 'tableOf', 'wholeNumberFrom'],
]

/** Every public function with options, given one that it does not have. */
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
  sessionState: () => sessionState({ ...nonsense }),
  captionLines: () => captionLines({ ...nonsense }),
  writeTo: () => writeTo('captions.vtt', { ...nonsense }),
  sampleClock: () => sampleClock({ ...nonsense, format }),
  toCaptions: () => toCaptions({ ...nonsense }),
  toSrt: () => toSrt({ ...nonsense }),
  toWebVtt: () => toWebVtt({ ...nonsense }),
  toAsyncIterable: () => toAsyncIterable(NEVER, { ...nonsense }),
  startSession: () => startSession(() => NEVER, { ...nonsense }),
  record: () => record(() => undefined, { ...nonsense }),
  replay: () => replay(cassette, { ...nonsense }),
  inMemoryService: () => inMemoryService({ ...nonsense }),
  verifyingService: () => verifyingService({ ...nonsense }),
  linkFaults: () => linkFaults({ ...nonsense }),
  faultProxy: () => faultProxy({ ...nonsense, target: 1 }),
  faultMarbles: () => faultMarbles('-', { ...nonsense }),
  scriptedEngine: () => scriptedEngine({ ...nonsense, texts: [] }),
  startService: () => startService({ ...nonsense, modelFolders: [] }),
  startEngineProcess: () =>
    startEngineProcess({ ...nonsense, modelFolders: [], nats: { servers: ['nats://127.0.0.1:1'] } }),
  startDevelopmentService: () =>
    startDevelopmentService({ ...nonsense, modelFolders: [], stateFolder: '/dev/null/none' }),
  'client of replay': () => replay(cassette).client(() => NEVER, { ...nonsense, token: 't' }),
  'listen of verifyingService': () => verifyingService().listen({ ...nonsense }),
  'startService: http': () => startWith({ http: { ...loopback, ...nonsense } }),
  'startService: grpc': () => startWith({ grpc: { ...loopback, ...nonsense } }),
  'startService: operations': () => startWith({ operations: { ...loopback, ...nonsense } }),
  'startService: certificate': () => startWith({ certificate: { certificate: '', key: '', ...nonsense } }),
  'startService: identity': () => startWith({ identity: { ...nonsense } }),
  'startService: identity.nats': () =>
    startWith({
      issuer: 'https://speech.example.com',
      identity: { keysFile: 'none', nats: { servers: ['nats://127.0.0.1:1'], ...nonsense } },
    }),
  'startService: limits': () => startWith({ limits: { ...nonsense } }),
  dialGrpc: () => firstValueFrom(dialGrpc({ ...nonsense, url: 'localhost' })),
  dialWebSocket: () => firstValueFrom(dialWebSocket({ ...nonsense, url: 'wss://localhost' })),
  dialBrowserSocket: () => firstValueFrom(dialBrowserSocket({ ...nonsense, url: 'wss://localhost' })),
  webSocketLink: () => webSocketLink({} as Socket, { ...nonsense }),
  grpcServerLink: () => grpcServerLink({} as never, { ...nonsense }),
  failover: () => failover([], { ...nonsense }),
  checkSound: () => checkSound({ ...nonsense, format, onWarning: () => undefined }),
  toReadableStream: () => toReadableStream(NEVER, { ...nonsense }),
  scriptedDial: () => scriptedDial(() => NEVER, { ...nonsense }),
  scriptedRecognizer: () => scriptedRecognizer('', { ...nonsense }),
  registerClient: () => registerClient(registry, { ...nonsense, ...client }, 0),
  rotateSecret: () => rotateSecret(registry, 'c', { ...nonsense, overlapMs: 0, nowMs: 0 }),
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
  openai: () => openai({ ...nonsense }),
  vosk: () => vosk({ ...nonsense }),
  soundswallower: () => soundswallower({ ...nonsense }),
}

describe('an unknown option', () => {
  it('has a call here for every public function', () => {
    expect(publicFunctions.filter((name) => !(name in calls) && !withoutOptions.includes(name))).toEqual([])
    expect(withoutOptions.filter((name) => !publicFunctions.includes(name) || name in calls)).toEqual([])
  })

  it.each(Object.entries(calls))('is refused by name by %s', async (_name, call) => {
    const error = await Promise.resolve()
      .then(call)
      .catch((one: unknown) => one)
    expect(error).toMatchObject({
      code: 'invalid-options',
      message: expect.stringMatching(/^Unknown option "(\w+\.)?nonsense"; /) as string,
    })
    expect(String(error)).not.toContain('a-value')
  })
})
