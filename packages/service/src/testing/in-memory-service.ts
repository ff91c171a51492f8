import { asyncScheduler, NEVER, ReplaySubject, type SchedulerLike, type Subscription } from 'rxjs'
import type { Engine, ModelDescription } from 'rxspeech-engines/engine'
import { createModelRegistry, type ModelRegistry } from 'rxspeech-engines/models/model-registry'
import { serveDataflow } from 'rxspeech-server/dataflow/session'
import { serveLink } from 'rxspeech-server/listen/serve-link'
import type { AnyNodeDefinition } from 'rxspeech-server/nodes/core/node'
import { textProject } from 'rxspeech-server/project/load-projects'
import { type Project, projectRegistry } from 'rxspeech-server/project/project'
import { transcribeName, transcribeProjects } from 'rxspeech-server/project/transcribe-projects'
import { serveRecognizer } from 'rxspeech-server/recognizer/session'
import { sharedTenant } from 'rxspeech-server/sessions/rights'
import {
  type Admission,
  type DataflowContext,
  defaultSessionLimits,
  type Drain,
  type SessionLimits,
} from 'rxspeech-server/sessions/session-context'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { listOf, recordOf } from 'rxspeech/internal/protocol/collections'
import {
  anything,
  checkOptions,
  jsonObject,
  nonEmptyText,
  optionsOf,
  schedulerValue,
  text,
} from 'rxspeech/internal/protocol/validation'
import { memoryPeer, type MemoryPeer } from 'rxspeech/internal/testing/verifying/memory-peer'
import type { DataflowMessage, Link, SocketMessage } from 'rxspeech/internal/transport/link'
import {
  dialMemory,
  memoryLinkOptions,
  type MemoryLinkOptions,
  type PresentedAddress,
} from 'rxspeech/internal/transport/memory/link'
import { builtInEngines, nodeCatalog } from '../start/built-ins.js'
import { scriptedEngine } from './scripted-engine.js'

