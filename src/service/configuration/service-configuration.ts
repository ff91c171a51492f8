import type * as t from 'io-ts'
import { maxTimerMs } from '../../kernel/timers.js'
import { defaultSessionLimits } from '../sessions/session-context.js'
import { proxyProtocols } from '../listen/accepted-connections.js'
import { logLevels } from '../operations/logger.js'
import {
  section,
  type Section,
  type SectionShape,
  type SectionValues,
  type Setting,
  absoluteUri,
  listenAddress,
  listOf,
  network,
  oneOfWords,
  secretSource,
  text,
  webAddress,
  wholeFrom,
  yesOrNo,
} from './settings.js'

const setting = <A>(codec: t.Decoder<unknown, A>, byDefault: string, help: string): Setting<A> => ({
  codec,
  byDefault,
  help,
})

const durationMs = (least: number, byDefault: number, help: string): Setting<number> =>
  setting(wholeFrom(least, maxTimerMs), String(byDefault), help)

const names = listOf(text)
const dayMs = 86_400_000

export const logFormats = ['json', 'text'] as const
export type LogFormat = (typeof logFormats)[number]

/** A subscriber that the file names, beside those of the store in the state folder. */
const subscriber = section(
  {
    clientId: setting(text, '', 'its name'),
    secret: setting(secretSource, '', 'where its secret stands'),
    tenants: setting(names, '["*"]', 'what it is granted'),
    projects: setting(names, '["*"]', 'what it is granted'),
    models: setting(names, '["*"]', 'what it is granted'),
  },
  ['clientId', 'secret'],
)

/** A file or a package that custom nodes come from. */
const customNode = section({
  file: setting(text, '', 'a JavaScript module'),
  package: setting(text, '', 'a package that is installed beside the file'),
  run: setting(
    oneOfWords(['worker', 'inline'] as const),
    'worker',
    'in a thread of its own, or in that of the service',
  ),
  budgetMs: durationMs(10, 1000, 'how long it may take over what it is given'),
  openWithinMs: durationMs(10, 10_000, 'how long it may take to be ready'),
  memoryMb: setting(wholeFrom(16, 4096), '64', 'memory of a thread'),
  maxWorkers: setting(wholeFrom(1, 10_000), '64', 'threads at the same time'),
})

