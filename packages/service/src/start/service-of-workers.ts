import { asyncScheduler, map, ReplaySubject, take } from 'rxjs'
import { findWorkerFile } from 'rxspeech-engines/threads/package-files'
import { usableCpus } from 'rxspeech-engines/threads/usable-cpus'
import { ConnectionGate } from 'rxspeech-server/listen/connection-gate'
import { TrustedProxies } from 'rxspeech-server/listen/trusted-proxies'
import { processIdentity } from 'rxspeech-server/operations/process-identity'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { checkPlainText, hostPort } from 'rxspeech/internal/transport/listen-address'
import { checkOptionsForWorkers, optionsForWorkers, resolveServiceLimits } from '../configuration/service-options.js'
import { RelayedRequests } from '../workers/relayed-requests.js'
import { openServicePort, type ServicePort, type ServicePortOptions } from '../workers/service-ports.js'
import { startWorkerHost, type WorkerServices, type WorkerStart } from '../workers/worker-host.js'
import { openWorkerOperations, type WorkerOperations } from '../workers/worker-operations.js'
import { WorkerSet } from '../workers/worker-set.js'
import type { ComposedHttp, ServiceRole } from './compose.js'
import { finishReload, refused, type ReloadResult } from './reload.js'
import { operationsOptions, repairUnfinishedRecordings, type Opened, type RenewableOptions } from './running-service.js'
import { openServiceModels } from './service-models.js'
import { loopbackAnyPort } from './session-server.js'

interface PortsOfWorkers extends ComposedHttp {
  readonly https: ServicePort
  readonly plain: ServicePort | undefined
}

/**
 * A service whose sessions run in worker processes. This process has the ports, the identity service, and the counts of
 * everything that is limited; it passes each connection to a worker, and answers its questions.
 */
export const sessionsInWorkers = (
  options: RenewableOptions,
  count: number,
  opened: Opened,
): ServiceRole<WorkerOperations, PortsOfWorkers> => {
  checkOptionsForWorkers(options)
  const file = findWorkerFile(__dirname, 'start/worker-main.js', 'The worker process')
  const { certificate, logger, onFault: onOptionsFault, trustedProxies = [], scheduler = asyncScheduler } = options
  const limits = resolveServiceLimits(options)
  const workers = new WorkerSet({ count, logger, scheduler })
  opened.push(['A worker process', () => workers.close()])
  const gate = new ConnectionGate(limits)
  const proxies = trustedProxies.length === 0 ? undefined : new TrustedProxies(trustedProxies)
  const requests = new RelayedRequests()
  const openPort = async (
    listener: ServicePortOptions['listener'],
    { onFault }: Pick<WorkerOperations, 'onFault'>,
    address = loopbackAnyPort,
  ): Promise<ServicePort> => {
    const pass: ServicePortOptions['pass'] = (connection) => workers.pass(connection)
    const port = await openServicePort({ listener, address, gate, proxies, pass, onFault })
    opened.push([`The port of ${listener}`, port.close])
    return port
  }
  const drain$ = new ReplaySubject<undefined>(1)

  return {
    openOperation: () => openWorkerOperations(operationsOptions(options, scheduler, limits), workers),
    openModels: async (operation) => {
      const { models } = await openServiceModels({ ...options, scheduler }, operation)
      return { models, natsUse: undefined }
    },
    // Only the workers load engines.
    loads: false,
    openHttp: async (operation) => {
      if (options.plainHttp !== undefined) checkPlainText(options.plainHttp, undefined)
      for (const address of [options.http, options.grpc]) checkPlainText(address ?? loopbackAnyPort, certificate)
      const https = await openPort('http', operation, options.http)
      const plain = options.plainHttp && (await openPort('plain', operation, options.plainHttp))
      return {
        https,
        plain,
        url: `${certificate === undefined ? 'http' : 'https'}://${hostPort(https.address, https.address.port)}`,
        plainUrl: plain && `http://${hostPort(plain.address, plain.address.port)}`,
        addressOf: requests.addressOf,
        close: closedByPorts,
      }
    },
    serve: async ({ operation, http, projects, admit, onRequest }) => {
      const { onFault } = operation
      requests.handle(onRequest)
      const grpc = await openPort('grpc', operation, options.grpc)
      const services: WorkerServices = {
        gate,
        logger,
        onFault,
        admit,
        answerHttp: (request) => requests.answer(request),
        onWorkerFault: (error) => onOptionsFault?.(error),
      }
      const start = (): WorkerStart => ({
        options: {
          ...optionsForWorkers(options, count),
          http: http.https.address,
          plainHttp: http.plain?.address,
          grpc: grpc.address,
          defaultModel: projects.defaultModel,
          certificate: certificate && { certificate: certificate.certificate, key: certificate.key },
        },
        cpus: usableCpus() / count,
        warmsUp: options.operations !== undefined,
        hasMetrics: operation.scrape !== undefined,
        identity: processIdentity(),
      })
      let repaired = (): Promise<void> => Promise.resolve()
      opened.push(['The repair of recordings', () => repaired()])
      const renewing = certificate?.renewed$.subscribe((next) => workers.renewCertificate(next))
      opened.push(['The certificate of workers', () => renewing?.unsubscribe()])
      await workers.start((number, events) => startWorkerHost({ file, number, start: start() }, services, events), {
        ...operation,
        restarted: () => {
          operation.restarted()
          // Those of the worker that ended; recordings that others still write are not harmed.
          repaired = repairUnfinishedRecordings(options, onFault)
        },
      })
      return {
        grpcAddress: hostPort(grpc.address, grpc.address.port),
        draining$: drain$.pipe(
          take(1),
          map(() => undefined),
        ),
        drain: (drainMs) => {
          drain$.next(undefined)
          return workers.drain(drainMs, drainMs + closeWithinMs)
        },
        close: closedByPorts,
      }
    },
    reload: async (prepare, isClosed) => {
      const prepared = await prepare()
      let result: ReloadResult | undefined
      try {
        await workers.reload((found) => {
          const problems = [...prepared.problems, ...found.flatMap((one) => one.problems)]
          const isSame = found.every(({ fingerprint }) => fingerprint === prepared.fingerprint)
          if (problems.length === 0 && !isSame) problems.push(filesChanged())
          result = finishReload({ ...prepared, problems: withoutRepeats(problems) }, isClosed())
          return result.isReloaded
        })
      } finally {
        if (result === undefined) prepared.discard()
      }
      return result ?? refused([])
    },
  }
}

const closedByPorts = (): void => undefined

const filesChanged = (): SpeechError =>
  new SpeechError('overloaded', 'Files changed while they were read, so nothing was reloaded; try again.')

/** Each worker finds the same. */
const withoutRepeats = (problems: readonly SpeechError[]): readonly SpeechError[] => [
  ...new Map(problems.map((problem) => [problem.message, problem])).values(),
]

/** How much longer than its drain a worker may take: for last messages (3 s) and for its engines (5 s). */
const closeWithinMs = 9_000
