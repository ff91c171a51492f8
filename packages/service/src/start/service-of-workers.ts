import { asyncScheduler, map, ReplaySubject, take } from 'rxjs'
import { findWorkerFile } from 'rxspeech-engines/threads/package-files'
import { usableCpus } from 'rxspeech-engines/threads/usable-cpus'
import { ConnectionGate } from 'rxspeech-server/listen/connection-gate'
import { TrustedProxies } from 'rxspeech-server/listen/trusted-proxies'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { checkOptions } from 'rxspeech/internal/protocol/validation'
import { checkPlainText, hostPort } from 'rxspeech/internal/transport/listen-address'
import { RelayedRequests } from '../workers/relayed-requests.js'
import { openServicePort } from '../workers/service-ports.js'
import {
  startWorkerHost,
  type PassedConnection,
  type WorkerServices,
  type WorkerStart,
} from '../workers/worker-host.js'
import { openWorkerOperations } from '../workers/worker-operations.js'
import { WorkerSet } from '../workers/worker-set.js'
import { createAdmission, openIdentity, openRequests } from './identity-service.js'
import { chooseDefaultModel, openProjects } from './models-and-projects.js'
import { finishReload, prepareReload, refused, Reloader, type ReloadResult } from './reload.js'
import {
  closeAll,
  operationsOptions,
  repairUnfinishedRecordings,
  serviceCloseOptions,
  type Opened,
  type Service,
} from './running-service.js'
import {
  checkOptionsForWorkers,
  optionsForWorkers,
  resolveServiceLimits,
  type ServiceOptions,
} from '../configuration/service-options.js'
import { openServiceModels } from './service-models.js'
import { loopbackAnyPort } from './session-server.js'

/**
 * Starts a service whose sessions run in worker processes. This process has the ports, the identity service, and the counts
 * of everything that is limited; it passes each connection to a worker, and answers its questions.
 */
