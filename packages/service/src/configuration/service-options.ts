import type { SchedulerLike } from 'rxjs'
import type { Any } from 'io-ts'
import { defaultUploadLimits, type UploadLimits } from 'rxspeech-dialects/conversation/recording-intake'
import type { EngineKind } from 'rxspeech-engines/engine'
import { idleMinutes } from 'rxspeech-engines/models/model-registry'
import { usableCpus } from 'rxspeech-engines/threads/usable-cpus'
import { workerCount } from 'rxspeech-engines/threads/worker-count'
import { natsEnginesOptions } from 'rxspeech-nats/engines/fleet-options'
import type { IdentityNatsOptions } from 'rxspeech-nats/identity/connect'
import type { CustomNodeSource } from 'rxspeech-server/custom-nodes/custom-node-source'
import type { ClientStore } from 'rxspeech-server/identity/clients/client'
import { type IdentityGroup, identityGroupCodecs } from 'rxspeech-server/identity/identity'
import { proxyProtocols } from 'rxspeech-server/listen/accepted-connections'
import type { ConnectionLimits } from 'rxspeech-server/listen/connection-gate'
import type { ServiceMonitor } from 'rxspeech-server/monitor/service-monitor'
import type { AnyNodeDefinition } from 'rxspeech-server/nodes/core/node'
import type { Logger } from 'rxspeech-server/operations/logger'
import type { LoadLimits } from 'rxspeech-server/operations/service-load'
import type { AdmissionLimits } from 'rxspeech-server/sessions/admissions'
import type { SessionLimits } from 'rxspeech-server/sessions/session-context'
import { studioOptions } from 'rxspeech-server/studio/studio'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { listOf, recordOf } from 'rxspeech/internal/protocol/collections'
import {
  anything,
  checkOptions,
  type Codec,
  flag,
  functionValue,
  jsonObject,
  number,
  objectWith,
  oneOf,
  optionsCodec,
  optionsOf,
  schedulerValue,
  text,
  wholeNumber,
} from 'rxspeech/internal/protocol/validation'
import { serverCertificateCodec } from 'rxspeech/internal/transport/listen-address'
import { listenAddressCodec } from './listen-address.js'
import { customNode, customNodeSource } from './custom-node-configuration.js'
import { absolute, allAbsolute, codecsOfRows, inFile, namesForWorkers, option, type OptionsOf } from './option-row.js'
import { defaultLimits, developmentLimits, limitsOption, type Limits } from './service-limits.js'
import * as file from './settings.js'

const { yesOrNo } = file
const texts = listOf(text)
const names = file.listOf(file.text)
const modelLayout = '<tenant>/<name>/<version>/model.json'
const projectLayout = '<tenant>/<name>/<version>.yaml'
const defaultStateFolder = '.rxspeech'
/** The gRPC package accepts four times the maximum, and has a limit of its own. */
const messageBytes = { min: 1, max: 2 ** 29 - 1 }

/** A codec that checks less than the type of an option says, which only code can pass. */
const codecFor = <A>(codec: Any): Codec<A> => codec

const tenantWeight = number({ min: 0.01, max: 1_000 })

/** The flag of an address to listen on. */
const addressFlag = <const Name extends string>(name: Name, help: string) =>
  ({ name, kind: 'address', takes: '<host:port>', help }) as const

const textFlag = <const Name extends string>(name: Name, takes: string, help: string) =>
  ({ name, kind: 'text', takes, help }) as const

const uploadLimit = (
  name: keyof UploadLimits,
  [min, max]: readonly [number, number],
  help: string,
  defaultText = String(defaultUploadLimits[name as keyof typeof defaultUploadLimits]),
) =>
  option(wholeNumber({ min, max }), {
    file: inFile(`dialects.${name}`, file.wholeFrom(min, max), defaultText, help),
    workers: 'passed',
  })

/** The options of the identity service of a service. */
export interface ServiceIdentityOptions extends IdentityGroup {
  /**
   * The NATS servers with the clients and revoked tokens of several machines, in place of those of the state folder.
   * Needs `keysFile`. @default none
   */
  readonly nats?: IdentityNatsOptions | undefined
}

