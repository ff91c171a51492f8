// A worker process of a service: it serves the sessions of the connections that the process of the service passes to it.
import { Socket } from 'node:net'
import { asyncScheduler } from 'rxjs'
import { openProcessOperations, type ProcessOperations } from 'rxspeech-server/operations/operations'
import { loadVoiceActivity } from 'rxspeech-server/recognition/voice-activity/fvad'
import { TokenRequests } from 'rxspeech-server/sessions/request-limit'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { JsonObject } from 'rxspeech/internal/protocol/json-object'
import { Channel, toSentError } from '../workers/channel.js'
import { serviceProtocol, workerProtocol } from '../workers/protocol.js'
import { relayRequests } from '../workers/relayed-requests.js'
import {
  PassedConnections,
  RemoteAdmission,
  remoteFaults,
  remoteLogger,
  type WorkerChannel,
} from '../workers/worker-link.js'
import type { WorkerStart } from '../workers/worker-host.js'
import { chooseDefaultModel, openProjects } from './models-and-projects.js'
import { prepareReload, type PreparedReload } from './reload.js'
import { closeAll, type Opened } from './running-service.js'
import { checkServiceOptions, resolveServiceLimits, type ServiceOptions } from '../configuration/service-options.js'
import { openServiceModels } from './service-models.js'
import { openServiceHttp, openSessionServer, type SessionServer } from './session-server.js'
import { openTracing } from './tracing.js'

/** The running parts of this worker. */
interface Worker {
  readonly operation: ProcessOperations
  readonly server: SessionServer
  readonly prepareReload: () => Promise<PreparedReload>
}

const optionsOf = (options: JsonObject): ServiceOptions => {
  const given = options as unknown as ServiceOptions
  checkServiceOptions(given)
  return given
}

const openWorker = async (
  channel: WorkerChannel,
  connections: PassedConnections,
  admission: RemoteAdmission,
  { start, opened }: { readonly start: WorkerStart; readonly opened: Opened },
): Promise<Worker> => {
  const options = optionsOf(start.options)
  const { development = false, reflection = development } = options
  const limits = resolveServiceLimits(options)
  admission.requests = new TokenRequests(limits, asyncScheduler)
  await loadVoiceActivity()
  const operation = await openProcessOperations({
    reflection,
    scheduler: asyncScheduler,
    hasMetrics: start.hasMetrics,
    warmsUp: start.warmsUp,
    logger: remoteLogger(channel),
    onFault: remoteFaults(channel),
    limits,
    onReadiness: (readiness) => channel.tell('readiness', readiness),
  })
  const tracing = openTracing()
  opened.push(['The metrics', operation.close], ['The export of spans', () => tracing?.flush()])
  const { onFault } = operation
  const logger = remoteLogger(channel)
  const { models: found, natsUse } = await openServiceModels({ ...options, logger, onFault }, start.cpus)
  const models = operation.watchModels(found)
  if (natsUse !== undefined) operation.watchNats(natsUse)
  opened.push(['The engines', () => models.close()])
  const defaultModel = chooseDefaultModel(models, options)
  const origin = {
    gate: connections.gate,
    acceptConnections: {
      http: connections.to('http'),
      plain: connections.to('plain'),
      grpc: connections.to('grpc'),
    },
  }
  const http = await openServiceHttp(options, origin, { onFault })
  opened.push(['The HTTP listener', http.close])
  const projects = await openProjects(options, models, defaultModel)
  const server = await openSessionServer({
    options,
    origin,
    http,
    operation,
    models,
    defaultModel,
    projects,
    admit: admission.admit,
    openTelemetry: tracing?.openTelemetry,
    onRequest: relayRequests({
      relay: (request) => channel.ask('http', request),
      addressOf: http.addressOf,
      scheduler: asyncScheduler,
    }),
  })
  opened.push(['The gRPC listener', server.close])
  return { operation, server, prepareReload: () => prepareReload({ models, projects, options }) }
}

/** Ends of connections and sessions, and lines of the log, are sent together when they are this close. */
const gatherMs = 5

const main = (): void => {
  // A terminal sends signals to all processes of a group; only the process of the service decides what follows.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  // Without the process of the service there is nobody to serve.
  process.once('disconnect', () => process.exit(1))
  if (process.env['RXSPEECH_DEBUG'] === undefined) process.removeAllListeners('warning')

  const channel: WorkerChannel = new Channel(
    { local: workerProtocol, remote: serviceProtocol },
    (message) => {
      // When the process of the service has just ended, so does this one.
      if (process.connected) process.send?.(message, undefined, undefined, () => undefined)
    },
    (error) => remoteFaults(channel)(error),
    gatherMs,
  )
  let lastId = 0
  const nextId = (): number => (lastId += 1)
  const connections = new PassedConnections(channel, nextId)
  const admission = new RemoteAdmission(channel, nextId)
  const opened: Opened = []
  let worker: Worker | undefined
  let prepared: Promise<PreparedReload> | undefined

  const exit = (): void => {
    // Everything is closed by now.
    channel.flush()
    setImmediate(() => process.exit(0))
  }
  channel.handle({
    questions: {
      metrics: () => worker?.operation.metrics?.collect() ?? Promise.resolve([]),
      alive: () => Promise.resolve({}),
      prepareReload: async () => {
        prepared = worker?.prepareReload()
        if (prepared === undefined) throw new SpeechError('going-away', 'The worker is starting.')
        const { problems, fingerprint } = await prepared
        return { problems: problems.map(toSentError), fingerprint }
      },
    },
    notices: {
      start: (start) => {
        openWorker(channel, connections, admission, { start, opened }).then(
          (running) => {
            worker = running
            channel.tell('opened', {})
          },
          (error: unknown) => {
            channel.tell('failed', { error: toSentError(error) })
            exit()
          },
        )
      },
      connection: (connection, socket) => connections.receive(connection, socket),
      ended: (end) => admission.ended(end),
      serving: ({ isServing }) => worker?.operation.setServing(isServing),
      reload: ({ isUsed }) => {
        // Also when another worker has failed before this one has finished.
        prepared?.then(({ commit, discard }) => (isUsed ? commit() : discard())).catch(() => undefined)
        prepared = undefined
      },
      drain: ({ drainMs }) => {
        worker?.server
          .drain(drainMs)
          .then(() => closeAll(opened))
          .catch(remoteFaults(channel))
          .finally(exit)
      },
    },
  })
  process.on('message', (message, handle: unknown) => {
    channel.receive(message, handle instanceof Socket ? handle : undefined)
  })
}

main()