export const openServiceOfWorkers = async (
  options: ServiceOptions,
  count: number,
  opened: Opened,
): Promise<Service> => {
  checkOptionsForWorkers(options)
  const file = findWorkerFile(__dirname, 'start/worker-main.js', 'The worker process')
  const { certificate, logger, onFault: onOptionsFault, trustedProxies = [], scheduler = asyncScheduler } = options
  const limits = resolveServiceLimits(options)
  const workers = new WorkerSet({ count, logger, scheduler })
  const operation = await openWorkerOperations(operationsOptions(options, scheduler, limits), workers)
  opened.push(['The listener of operations', operation.close], ['A worker process', () => workers.close()])
  const { onFault } = operation
  const { models } = await openServiceModels({ ...options, scheduler, onFault })
  let repaired = repairUnfinishedRecordings(options, onFault)
  opened.push(['The connection to the engines', () => models.close()], ['The repair of recordings', () => repaired()])
  const defaultModel = chooseDefaultModel(models, options)
  const gate = new ConnectionGate(limits)
  const accepting = {
    gate,
    onFault,
    proxies: trustedProxies.length === 0 ? undefined : new TrustedProxies(trustedProxies),
    pass: (connection: PassedConnection) => workers.pass(connection),
  }
  if (options.plainHttp !== undefined) checkPlainText(options.plainHttp, undefined)
  for (const address of [options.http, options.grpc]) checkPlainText(address ?? loopbackAnyPort, certificate)
  const http = await openServicePort({ ...accepting, listener: 'http', address: options.http ?? loopbackAnyPort })
  opened.push(['The HTTP port', http.close])
  const url = `${certificate === undefined ? 'http' : 'https'}://${hostPort(http.address, http.address.port)}`
  const plain =
    options.plainHttp && (await openServicePort({ ...accepting, listener: 'plain', address: options.plainHttp }))
  if (plain !== undefined) opened.push(['The HTTP port without TLS', plain.close])
  const plainUrl = plain && `http://${hostPort(plain.address, plain.address.port)}`
  const requests = new RelayedRequests()
  const identity = await openIdentity(options, { url, addressOf: requests.addressOf }, operation)
  opened.push(['The identity service', () => identity.close()])
  const projects = await openProjects(options, models, defaultModel)
  requests.handle(
    await openRequests(options, identity, [url, plainUrl], {
      models,
      projects,
      onFault,
      scrape: operation.scrape,
      addressOf: requests.addressOf,
    }),
  )
  const grpc = await openServicePort({ ...accepting, listener: 'grpc', address: options.grpc ?? loopbackAnyPort })
  opened.push(['The gRPC port', grpc.close])

  const services: WorkerServices = {
    gate,
    logger,
    onFault,
    admit: createAdmission(identity, limits, options),
    answerHttp: (request) => requests.answer(request),
    onWorkerFault: (error) => onOptionsFault?.(error),
  }
  const start = (): WorkerStart => ({
    options: {
      ...optionsForWorkers(options),
      http: http.address,
      plainHttp: plain?.address,
      grpc: grpc.address,
      defaultModel: projects.defaultModel,
    },
    cpus: usableCpus() / count,
    warmsUp: options.operations !== undefined,
    hasMetrics: operation.scrape !== undefined,
  })
  await workers.start((number, events) => startWorkerHost({ file, number, start: start() }, services, events), {
    ...operation,
    restarted: () => {
      operation.restarted()
      // Those of the worker that ended; recordings that others still write are not harmed.
      repaired = repairUnfinishedRecordings(options, onFault)
    },
  })

  // Only the workers load engines.
  const parts = { models, projects, options, loads: false }
  const reloader: Reloader = new Reloader({
    logger,
    onOutcome: operation.reloaded,
    run: async () => {
      const prepared = await prepareReload(parts)
      let result: ReloadResult | undefined
      try {
        await workers.reload((found) => {
          const problems = [...prepared.problems, ...found.flatMap((one) => one.problems)]
          const isSame = found.every(({ fingerprint }) => fingerprint === prepared.fingerprint)
          if (problems.length === 0 && !isSame) problems.push(filesChanged())
          result = finishReload({ ...prepared, problems: withoutRepeats(problems) }, reloader.isClosed)
          return result.isReloaded
        })
      } finally {
        if (result === undefined) prepared.discard()
      }
      return result ?? refused([])
    },
  })

  const drain$ = new ReplaySubject<undefined>(1)
  const drain = (drainMs: number): Promise<void> => {
    drain$.next(undefined)
    return workers.drain(drainMs, drainMs + closeWithinMs)
  }
  let closing: Promise<void> | undefined
  return {
    authUrl: url,
    wsUrl: url.replace(/^http/, 'ws'),
    plainUrl,
    grpcAddress: hostPort(grpc.address, grpc.address.port),
    operationsUrl: operation.url,
    models,
    projects,
    get defaultModel() {
      return projects.defaultModel
    },
    draining$: drain$.pipe(
      take(1),
      map(() => undefined),
    ),
    revoke: (tokenId) => identity.revoke(tokenId),
    reload: () => reloader.reload(),
    close: async (closeOptions = {}) => {
      const { drainMs = 10_000 } = checkOptions(serviceCloseOptions, closeOptions)
      reloader.close()
      await (closing ??= drain(drainMs).then(() => closeAll(opened, scheduler)))
    },
  }
}

const filesChanged = (): SpeechError =>
  new SpeechError('overloaded', 'Files changed while they were read, so nothing was reloaded; try again.')

/** Each worker finds the same. */
const withoutRepeats = (problems: readonly SpeechError[]): readonly SpeechError[] => [
  ...new Map(problems.map((problem) => [problem.message, problem])).values(),
]

/** How much longer than its drain a worker may take: for last messages (3 s) and for its engines (5 s). */
const closeWithinMs = 9_000