/** Every key of the file. `docs/OPERATING.md` shows them, and a test holds the two equal. */
export const configuration = section({
  http: setting(listenAddress, '127.0.0.1:0', 'Token endpoint and recognition socket.'),
  grpc: setting(listenAddress, '127.0.0.1:0', 'Dataflow stream.'),
  operations: setting(listenAddress, 'nowhere', '`/livez`, `/readyz` and `/metrics`.'),
  tls: section({
    certificateFile: setting(text, 'plain text, on loopback only', 'The certificate and its chain, PEM.'),
    keyFile: setting(text, 'none', 'Its private key, PEM.'),
  }),
  stateFolder: setting(text, '.rxspeech', 'Where signing keys, subscriptions and revocations are kept.'),
  models: section({
    folders: setting(names, 'that of the package', 'Folders of models, `<tenant>/<name>/<version>/model.json`.'),
    defaultModel: setting(text, 'the first of the tenant Default', 'The model of a session that names none.'),
  }),
  nodes: setting(
    listOf(customNode.codec),
    'none',
    'Custom nodes: `file` or `package`, and `run`, `budgetMs`, `openWithinMs`, `memoryMb`, `maxWorkers`; see recipes/custom-node.md.',
  ),
  projects: section({
    folders: setting(names, 'none', 'Folders of projects, `<tenant>/<name>/<version>.yaml`; see PROJECTS.md.'),
    recordingsFolder: setting(text, 'none', 'Where nodes may keep recordings.'),
  }),
  tenants: setting(
    names,
    'Default, those with models or projects, those of subscriptions',
    'The tenants that have the `transcribe` project.',
  ),
  identity: section({
    issuer: setting(webAddress, 'the address of http', 'The address that stands in tokens. A change ends all tokens.'),
    audience: setting(absoluteUri, 'urn:rxspeech:service', 'Whom tokens are for. A change ends all tokens.'),
    rotateKeysAfterMs: setting(
      wholeFrom(dayMs, Number.MAX_SAFE_INTEGER),
      String(90 * dayMs),
      'The age at which a signing key is followed by the next.',
    ),
    failuresPerMinute: setting(
      wholeFrom(1, 1_000_000),
      '20',
      'Wrong secrets that are let through, by client and by address.',
    ),
  }),
  subscriptions: setting(
    listOf(subscriber.codec),
    'those of the state folder',
    'Subscribers: `clientId`, `secret` ({env: NAME} or {file: PATH}), `tenants`, `projects`, `models`.',
  ),
  limits: section({
    sessions: setting(wholeFrom(1, 1_000_000), '200', 'Sessions at the same time.'),
    sessionsPerTenant: setting(wholeFrom(1, 1_000_000), '200', 'Sessions of one tenant at the same time.'),
    sessionsPerToken: setting(wholeFrom(1, 1_000_000), '50', 'Sessions of one token at the same time.'),
    connections: setting(wholeFrom(1, 1_000_000), '5000', 'Connections at the same time.'),
    connectionsPerAddress: setting(wholeFrom(1, 1_000_000), '2500', 'Connections of one address at the same time.'),
    unstarted: setting(wholeFrom(1, 1_000_000), '2500', 'gRPC streams without a Start at the same time.'),
    unstartedPerAddress: setting(wholeFrom(1, 1_000_000), '250', 'Those of one address.'),
    streamsPerConnection: setting(
      wholeFrom(1, 1_000_000),
      '100',
      'Streams of one gRPC connection at the same time; clients wait with more, or open another connection.',
    ),
    connectionAgeMs: durationMs(
      0,
      3_600_000,
      'The age at which a gRPC connection is told to go away, so that clients spread over all processes again; 0 is never.',
    ),
    connectionGraceMs: durationMs(0, 14_460_000, 'How long its streams may go on then.'),
    startWithinMs: durationMs(1, defaultSessionLimits.startWithinMs, 'From the opening of a stream to its Start.'),
    openWithinMs: durationMs(1, defaultSessionLimits.openWithinMs, 'How long a token, a project and a model may take.'),
    flushWithinMs: durationMs(1, defaultSessionLimits.flushWithinMs, 'How long the last results may take.'),
    maxSessionMs: durationMs(1, defaultSessionLimits.maxSessionMs, 'The longest session.'),
    idleMs: durationMs(0, defaultSessionLimits.idleMs, 'Without audio for so long a session is finalized; 0 is never.'),
    maxPendingAudioMs: durationMs(
      500,
      defaultSessionLimits.maxPendingAudioMs,
      'Audio of a session that is taken in and not consumed yet.',
    ),
    maxPacePercent: setting(
      wholeFrom(0, 1_000_000),
      String(defaultSessionLimits.maxPacePercent),
      'How fast audio may come, of real time; 0 is as fast as it is taken.',
    ),
    paceBurstMs: durationMs(0, defaultSessionLimits.paceBurstMs, 'Audio that may come ahead of that pace.'),
    maxRequestsPerSecond: setting(
      wholeFrom(1, 1_000_000),
      String(defaultSessionLimits.maxRequestsPerSecond),
      'Requests of a session or socket per second, beside audio.',
    ),
    requestBurst: setting(
      wholeFrom(1, 1_000_000),
      String(defaultSessionLimits.requestBurst),
      'Requests that may come at once; at twice as many the session ends.',
    ),
    maxMessageBytes: setting(wholeFrom(1, 2 ** 29 - 1), '1048576', 'The longest message of a client.'),
    drainMs: durationMs(0, 10_000, 'How long sessions that run have when the service is to end.'),
  }),
  log: section({
    level: setting(oneOfWords(logLevels), 'info', 'debug, info, warn or error.'),
    format: setting(oneOfWords(logFormats), 'text on a terminal, else json', 'json or text.'),
  }),
  reflection: setting(yesOrNo, 'false', 'Server reflection on the gRPC interface.'),
  trustedProxies: setting(
    listOf(network),
    'none',
    'Balancers and proxies whose word on client addresses counts; see Behind a balancer.',
  ),
  proxyProtocol: setting(
    oneOfWords(proxyProtocols),
    'detected',
    'Whether the connections of trusted proxies may or must begin with a PROXY header.',
  ),
  allowQueryToken: setting(yesOrNo, 'false', 'Whether a token may stand in the address of the socket.'),
})

/** The file, decoded; paths as they were written. */
export type ServiceConfiguration = SectionValues<typeof configuration.shape>
export type CustomNode = SectionValues<typeof customNode.shape>
export type Subscriber = SectionValues<typeof subscriber.shape>

export interface ConfigurationRow {
  /** Such as `limits.maxSessionMs`. */
  readonly key: string
  readonly takes: string
  readonly byDefault: string
  readonly help: string
}

const isSection = (one: Setting<unknown> | Section<SectionShape>): one is Section<SectionShape> => 'shape' in one

/** Every key, in the order of the file, as the manual shows it. */
export const configurationRows = (shape: SectionShape = configuration.shape, above = ''): readonly ConfigurationRow[] =>
  Object.entries(shape).flatMap(([name, one]): readonly ConfigurationRow[] =>
    isSection(one)
      ? configurationRows(one.shape, `${above}${name}.`)
      : [{ key: above + name, takes: one.codec.name, byDefault: one.byDefault, help: one.help }],
  )