/** All options of the service: to add one, add a row here, and use it. */
export const serviceRows = {
  /** The address of the token endpoint and the recognition socket. @default 127.0.0.1, any free port */
  http: option(listenAddressCodec, {
    file: inFile('http', file.listenAddress, '127.0.0.1:0', 'Token endpoint and recognition socket.'),
    flag: addressFlag('http', 'address for tokens and WebSockets (default: a free port; --dev: 8781)'),
  }),
  /** The address of the dataflow stream. @default 127.0.0.1, any free port */
  grpc: option(listenAddressCodec, {
    file: inFile('grpc', file.listenAddress, '127.0.0.1:0', 'Dataflow stream.'),
    flag: addressFlag('grpc', 'address for gRPC (default: a free port; --dev: 8782)'),
  }),
  /**
   * A second address of the same as `http`, without TLS, on loopback only: a page can use it without trusting the
   * certificate. @default none
   */
  plainHttp: option(listenAddressCodec, {
    flag: addressFlag('plain', 'with --dev: address without TLS, also of its page (default: 8780)'),
  }),
  /** Folders of models, in the layout `<tenant>/<name>/<version>/model.json`. @default none */
  modelFolders: option(texts, {
    file: inFile('models.folders', names, 'that of the package', `Folders of models, \`${modelLayout}\`.`, allAbsolute),
    flag: { ...textFlag('models', '<dir>', `models, ${modelLayout}; may be repeated`), absent: 'many' },
    workers: 'passed',
  }),
  /** Folders of projects, in the layout `<tenant>/<name>/<version>.yaml`; see docs/PROJECTS.md. @default none */
  projectFolders: option(texts, {
    file: inFile(
      'projects.folders',
      names,
      'none',
      `Folders of projects, \`${projectLayout}\`; see PROJECTS.md.`,
      allAbsolute,
    ),
    flag: { ...textFlag('projects', '<dir>', `projects, ${projectLayout}; may be repeated`), absent: 'many' },
    workers: 'passed',
  }),
  /** Files and packages with nodes for projects; each runs in worker threads unless it runs inline. @default none */
  customNodes: option(codecFor<readonly CustomNodeSource[]>(listOf(anything)), {
    file: inFile(
      'nodes',
      file.listOf(customNode.codec),
      'none',
      'Custom nodes: `file` or `package`, and `run`, `budgetMs`, `openWithinMs`, `memoryMb`, `maxWorkers`; see recipes/custom-node.md.',
      (nodes, resolve) => nodes.map((node) => customNodeSource(node, resolve('.'))),
    ),
    flag: {
      name: 'nodes',
      kind: 'customNode',
      takes: '<file or package>',
      help: 'custom nodes that projects may name; may be repeated',
      absent: 'many',
    },
    workers: 'passed',
  }),
  /** The folder of recordings; without it nodes cannot record. @default none */
  recordingsFolder: option(text, {
    file: inFile('projects.recordingsFolder', file.text, 'none', 'The folder of recordings.', absolute),
    flag: textFlag('recordings', '<dir>', 'folder for the recordings of the node recorder (default: none)'),
    workers: 'passed',
  }),
  /** Whether all models are loaded at the start; otherwise the default one, and others when used. @default false */
  preload: option(flag, {
    workers: 'passed',
    file: inFile(
      'models.preload',
      yesOrNo,
      'false',
      'Whether all models are loaded at the start, and not only the default one; others with their first session.',
    ),
  }),
  /** How long no session must use a model until it leaves memory, in minutes; 0 for never. @default 0 */
  idleMinutes: option(idleMinutes, {
    workers: 'passed',
    file: inFile(
      'models.idleMinutes',
      idleMinutes,
      '0',
      'How long no session must use a model until it leaves memory, and is loaded again for the next; 0 for never.',
    ),
  }),
  /** The model of sessions that name none. @default the first model of the tenant `Default` */
  defaultModel: option(text, {
    file: inFile(
      'models.defaultModel',
      file.text,
      'the first of the tenant Default',
      'The model of a session that names none.',
    ),
    flag: textFlag('model', '<name>', 'the model of sessions that name none'),
  }),
  /**
   * A YAML file with the releases of models: which version of `<tenant>/<name>` sessions get that name none, and which
   * part of them gets a canary. It is read at the start and at each reload. @default none: the newest versions
   */
  releasesFile: option(text, {
    file: inFile(
      'models.releasesFile',
      file.text,
      'none: the newest versions',
      'Which versions of models sessions get that name none, read again with a reload; see SCALING.md.',
      absolute,
    ),
    workers: 'passed',
  }),
  /** The folder of keys, clients and revoked tokens; see `openIdentityStore`. @default none: lost at a restart */
  stateFolder: option(text, {
    file: inFile(
      'stateFolder',
      file.text,
      defaultStateFolder,
      'The folder of signing keys, subscriptions and revoked tokens.',
      absolute,
    ),
    flag: {
      ...textFlag('state', '<dir>', 'the folder of keys and certificates'),
      absent: { is: defaultStateFolder },
    },
  }),
  /**
   * How many processes serve sessions, 1 to 256, or `'auto'` for one per CPU. They share the ports, and the limits, the
   * identity service, the metrics and the log of the service. With more than one the options `engines`, `nodes`,
   * `monitor`, `scheduler` and `identity.addressOf` cannot be set, because functions cannot be passed to a process.
   * @default 1: this process
   */
  workers: option(codecFor<number | 'auto'>(workerCount), {
    file: inFile(
      'workers',
      file.workers,
      '1',
      'Processes that serve sessions; `auto` is one for each CPU that the service may use. See Several processes.',
    ),
    flag: {
      name: 'workers',
      kind: 'workers',
      takes: '<n>',
      help: 'processes that share the ports, or auto: one per CPU (default: 1)',
    },
  }),
  /**
   * The address of `/livez`, `/readyz`, `/metrics`, `/operations.json`, and in a browser of the page that shows them:
   * plain text on loopback, elsewhere with the certificate of the service. With it the service is not ready until its
   * first engine is loaded. @default none
   */
  operations: option(listenAddressCodec, {
    file: inFile(
      'operations',
      file.listenAddress,
      'nowhere',
      '`/livez`, `/readyz`, `/metrics`, and the page of operators at `/`.',
    ),
    flag: addressFlag('operations', 'address for /livez, /readyz, /metrics and the page of operators (default: none)'),
  }),
  /** The tenants that have the `transcribe` project. @default `Default` and those of `grantedTenants` */
  tenants: option(texts, {
    file: inFile(
      'tenants',
      names,
      'Default, those with models or projects, those of subscriptions',
      'The tenants that have the `transcribe` project.',
    ),
    workers: 'passed',
  }),
  /**
   * Whether `transcribe` is also there for each tenant with models or projects, and for each tenant that a client
   * registration names. @default true without `tenants`
   */
  grantedTenants: option(flag, { workers: 'passed' }),
  /** The issuer of tokens. @default the address of the HTTP listener */
  issuer: option(text, {
    file: inFile(
      'identity.issuer',
      file.webAddress,
      'the address of http',
      'The issuer of tokens (`iss`). Changing it invalidates all issued tokens.',
    ),
  }),
  /** The longest message of a client, in bytes. @default 1 MiB */
  maxMessageBytes: option(wholeNumber(messageBytes), {
    file: inFile(
      'limits.maxMessageBytes',
      file.wholeFrom(messageBytes.min, messageBytes.max),
      '1048576',
      'The longest message of a client.',
    ),
    workers: 'passed',
  }),
  /** Server reflection on the gRPC interface. @default true in development, otherwise false */
  reflection: option(flag, {
    file: inFile('reflection', yesOrNo, 'false', 'Server reflection on the gRPC interface.'),
    workers: 'passed',
  }),
  /**
   * Balancers and proxies that are trusted to report the address of a client: networks such as `10.0.0.0/8`, or
   * addresses. Their connections can begin with a PROXY protocol header (version 2), their HTTP requests can have
   * `X-Forwarded-For`. @default none
   */
  trustedProxies: option(texts, {
    file: inFile(
      'trustedProxies',
      file.listOf(file.network),
      'none',
      'Balancers and proxies that are trusted to report client addresses; see Behind a balancer.',
    ),
    workers: 'passed',
  }),
  /**
   * `required` refuses connections of trusted proxies without a PROXY header; `detected` accepts them.
   * @default 'detected'
   */
  proxyProtocol: option(oneOf(...proxyProtocols), {
    file: inFile(
      'proxyProtocol',
      file.oneOfWords(proxyProtocols),
      'detected',
      'Whether connections of trusted proxies may or must begin with a PROXY header.',
    ),
    workers: 'passed',
  }),
  /** Whether the recognition socket accepts a token in its address, which proxies log. @default false */
  allowQueryToken: option(flag, {
    file: inFile('allowQueryToken', yesOrNo, 'false', 'Whether the address of the socket can contain a token.'),
    workers: 'passed',
  }),
  /**
   * Interfaces of other speech services that the HTTP addresses have, such as `openai-transcriptions`: clients written
   * for those use this service by its address, with its tokens as their API keys.
   * @default none, in development all
   */
  dialects: option(texts, {
    file: inFile('dialects.use', names, 'none', 'Interfaces of other speech services; see DIALECTS.md.'),
    workers: 'passed',
  }),
  /**
   * The models of this service by the names that clients of other services send; `*` is for all other names.
   * @default none, in development all names are the default model
   */
  dialectModels: option(recordOf(text), {
    file: inFile(
      'dialects.models',
      recordOf(text),
      'none',
      'The models of this service by the names that clients of other services send; `"*"` is for all other names.',
    ),
    workers: 'passed',
  }),
  /** The longest file that a client of a dialect can send, in bytes. @default 26214400 */
  maxUploadBytes: uploadLimit(
    'maxUploadBytes',
    [1, 2 ** 31 - 1],
    'The longest file of a client of a dialect, in bytes.',
  ),
  /** How long that file may take to arrive, in seconds. @default 120 */
  maxUploadSeconds: uploadLimit('maxUploadSeconds', [1, 86_400], 'How long it may take to arrive, in seconds.'),
  /** The longest recording in a file, in minutes. @default 240 */
  maxRecordingMinutes: uploadLimit('maxRecordingMinutes', [1, 1440], 'The longest recording in it, in minutes.'),
  /** Files of one tenant at the same time, and of one address, in each process. @default 20 */
  maxUploadsPerTenant: uploadLimit(
    'maxUploadsPerTenant',
    [1, 100_000],
    'Files of one tenant at the same time, and of one address; in each process.',
  ),
  /**
   * Files of clients of dialects that ffmpeg decodes at the same time, in all worker processes; others wait, for
   * `maxUploadSeconds`. @default 2 for each CPU
   */
  maxDecoders: uploadLimit(
    'maxDecoders',
    [1, 10_000],
    'Files that ffmpeg decodes at the same time, in all workers; others wait, for `dialects.maxUploadSeconds`.',
    '2 for each CPU',
  ),
  /** Limits of sessions and connections. @default those of PROTOCOL 8 */
  limits: option(codecFor<Partial<SessionLimits & AdmissionLimits & ConnectionLimits & LoadLimits>>(limitsOption), {
    workers: 'passed',
  }),
  /** The shares of tenants, such as 3 for one that gets three times as much as others. @default 1 for each */
  tenantWeights: option(recordOf(tenantWeight), {
    file: inFile(
      'limits.tenantWeights',
      recordOf(tenantWeight),
      '1 for each',
      'The shares of tenants when places are short: 3 for one that gets three times as much as others. See SCALING.md.',
    ),
  }),
  /** The TLS certificate. Without it the service uses plain text, on loopback only. @default none */
  certificate: option(serverCertificateCodec, { workers: 'passed' }),
  /**
   * Clients that can request tokens, in addition to those of the store in the state folder. At least one of both is
   * necessary. @default none
   */
  clients: option(codecFor<ClientStore>(objectWith('find'))),
  /** Engines that models can name, in addition to the built-in ones. @default none */
  engines: option(codecFor<readonly EngineKind[]>(listOf(anything)), { workers: 'refused' }),
  /**
   * Engine processes on this and other machines, over NATS: their models are served in addition to those of
   * `modelFolders`, which can then be empty. @default none
   */
  natsEngines: option(natsEnginesOptions, { workers: 'passed' }),
  /** Nodes that projects can name, in addition to the built-in ones. @default none */
  nodes: option(codecFor<readonly AnyNodeDefinition[]>(listOf(anything)), { workers: 'refused' }),
  /** The environment variables that projects and models can name for secrets. @default process.env */
  env: option(codecFor<Readonly<Record<string, string | undefined>>>(jsonObject), { workers: 'passed' }),
  /** Token audience, keys, NATS for several machines, limits of wrong secrets, addresses of clients. @default {} */
  identity: option(optionsOf<ServiceIdentityOptions>()({}, { ...identityGroupCodecs, nats: jsonObject })),
  /** More generous limits, for a service with a single developer. @default false */
  development: option(flag, { workers: 'passed' }),
  /** Serves a page that shows sessions, at `/` of the HTTP addresses; it needs no further rights. @default none */
  studio: option(studioOptions),
  /** The log of sessions, failed authentication and internal errors. @default none */
  logger: option(codecFor<Logger>(objectWith('log'))),
  /** Hooks for your own metrics and logs. @default none */
  monitor: option(codecFor<ServiceMonitor>(jsonObject), { workers: 'refused' }),
  /** The clock and the timers. @default asyncScheduler */
  scheduler: option(codecFor<SchedulerLike>(schedulerValue), { workers: 'refused' }),
  /** Called with internal errors, which clients see as `internal` or `engine-failed`. @default none */
  onFault: option(codecFor<(error: unknown) => void>(functionValue)),
}

