import { createServer } from 'node:net'
import { asyncScheduler } from 'rxjs'
import { resolveWorkerCount } from 'rxspeech-engines/threads/worker-count'
import { checkSharedIdentity } from 'rxspeech-nats/identity/connect'
import { checkIdentityState } from 'rxspeech-server/identity/check-identity-state'
import { ConnectionGate } from 'rxspeech-server/listen/connection-gate'
import { openHttp } from 'rxspeech-server/listen/http-listener'
import { openOperations } from 'rxspeech-server/operations/operations'
import { loadVoiceActivity } from 'rxspeech-server/recognition/voice-activity/fvad'
import { codeOf, isSpeechError, type SpeechError } from 'rxspeech/internal/errors/speech-error'
import { type ListenAddress, listenOnPort } from 'rxspeech/internal/transport/listen-address'
import { openIdentity, openRequests } from './identity-service.js'
import { chooseDefaultModel, openModels, openProjects } from './models-and-projects.js'
import {
  checkCodeGeneration,
  checkRecordingsFolder,
  closeAll,
  operationsOptions,
  type Opened,
} from './running-service.js'
import { checkServiceOptions, resolveServiceLimits, type ServiceOptions } from '../configuration/service-options.js'
import { loopbackAnyPort, openServiceHttp } from './session-server.js'

/** What a service with these options would start with. */
export interface CheckedService {
  /** An `invalid-model` or an `invalid-project` for each broken one, with which a service starts nevertheless. */
  readonly problems: readonly SpeechError[]
  /** Sentences about files of the state folder, whose modes a service corrects. */
  readonly notices: readonly string[]
}

/**
 * Opens what `startService` opens with these options, and closes it again: listeners on other ports of the same hosts, the
 * identity with what is in the state folder, which is not changed, models, projects and custom nodes. It loads no engines, and
 * connects to no NATS server. Rejects as `startService`; a port in use is no fault, because the service may run.
 */
export const checkService = async (options: ServiceOptions): Promise<CheckedService> => {
  const { stateFolder, identity = {} } = options
  checkServiceOptions(options)
  checkRecordingsFolder(options)
  checkCodeGeneration()
  checkSharedIdentity({ ...identity, issuer: options.issuer })
  resolveWorkerCount(options.workers ?? 1)
  await loadVoiceActivity()
  const hasState = identity.nats === undefined && stateFolder !== undefined
  const notices = hasState ? await checkIdentityState({ stateFolder, clients: options.clients }) : []
  const opened: Opened = []
  try {
    const problems = await openParts(
      {
        ...options,
        http: await otherPort(options.http ?? loopbackAnyPort),
        grpc: await otherPort(options.grpc ?? loopbackAnyPort),
        plainHttp: options.plainHttp && (await otherPort(options.plainHttp)),
        operations: options.operations && (await otherPort(options.operations)),
        identity: { ...identity, nats: undefined },
        stateFolder: undefined,
      },
      opened,
    )
    return { problems, notices }
  } finally {
    await closeAll(opened, options.scheduler)
  }
}

const openParts = async (options: ServiceOptions, opened: Opened): Promise<readonly SpeechError[]> => {
  const { scheduler = asyncScheduler, grpc = loopbackAnyPort, certificate } = options
  const limits = resolveServiceLimits(options)
  const operation = await openOperations(operationsOptions(options, scheduler, limits))
  opened.push(['The listener of operations', operation.close])
  const { onFault } = operation
  const models = openModels(options)
  opened.push(['The engines', () => models.close()])
  const defaultModel = chooseDefaultModel(models, options)
  const http = await openServiceHttp(options, { gate: new ConnectionGate(limits) }, { onFault })
  opened.push(['The HTTP listener', http.close])
  opened.push(['The gRPC listener', (await openHttp(grpc, { certificate })).close])
  const identity = await openIdentity(options, http, operation)
  opened.push(['The identity service', () => identity.close()])
  const projects = await openProjects(options, models, defaultModel)
  const shown = { models, projects, onFault, scrape: operation.scrape, addressOf: http.addressOf }
  await openRequests(options, identity, [http.url], shown)
  return [...models.problems(), ...projects.problems()]
}

/** Another port of the same host, if this one may be used. */
const otherPort = async (address: ListenAddress): Promise<ListenAddress> => {
  const server = createServer()
  try {
    await listenOnPort(server, address)
    await new Promise((resolve) => server.close(resolve))
  } catch (error) {
    if (!isSpeechError(error) || codeOf(error.cause) !== 'EADDRINUSE') throw error
  }
  return { ...address, port: 0 }
}
