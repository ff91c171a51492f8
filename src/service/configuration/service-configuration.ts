import { defaultSessionLimits } from '../sessions/session-context.js'
import { proxyProtocols } from '../listen/accepted-connections.js'
import { idleMinutes } from '../engines/models/model-registry.js'
import { modelsByName } from '../engines/nats/fleet-options.js'
import { logLevels } from '../operations/logger.js'
import { natsKeys } from './nats-configuration.js'
import {
  durationMs,
  section,
  setting,
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
  workers,
  yesOrNo,
} from './settings.js'

const names = listOf(text)
const dayMs = 86_400_000

export const logFormats = ['json', 'text'] as const
export type LogFormat = (typeof logFormats)[number]

/** A client of the file, in addition to those of the store in the state folder. */
const subscriber = section(
  {
    clientId: setting(text, '', 'its name'),
    secret: setting(secretSource, '', 'the source of its secret'),
    tenants: setting(names, '["*"]', 'its grants'),
    projects: setting(names, '["*"]', 'its grants'),
    models: setting(names, '["*"]', 'its grants'),
    tokenLifetimeSeconds: setting(wholeFrom(60, 31_536_000), '31536000', 'how long its tokens are valid'),
  },
  ['clientId', 'secret'],
)

/** A file or a package with custom nodes. */
const customNode = section({
  file: setting(text, '', 'a JavaScript module'),
  package: setting(text, '', 'a package installed in the folder of the file'),
  run: setting(oneOfWords(['worker', 'inline'] as const), 'worker', 'in its own thread, or in that of the service'),
  budgetMs: durationMs(10, 1000, 'how long it may take for its input'),
  openWithinMs: durationMs(10, 10_000, 'how long it may take to open'),
  memoryMb: setting(wholeFrom(16, 4096), '64', 'memory of a thread'),
  maxWorkers: setting(wholeFrom(1, 10_000), '64', 'threads at the same time'),
})