/** Options of `startService`. */
export interface ServiceOptions extends OptionsOf<typeof serviceRows> {
  /** Folders of models, in the layout `<tenant>/<name>/<version>/model.json`. */
  readonly modelFolders: readonly string[]
}

const { modelFolders, ...optional } = serviceRows
const serviceOptions = optionsCodec(codecsOfRows({ modelFolders }), codecsOfRows(optional))

/** Throws `invalid-options` for an option that is unknown, has the wrong type or is out of range. */
export const checkServiceOptions = (options: ServiceOptions): void => {
  checkOptions(serviceOptions, options)
}

export interface ServiceLimits extends Limits {
  readonly maxMessageBytes: number
}

/** Fills in the default limits of checked options. An `undefined` limit leaves the default. */
export const resolveServiceLimits = (options: Partial<ServiceOptions>): ServiceLimits => {
  const { development = false, limits = {}, maxMessageBytes = 1_048_576 } = options
  const given = Object.entries(limits).filter(([, value]) => value !== undefined)
  return {
    ...(development ? developmentLimits : defaultLimits),
    ...Object.fromEntries(given),
    maxMessageBytes,
  }
}

/** The limits of recordings that clients of dialects send. */
export const uploadLimitsOf = (options: Partial<ServiceOptions>): UploadLimits => ({
  maxUploadBytes: options.maxUploadBytes ?? defaultUploadLimits.maxUploadBytes,
  maxUploadSeconds: options.maxUploadSeconds ?? defaultUploadLimits.maxUploadSeconds,
  maxRecordingMinutes: options.maxRecordingMinutes ?? defaultUploadLimits.maxRecordingMinutes,
  maxUploadsPerTenant: options.maxUploadsPerTenant ?? defaultUploadLimits.maxUploadsPerTenant,
  maxDecoders: options.maxDecoders ?? decodersPerCpu * Math.ceil(usableCpus()),
})

/** Recognition needs the CPUs longer than ffmpeg does, which often waits for it. */
const decodersPerCpu = 2

/** The options that each of several worker processes gets. Everything else stays in the process of the service, or is a function. */
export const optionsForWorkers = (options: ServiceOptions, count: number): Partial<ServiceOptions> => {
  const passed = namesForWorkers(serviceRows, 'passed')
  const { maxDecoders } = uploadLimitsOf(options)
  return {
    ...Object.fromEntries(Object.entries(options).filter(([name]) => passed.includes(name))),
    maxDecoders: Math.ceil(maxDecoders / count),
  }
}

/** Throws `invalid-options` for an option that only a service of one process can have. */
export const checkOptionsForWorkers = (options: ServiceOptions): void => {
  const given = { ...options, 'identity.addressOf': options.identity?.addressOf }
  const refused = [...namesForWorkers(serviceRows, 'refused'), 'identity.addressOf']
  const name = refused.find((each) => given[each as keyof typeof given] !== undefined)
  if (name === undefined) return
  throw new SpeechError(
    'invalid-options',
    `${name} cannot be set with several workers, because it cannot be passed to another process; omit it or workers.`,
  )
}
