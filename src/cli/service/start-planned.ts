import { resolve } from 'node:path'
import type { SpeechError } from '../../errors/speech-error.js'
import { startDevelopmentService } from '../../service/start/development-service.js'
import { hashSecret } from '../../service/identity/clients/client-secret.js'
import { OriginConflict } from '../../service/identity/state/issuer-lock.js'
import { makePrivateFolder } from '../../service/identity/state/state-files.js'
import { openIdentityStore } from '../../service/identity/identity-store.js'
import { everything, isInForce, memoryClients, type ClientStore } from '../../service/identity/clients/client.js'
import type { Logger } from '../../service/operations/logger.js'
import type { CustomNodeSource } from '../../service/custom-nodes/custom-node-source.js'
import type { ListenAddress } from '../../service/listen/listen-address.js'
import { startService, type Service } from '../../service/start/service.js'
import { usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import { sampleModels } from '../process/package-files.js'
import { readServerCertificate, type CertificateFiles } from './certificate-files.js'

/** The options of both kinds of service. */
export interface ServeBasics {
  readonly http: ListenAddress
  readonly grpc: ListenAddress
  /** Health and metrics; nowhere when undefined. */
  readonly operations?: ListenAddress | undefined
  readonly modelFolders: readonly string[]
  readonly projectFolders: readonly string[]
  /** Where nodes may keep recordings; nowhere when undefined. */
  readonly recordingsFolder?: string | undefined
  readonly customNodes: readonly CustomNodeSource[]
  readonly model?: string | undefined
  readonly stateFolder: string
}

/** The checked plan of `serve`. */
export type ServePlan =
  | (ServeBasics & { readonly mode: 'development' })
  | (ServeBasics & {
      readonly mode: 'production'
      /** The files of the certificate and its key, PEM; none for plain text on loopback. */
      readonly tls?: CertificateFiles | undefined
      /** A subscriber in addition to those of the store in the state folder. */
      readonly subscriber?: { readonly clientId: string; readonly clientSecret: string } | undefined
      /** The grants of the subscriber, and the tenants of the service in addition to those of the subscriptions. */
      readonly tenants: readonly string[]
    })

/** A running service, and the line with its addresses for clients. */
export interface StartedService {
  readonly service: Service
  /** Whether any client can get a token now. */
  readonly hasSubscribers: boolean
  readonly access: {
    readonly authUrl: string
    readonly wsUrl: string
    readonly grpc: string
    /** Absolute path of the CA certificate, PEM; null if the certificate is of another CA, or there is none. */
    readonly ca: string | null
    /** Undefined if all subscribers are in the store. */
    readonly clientId?: string | undefined
    /** Only if the service created it. */
    readonly clientSecret?: string | undefined
    readonly tenant: string
    readonly project: string
    readonly model: string
    /** Base address of health and metrics, if they are served. */
    readonly operations?: string | undefined
  }
}

/**
 * Starts the service as planned. Rejects with `invalid-options` or `listen-failed`, and closes everything it has
 * opened.
 */
export const startPlanned = async (plan: ServePlan, logger: Logger, env: Host['env']): Promise<StartedService> => {
  const stateFolder = resolve(plan.stateFolder)
  await makePrivateFolder(stateFolder).catch((error: unknown) => {
    throw usageError(`--state names ${plan.stateFolder}, which cannot be used as a folder; choose another.`, error)
  })
  const basics = {
    http: plan.http,
    grpc: plan.grpc,
    stateFolder,
    logger,
    env,
    projectFolders: plan.projectFolders,
    customNodes: plan.customNodes,
    recordingsFolder: plan.recordingsFolder === undefined ? undefined : resolve(plan.recordingsFolder),
    operations: plan.operations,
    defaultModel: plan.model,
  }
  if (plan.mode === 'development') {
    const modelFolders = [...plan.modelFolders, sampleModels()]
    const service = await startDevelopmentService({ ...basics, modelFolders }).catch((error: unknown) => {
      throw error instanceof OriginConflict ? usedFolder(plan.stateFolder, error) : error
    })
    return { service, hasSubscribers: true, access: { ...service.access, operations: service.operationsUrl } }
  }
  const hasSubscribers = plan.subscriber !== undefined || (await hasStored(stateFolder))
  const service = await startService({
    ...basics,
    modelFolders: plan.modelFolders.length === 0 ? [sampleModels()] : plan.modelFolders,
    tenants: plan.tenants,
    grantedTenants: true,
    clients: plan.subscriber && (await onlySubscriber(plan.subscriber, plan.tenants)),
    certificate: plan.tls && readServerCertificate(plan.tls),
  })
  return { service, hasSubscribers, access: accessOf(service, plan.subscriber?.clientId, plan.tenants) }
}

/** A development service has another port, and so another issuer, than the service that runs with the folder. */
const usedFolder = (stateFolder: string, cause: OriginConflict): SpeechError =>
  usageError(
    `Another service that runs uses the folder ${stateFolder}; stop it, or choose another folder with --state DIR.`,
    cause,
  )

/** The addresses of a service that has neither its own CA nor its own subscription. */
export const accessOf = (
  service: Service,
  clientId: string | undefined,
  [tenant = 'Default']: readonly string[],
): StartedService['access'] => ({
  authUrl: service.authUrl,
  wsUrl: service.wsUrl,
  grpc: service.grpcAddress,
  ca: null,
  clientId,
  tenant,
  project: 'transcribe',
  model: service.defaultModel ?? '',
  operations: service.operationsUrl,
})

const onlySubscriber = async (
  { clientId, clientSecret }: { readonly clientId: string; readonly clientSecret: string },
  tenants: readonly string[],
): Promise<ClientStore> =>
  memoryClients([
    {
      clientId,
      secretHash: await hashSecret(clientSecret),
      tenants,
      projects: [everything],
      models: [everything],
      validFromMs: 0,
      validUntilMs: Number.MAX_SAFE_INTEGER,
      cancelled: false,
    },
  ])

/** Whether a subscription of the store is valid now. */
export const hasStored = async (stateFolder: string): Promise<boolean> => {
  const store = await openIdentityStore({ stateFolder })
  try {
    return store.list().some((subscription) => isInForce(subscription, Date.now()))
  } finally {
    store.close()
  }
}
