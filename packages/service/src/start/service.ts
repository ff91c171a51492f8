import { asyncScheduler } from 'rxjs'
import { resolveWorkerCount } from 'rxspeech-engines/threads/worker-count'
import { ConnectionGate } from 'rxspeech-server/listen/connection-gate'
import { openOperations } from 'rxspeech-server/operations/operations'
import { loadVoiceActivity } from 'rxspeech-server/recognition/voice-activity/fvad'
import { checkOptions } from 'rxspeech/internal/protocol/validation'
import { createAdmission, openIdentity, openRequests } from './identity-service.js'
import { chooseDefaultModel, openProjects } from './models-and-projects.js'
import { finishReload, prepareReload, Reloader } from './reload.js'
import {
  checkCodeGeneration,
  checkRecordingsFolder,
  closeAll,
  operationsOptions,
  repairUnfinishedRecordings,
  serviceCloseOptions,
  type Opened,
  type Service,
} from './running-service.js'
import { checkServiceOptions, resolveServiceLimits, type ServiceOptions } from '../configuration/service-options.js'
import { openServiceModels } from './service-models.js'
import { openServiceOfWorkers } from './service-of-workers.js'
import { openServiceHttp, openSessionServer } from './session-server.js'
import { openTracing } from './tracing.js'

/**
 * Starts the service: token endpoint, recognition socket and dataflow stream. Resolves when everything listens. Rejects with
 * `listen-failed`, `invalid-model`, `invalid-options` or `missing-dependency`, and then leaves nothing open.
 *
 * @example
 * const service = await startService({ modelFolders: ['models'], stateFolder: '.rxspeech', clients })
 */
export const startService = async (options: ServiceOptions): Promise<Service> => {
  checkServiceOptions(options)
  checkRecordingsFolder(options)
  checkCodeGeneration()
  // Every session needs it, so a missing package should fail the start.
  await loadVoiceActivity()
  const opened: Opened = []
  try {
    const workers = resolveWorkerCount(options.workers ?? 1)
    return await (workers === 1 ? openService(options, opened) : openServiceOfWorkers(options, workers, opened))
  } catch (error) {
    // The caller gets the first error, not a later one of the cleanup.
    await closeAll(opened, options.scheduler).catch(() => undefined)
    throw error
  }
}

const openService = async (options: ServiceOptions, opened: Opened): Promise<Service> => {
  const { scheduler = asyncScheduler } = options
  const limits = resolveServiceLimits(options)
  const operation = await openOperations(operationsOptions(options, scheduler, limits))
  const tracing = openTracing()
  opened.push(['The listener of operations', operation.close], ['The export of spans', () => tracing?.flush()])
  const { onFault } = operation
  const { models: found, natsUse } = await openServiceModels({ ...options, scheduler, onFault })
  const models = operation.watchModels(found)
  if (natsUse !== undefined) operation.watchNats(natsUse)
  opened.push(
    ['The engines', () => models.close()],
    ['The repair of recordings', repairUnfinishedRecordings(options, onFault)],
  )
  const defaultModel = chooseDefaultModel(models, options)
  const origin = { gate: new ConnectionGate(limits) }
  const http = await openServiceHttp(options, origin, { onFault })
  opened.push(['The HTTP listener', http.close])
  const identity = await openIdentity(options, http, operation)
  opened.push(['The identity service', () => identity.close()])
  const projects = await openProjects(options, models, defaultModel)
  const server = await openSessionServer({
    options,
    origin,
    http,
    operation,
    models,
    defaultModel,
    projects,
    openTelemetry: tracing?.openTelemetry,
    admit: createAdmission(identity, limits, options),
    onRequest: await openRequests(options, identity, [http.url, http.plainUrl], {
      models,
      projects,
      onFault,
      scrape: operation.scrape,
      addressOf: http.addressOf,
    }),
  })
  opened.push(['The gRPC listener', server.close])
  const parts = { models, projects, options }
  const reloader: Reloader = new Reloader({
    logger: options.logger,
    onOutcome: operation.reloaded,
    run: async () => finishReload(await prepareReload(parts), reloader.isClosed),
  })
  let closing: Promise<void> | undefined
  return {
    authUrl: http.url,
    wsUrl: http.url.replace(/^http/, 'ws'),
    plainUrl: http.plainUrl,
    grpcAddress: server.grpcAddress,
    operationsUrl: operation.url,
    models,
    projects,
    get defaultModel() {
      return projects.defaultModel
    },
    draining$: server.draining$,
    revoke: (tokenId) => identity.revoke(tokenId),
    reload: () => reloader.reload(),
    close: async (closeOptions = {}) => {
      const { drainMs = 10_000 } = checkOptions(serviceCloseOptions, closeOptions)
      reloader.close()
      await (closing ??= server.drain(drainMs).then(() => closeAll(opened, scheduler)))
    },
  }
}
