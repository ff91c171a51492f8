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
import { dialectsOf } from './built-ins.js'
import { compose } from './compose.js'
import { openAuthority } from './identity-service.js'
import { openModels } from './models-and-projects.js'
import { released } from './service-models.js'
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
 * Opens what `startService` opens with these options, and closes it again: listeners on other ports of the same hosts,
 * the identity with what is in the state folder, which is not changed, models, projects and custom nodes. It loads no
 * engines, and connects to no NATS server. Rejects as `startService`; a port in use is no fault, because the service
 * may run.
 */
export const checkService = async (options: ServiceOptions): Promise<CheckedService> => {
  const { stateFolder, identity = {} } = options
  checkServiceOptions(options)
  checkRecordingsFolder(options)
  checkCodeGeneration()
  checkSharedIdentity({ ...identity, issuer: options.issuer })
  resolveWorkerCount(options.workers ?? 1)
  dialectsOf(options)
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
  const { models, projects } = await compose(options, opened, {
    openOperation: () => openOperations(operationsOptions(options, scheduler, limits)),
    openModels: async () => ({ models: await released(openModels(options), options), natsUse: undefined }),
    openHttp: (operation) => openServiceHttp(options, { gate: new ConnectionGate(limits) }, operation),
    openAuthority: (http, operation) => openAuthority(options, http, operation),
    serve: () => openHttp(grpc, { certificate }),
  })
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
