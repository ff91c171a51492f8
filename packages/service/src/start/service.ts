import { asyncScheduler } from 'rxjs'
import { resolveWorkerCount } from 'rxspeech-engines/threads/worker-count'
import { ConnectionGate } from 'rxspeech-server/listen/connection-gate'
import { RenewableCertificate } from 'rxspeech-server/listen/renewable-certificate'
import { openOperations, type Operations } from 'rxspeech-server/operations/operations'
import { loadVoiceActivity } from 'rxspeech-server/recognition/voice-activity/fvad'
import { checkOptions } from 'rxspeech/internal/protocol/validation'
import { checkServiceOptions, resolveServiceLimits, type ServiceOptions } from '../configuration/service-options.js'
import { dialectsOf } from './built-ins.js'
import { compose, type ComposedHttp, type ServiceOperations, type ServiceRole } from './compose.js'
import { openAuthority } from './identity-service.js'
import { finishReload, Reloader, withCertificateReload } from './reload.js'
import {
  checkCodeGeneration,
  checkRecordingsFolder,
  closeAll,
  operationsOptions,
  repairUnfinishedRecordings,
  serviceCloseOptions,
  type Opened,
  type RenewableOptions,
  type Service,
} from './running-service.js'
import { openServiceModels } from './service-models.js'
import { sessionsInWorkers } from './service-of-workers.js'
import { openServiceHttp, openSessionServer, type ServiceHttp } from './session-server.js'

/**
 * Starts the service: token endpoint, recognition socket and dataflow stream. Resolves when everything listens. Rejects
 * with `listen-failed`, `invalid-model`, `invalid-options` or `missing-dependency`, and then leaves nothing open.
 *
 * @example
 * const service = await startService({ modelFolders: ['models'], stateFolder: '.rxspeech', clients })
 */
export const startService = async (given: ServiceOptions): Promise<Service> => {
  checkServiceOptions(given)
  const options = { ...given, certificate: given.certificate && new RenewableCertificate(given.certificate) }
  checkRecordingsFolder(options)
  checkCodeGeneration()
  dialectsOf(options)
  // Every session needs it, so a missing package should fail the start.
  await loadVoiceActivity()
  const opened: Opened = []
  try {
    const workers = resolveWorkerCount(options.workers ?? 1)
    return await (workers === 1
      ? openService(options, opened, sessionsHere(options))
      : openService(options, opened, sessionsInWorkers(options, workers, opened)))
  } catch (error) {
    // The caller gets the first error, not a later one of the cleanup.
    await closeAll(opened, options.scheduler).catch(() => undefined)
    throw error
  }
}

const sessionsHere = (options: ServiceOptions): ServiceRole<Operations, ServiceHttp> => {
  const { scheduler = asyncScheduler } = options
  const limits = resolveServiceLimits(options)
  const origin = { gate: new ConnectionGate(limits) }
  return {
    openOperation: () => openOperations(operationsOptions(options, scheduler, limits)),
    openModels: (operation) => openServiceModels({ ...options, scheduler }, operation),
    openHttp: (operation) => openServiceHttp(options, origin, operation),
    serve: (parts) => openSessionServer({ ...parts, origin }),
    reload: async (prepare, isClosed) => {
      const prepared = await prepare()
      return finishReload(prepared, isClosed())
    },
  }
}

const openService = async <Operation extends ServiceOperations, Http extends ComposedHttp>(
  options: RenewableOptions,
  opened: Opened,
  role: ServiceRole<Operation, Http>,
): Promise<Service> => {
  const { operation, models, http, authority, projects, server, prepareReload } = await compose(options, opened, {
    ...role,
    openHttp: (operations) => {
      // Before the first session can record.
      opened.push(['The repair of recordings', repairUnfinishedRecordings(options, operations.onFault)])
      return role.openHttp(operations)
    },
    openAuthority: (listener, watched) => openAuthority(options, listener, watched),
  })
  const reloader: Reloader = new Reloader({
    logger: options.logger,
    onOutcome: operation.reloaded,
    run: () => {
      const prepare = async () => withCertificateReload(await prepareReload(), options.certificate, options.logger)
      return role.reload(prepare, () => reloader.isClosed)
    },
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
    revoke: (tokenId) => authority.revoke(tokenId),
    reload: () => reloader.reload(),
    close: async (closeOptions = {}) => {
      const { drainMs = 10_000 } = checkOptions(serviceCloseOptions, closeOptions)
      reloader.close()
      await (closing ??= server.drain(drainMs).then(() => closeAll(opened, options.scheduler)))
    },
  }
}
