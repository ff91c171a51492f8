// A worker process: it serves the sessions of the connections that the process of the service passes to it.
import { Socket } from 'node:net'
import { asyncScheduler } from 'rxjs'
import { RenewableCertificate } from 'rxspeech-server/listen/renewable-certificate'
import { openProcessOperations } from 'rxspeech-server/operations/operations'
import { adoptIdentity } from 'rxspeech-server/operations/process-identity'
import { loadVoiceActivity } from 'rxspeech-server/recognition/voice-activity/fvad'
import { TokenRequests } from 'rxspeech-server/sessions/request-limit'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { JsonObject } from 'rxspeech/internal/protocol/json-object'
import { Channel, toSentError } from '../workers/channel.js'
import { serviceProtocol, workerProtocol } from '../workers/protocol.js'
import { relayRequests, type RelayOptions } from '../workers/relayed-requests.js'
import {
  PassedConnections,
  RemoteAdmission,
  remoteFaults,
  remoteLogger,
  type WorkerChannel,
} from '../workers/worker-link.js'
import type { WorkerStart } from '../workers/worker-host.js'
import { compose } from './compose.js'
import type { PreparedReload } from './reload.js'
import { closeAll, operationsOptions, type Opened } from './running-service.js'
import { checkServiceOptions, resolveServiceLimits, type ServiceOptions } from '../configuration/service-options.js'
import { openServiceModels } from './service-models.js'
import { openServiceHttp, openSessionServer } from './session-server.js'

const optionsOf = (options: JsonObject): ServiceOptions => {
  const given = options as unknown as ServiceOptions
  checkServiceOptions(given)
  return given
}

interface WorkerParts {
  readonly start: WorkerStart
  readonly opened: Opened
  readonly certificate: RenewableCertificate | undefined
}

const openWorker = async (
  channel: WorkerChannel,
  { gate, to }: PassedConnections,
  admission: RemoteAdmission,
  { start, opened, certificate }: WorkerParts,
) => {
  adoptIdentity(start.identity)
  const options = {
    ...optionsOf(start.options),
    certificate,
    logger: remoteLogger(channel),
    onFault: remoteFaults(channel),
  }
  const limits = resolveServiceLimits(options)
  const origin = { gate, acceptConnections: { http: to('http'), plain: to('plain'), grpc: to('grpc') } }
  admission.requests = new TokenRequests(limits, asyncScheduler)
  await loadVoiceActivity()
  return compose(options, opened, {
    openOperation: () =>
      openProcessOperations({
        ...operationsOptions(options, asyncScheduler, limits),
        hasMetrics: start.hasMetrics,
        warmsUp: start.warmsUp,
        onReadiness: (readiness) => channel.tell('readiness', readiness),
      }),
    openModels: (operation) => openServiceModels(options, operation, start.cpus),
    openHttp: (operation) => openServiceHttp(options, origin, operation),
    openAuthority: ({ addressOf }) => ({
      admit: admission.admit,
      openRequests: () => {
        const relay: RelayOptions['relay'] = (request) => channel.ask('http', request)
        return Promise.resolve(relayRequests({ relay, addressOf, scheduler: asyncScheduler }))
      },
      close: () => undefined,
    }),
    serve: (parts) => openSessionServer({ ...parts, origin }),
  })
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
  let certificate: RenewableCertificate | undefined
  let worker: Awaited<ReturnType<typeof openWorker>> | undefined
  let prepared: Promise<PreparedReload> | undefined

  const exit = (): void => {
    // Everything is closed by now.
    channel.flush()
    setImmediate(() => process.exit(0))
  }
  channel.handle({
    questions: {
      metrics: () => worker?.operation.metrics?.collect() ?? Promise.resolve([]),
      slowSessions: () => Promise.resolve(worker?.operation.slowSessions() ?? []),
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
        const { certificate: first } = optionsOf(start.options)
        certificate = first && new RenewableCertificate(first)
        openWorker(channel, connections, admission, { start, opened, certificate }).then(
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
      certificate: (next) => certificate?.renew(next),
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