/** What a service in memory recognizes with, and how it is reached. */
export interface InMemoryServiceOptions {
  /** An engine for every model name; such as `scriptedEngine`. @default an engine that recognizes "hello world" */
  readonly engine?: Engine | undefined
  /**
   * Or folders of real models, with the layout `<tenant>/<name>/<version>/model.json`. The first session loads the
   * engine, which shares the processors with the session: so `timeouts.startMs` is 60 s and `timeouts.finalizeMs` 120
   * s. @default none
   */
  readonly modelFolders?: readonly string[] | undefined
  /** The model of a dataflow session that names none. @default the first one found */
  readonly defaultModel?: string | undefined
  /**
   * Projects of the tenant `Default`, as YAML by name, in addition to `transcribe`. Sessions select one by `project`.
   * The refusal of a session with a broken project lists its faults. @default none
   */
  readonly projects?: Readonly<Record<string, string>> | undefined
  /** Nodes that they can name, in addition to the built-in ones. @default none */
  readonly nodes?: readonly AnyNodeDefinition[] | undefined
  /** Secrets of projects, by their environment variables. @default {} */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** The folder of recordings; without it nodes cannot record. @default none */
  readonly recordingsFolder?: string | undefined
  /** The only accepted token. @default 'in-memory-token' */
  readonly token?: string | undefined
  /** Limits of sessions. @default those of PROTOCOL 8 */
  readonly limits?: Partial<SessionLimits> | undefined
  /** The latency of every message, and the water marks. @default no latency */
  readonly link?: MemoryLinkOptions | undefined
  /** The clock of the service, and of the sessions whose options it makes. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

const inMemoryServiceOptions = optionsOf<InMemoryServiceOptions>()(
  {},
  {
    engine: jsonObject,
    modelFolders: listOf(text),
    defaultModel: text,
    projects: recordOf(text),
    nodes: listOf(anything),
    env: jsonObject,
    recordingsFolder: text,
    token: nonEmptyText,
    limits: jsonObject,
    link: memoryLinkOptions,
    scheduler: schedulerValue,
  },
)

/** The service, and the options of sessions with it. */
export interface InMemoryService extends MemoryPeer {
  /** Finalizes each running session at its next pause, within 8 s at most, and refuses new ones. */
  drain(): void
  /** Ends running sessions and frees the engines. */
  close(): Promise<void>
}

/**
 * The sessions, voice activity and recognition of the real service, connected to the client by links in memory: no
 * socket, no TLS, no token endpoint. Without an engine and without models a scripted engine recognizes "hello world".
 *
 * @example
 * const service = inMemoryService({ engine: scriptedEngine({ texts: ['a table for two'] }) })
 * audio$.pipe(recognize(service.recognizer({ format }))).subscribe((event) => console.log(event.type))
 */
export const inMemoryService = (options: InMemoryServiceOptions = {}): InMemoryService => {
  checkOptions(inMemoryServiceOptions, options)
  const { token = 'in-memory-token', scheduler = asyncScheduler, link = {} } = options
  const models = openModels(options)
  const defaultModel = options.defaultModel ?? models.list()[0]?.name ?? 'scripted'
  const drain$ = new ReplaySubject<Drain>(1)
  const context: DataflowContext = {
    admit: (presented) => admit(presented, token),
    projects: projectRegistry(projectsOf(options, defaultModel)),
    recordingsFolder: options.recordingsFolder,
    models,
    // As in development: a file may arrive as fast as the service reads it.
    limits: { ...defaultSessionLimits, maxPacePercent: 0, ...options.limits },
    drain$,
    scheduler,
    namesPackages: true,
  }
  const sessions = new Set<Subscription>()
  const serve = <Message>(
    serviceEnd: Link<Message, Message>,
    serveMessages: Parameters<typeof serveLink<Message, Message>>[1],
  ): void => {
    const session = serveLink(serviceEnd, serveMessages, context).subscribe()
    sessions.add(session)
    session.add(() => sessions.delete(session))
  }
  const linkOptions: MemoryLinkOptions = { scheduler, ...link }
  const common = { token, testing: { scheduler }, ...(options.modelFolders && { timeouts: timeoutsOfEngines }) }
  const peer = memoryPeer(
    {
      recognizer: { url: 'ws://localhost', model: defaultModel, ...common },
      dataflow: { url: 'localhost:0', tenant: sharedTenant, project: transcribeName, ...common },
    },
    {
      recognizer: (address) =>
        dialMemory<SocketMessage, SocketMessage>((end) => {
          if (!presents(address, token)) throw notThisToken()
          serve(end, (incoming$) => serveRecognizer(incoming$, end, { ...context, rights: everyRight, ended$: NEVER }))
        }, linkOptions),
      dataflow: () =>
        dialMemory<DataflowMessage, DataflowMessage>((end) => {
          serve(end, (incoming$) => serveDataflow(incoming$, end, context))
        }, linkOptions),
    },
  )
  return {
    ...peer,
    drain: () => {
      drain$.next({ pauseWithinMs: 8_000 })
    },
    close: async () => {
      drain$.next({ pauseWithinMs: 0 })
      for (const session of [...sessions]) session.unsubscribe()
      await models.close()
    },
  }
}

/** No network can be slow here, only a busy machine. */
const timeoutsOfEngines = { startMs: 60_000, finalizeMs: 120_000 }

const projectsOf = (
  { projects = {}, nodes, env = {}, recordingsFolder }: InMemoryServiceOptions,
  defaultModel: string,
): readonly Project[] => {
  const facts = { nodes: nodeCatalog(nodes), recordings: recordingsFolder !== undefined }
  const own = Object.entries(projects).map(([name, text]) =>
    textProject({ tenant: sharedTenant, name, version: '1' }, text, { facts, env, model: { name: defaultModel } }),
  )
  const transcribe = transcribeProjects([sharedTenant], defaultModel)
  return [...own, ...transcribe.filter(({ name }) => !Object.hasOwn(projects, name))]
}

const everyRight = { tenants: ['*'], projects: ['*'], models: ['*'] }

const admit = (presented: string, token: string): Promise<Admission> =>
  presented === token
    ? Promise.resolve({ rights: everyRight, ended$: NEVER, release: () => undefined })
    : Promise.reject(notThisToken())

const notThisToken = (): SpeechError =>
  new SpeechError('unauthenticated', 'The token is not that of this service in memory.')

const presents = ({ headers, protocols }: PresentedAddress, token: string): boolean =>
  [`Bearer ${token}`, token].includes(headers?.['Authorization'] ?? '') ||
  protocols?.includes(`bearer.${token}`) === true

const openModels = (options: InMemoryServiceOptions): ModelRegistry => {
  const { engine, modelFolders } = options
  if (modelFolders !== undefined)
    return createModelRegistry({ folders: modelFolders, kinds: builtInEngines(process.env) })
  return oneEngine(engine ?? scriptedEngine({ texts: ['hello world'] }))
}

/** A registry with the same engine for every name. */
const oneEngine = (engine: Engine): ModelRegistry => {
  const describe = (tenant: string, name: string, version: string): ModelDescription => ({
    tenant,
    name,
    version,
    folder: '',
    options: { engine: 'scripted' },
  })
  return {
    find: ({ tenant, name, version = '' }) => describe(tenant, name, version === '' ? '1' : version),
    list: () => [describe(sharedTenant, 'scripted', '1')],
    problems: () => [],
    engine: () => Promise.resolve(engine),
    close: () => engine.close(),
  }
}