/** All keys of the file. A test compares them with `docs/OPERATING.md`. */
export const configuration = section({
  http: setting(listenAddress, '127.0.0.1:0', 'Token endpoint and recognition socket.'),
  grpc: setting(listenAddress, '127.0.0.1:0', 'Dataflow stream.'),
  operations: setting(listenAddress, 'nowhere', '`/livez`, `/readyz` and `/metrics`.'),
  workers: setting(
    workers,
    '1',
    'Processes that serve sessions; `auto` is one for each CPU that the service may use. See Several processes.',
  ),
  tls: section({
    certificateFile: setting(text, 'plain text, on loopback only', 'The certificate and its chain, PEM.'),
    keyFile: setting(text, 'none', 'Its private key, PEM.'),
  }),
  stateFolder: setting(text, '.rxspeech', 'The folder of signing keys, subscriptions and revoked tokens.'),
  models: section({
    folders: setting(names, 'that of the package', 'Folders of models, `<tenant>/<name>/<version>/model.json`.'),
    preload: setting(
      yesOrNo,
      'false',
      'Whether all models are loaded at the start, and not only the default one; others with their first session.',
    ),
    idleMinutes: setting(
      idleMinutes,
      '0',
      'How long no session must use a model until it leaves memory, and is loaded again for the next; 0 for never.',
    ),
    defaultModel: setting(text, 'the first of the tenant Default', 'The model of a session that names none.'),
  }),
  engines: section({
    nats: section(
      {
        ...natsKeys,
        name: setting(text, 'that of the host', 'The name of this process in the subjects of its messages.'),
        region: setting(text, 'none', 'Engine processes of this region are used.'),
        otherRegions: setting(
          yesOrNo,
          'false',
          'Whether those of other regions are used while none of the own one has a free place.',
        ),
        models: setting(
          modelsByName,
          'all of each; with a user, each of the name that offered it first',
          'Which models engine processes may offer, by their name: lists of `<tenant>/<name>`, `<tenant>/*` or `*`. See SCALING.md.',
        ),
        waitMs: durationMs(
          0,
          10_000,
          'How long the start waits for the first model; then it fails. With `models.defaultModel` it waits for that one, for at most a second, and starts.',
        ),
      },
      ['servers'],
    ),
  }),
  nodes: setting(
    listOf(customNode.codec),
    'none',
    'Custom nodes: `file` or `package`, and `run`, `budgetMs`, `openWithinMs`, `memoryMb`, `maxWorkers`; see recipes/custom-node.md.',
  ),
  projects: section({
    folders: setting(names, 'none', 'Folders of projects, `<tenant>/<name>/<version>.yaml`; see PROJECTS.md.'),
    recordingsFolder: setting(text, 'none', 'The folder of recordings.'),
  }),
  tenants: setting(
    names,
    'Default, those with models or projects, those of subscriptions',
    'The tenants that have the `transcribe` project.',
  ),
  identity: section({
    issuer: setting(
      webAddress,
      'the address of http',
      'The issuer of tokens (`iss`). Changing it invalidates all issued tokens.',
    ),
    audience: setting(
      absoluteUri,
      'urn:rxspeech:service',
      'Token audience (`aud`). Changing it invalidates all issued tokens.',
    ),
    keysFile: setting(
      text,
      'those of the state folder',
      'Signing keys of several machines: a file that is only read; see Several machines.',
    ),
    rotateKeysAfterMs: setting(
      wholeFrom(dayMs, Number.MAX_SAFE_INTEGER),
      String(90 * dayMs),
      'The age at which a new key replaces the signing key.',
    ),
    failuresPerMinute: setting(
      wholeFrom(1, 1_000_000),
      '20',
      'Wrong secrets per minute that are allowed, by client and by address.',
    ),
    nats: section({
      ...natsKeys,
      bucket: setting(text, 'rxspeech-identity', 'The bucket of subscriptions and revoked tokens, created if missing.'),
      replicas: setting(wholeFrom(1, 5), '1', 'How many servers of the cluster store a new bucket.'),
    }),
  }),
  subscriptions: setting(
    listOf(subscriber.codec),
    'those of the state folder',
    'Subscribers: `clientId`, `secret` ({env: NAME} or {file: PATH}), `tenants`, `projects`, `models`, `tokenLifetimeSeconds` (60 to 31536000).',
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
      'The age at which a gRPC connection gets a GOAWAY, so that clients spread over all processes again; 0 is never.',
    ),
    connectionGraceMs: durationMs(0, 14_460_000, 'How long its streams can continue then.'),
    maxLoadPercent: setting(
      wholeFrom(0, 100),
      '85',
      'The share of its thread that the sessions may use before new ones are refused; 0 is without limit.',
    ),
    maxLoopDelayMs: durationMs(
      0,
      100,
      'A longer delay of the event loop for half a second refuses new sessions and thins partials; 0 is without limit.',
    ),
    maxEngineDelayMs: durationMs(
      0,
      1000,
      'New sessions of a model are refused, and partials thinned, while half of its open segments are behind by more, until by less than half of it for 5 s. A model that reads segments as a whole gets no session with which its results would wait longer. 0 is without limit.',
    ),
    startWithinMs: durationMs(1, defaultSessionLimits.startWithinMs, 'From the opening of a stream to its Start.'),
    openWithinMs: durationMs(1, defaultSessionLimits.openWithinMs, 'How long a token, a project and a model may take.'),
    flushWithinMs: durationMs(1, defaultSessionLimits.flushWithinMs, 'How long the last results may take.'),
    maxSessionMs: durationMs(1, defaultSessionLimits.maxSessionMs, 'The longest session.'),
    idleMs: durationMs(
      0,
      defaultSessionLimits.idleMs,
      'A session without audio for this long is finalized; 0 is never.',
    ),
    maxPendingAudioMs: durationMs(
      500,
      defaultSessionLimits.maxPendingAudioMs,
      'Audio of a session that was received and not yet consumed.',
    ),
    maxPacePercent: setting(
      wholeFrom(0, 1_000_000),
      String(defaultSessionLimits.maxPacePercent),
      'How fast audio may arrive, in percent of real time; 0 is without limit.',
    ),
    paceBurstMs: durationMs(0, defaultSessionLimits.paceBurstMs, 'Audio that may arrive ahead of that pace.'),
    maxRequestsPerSecond: setting(
      wholeFrom(1, 1_000_000),
      String(defaultSessionLimits.maxRequestsPerSecond),
      'Requests of all sessions and sockets of a token per second, starts included and audio not.',
    ),
    requestBurst: setting(
      wholeFrom(1, 1_000_000),
      String(defaultSessionLimits.requestBurst),
      'Requests of a token that may arrive at once; at twice as many of a session it ends.',
    ),
    maxMessageBytes: setting(wholeFrom(1, 2 ** 29 - 1), '1048576', 'The longest message of a client.'),
    drainMs: durationMs(0, 10_000, 'How long running sessions have when the service ends.'),
  }),
  log: section({
    level: setting(oneOfWords(logLevels), 'info', 'debug, info, warn or error.'),
    format: setting(oneOfWords(logFormats), 'text on a terminal, otherwise json', 'json or text.'),
  }),
  studio: setting(
    yesOrNo,
    'false',
    'The page that shows a session, at `/` of http; a person has to enter a token there.',
  ),
  reflection: setting(yesOrNo, 'false', 'Server reflection on the gRPC interface.'),
  trustedProxies: setting(
    listOf(network),
    'none',
    'Balancers and proxies that are trusted to report client addresses; see Behind a balancer.',
  ),
  proxyProtocol: setting(
    oneOfWords(proxyProtocols),
    'detected',
    'Whether connections of trusted proxies may or must begin with a PROXY header.',
  ),
  allowQueryToken: setting(yesOrNo, 'false', 'Whether the address of the socket can contain a token.'),
})

/** The decoded file, with paths unchanged. */
export type ServiceConfiguration = SectionValues<typeof configuration.shape>
export type CustomNode = SectionValues<typeof customNode.shape>

export interface ConfigurationRow {
  /** Such as `limits.maxSessionMs`. */
  readonly key: string
  readonly takes: string
  readonly byDefault: string
  readonly help: string
}

const isSection = (entry: Setting<unknown> | Section<SectionShape>): entry is Section<SectionShape> => 'shape' in entry

/** All keys for the documentation, in the order of the file. */
export const configurationRows = (shape: SectionShape = configuration.shape, above = ''): readonly ConfigurationRow[] =>
  Object.entries(shape).flatMap(([name, entry]): readonly ConfigurationRow[] =>
    isSection(entry)
      ? configurationRows(entry.shape, `${above}${name}.`)
      : [{ key: above + name, takes: entry.codec.name, byDefault: entry.byDefault, help: entry.help }],
  )
