import { createPrivateKey } from 'node:crypto'
import { resolve } from 'node:path'
import { startDevelopmentService } from '../../service/start/development-service.js'
import { hashSecret } from '../../service/identity/clients/client-secret.js'
import { makePrivateFolder } from '../../service/identity/state/state-files.js'
import { openIdentityStore } from '../../service/identity/identity-store.js'
import { everything, isInForce, memoryClients, type ClientStore } from '../../service/identity/clients/client.js'
import type { Logger } from '../../service/operations/logger.js'
import type { ServerCertificate } from '../../service/listen/listen-address.js'
import { startService, type Service } from '../../service/start/service.js'
import type { Host } from '../process/host.js'
import { usageError } from '../process/failure.js'
import type { ServePlan } from './serve-plan.js'
import { sampleModels } from '../process/package-files.js'
import { readCertificates, readFlagFile } from './read-certificates.js'

/** A service that listens, and what its clients need to know; the secret only where it is of the service's own making. */
export interface PlannedService {
  readonly service: Service
  /** Whether anybody can get a token now. */
  readonly hasSubscribers: boolean
  readonly access: {
    readonly authUrl: string
    readonly wsUrl: string
    readonly grpc: string
    /** Absolute path of the CA certificate, PEM; null where the certificate is of another CA, or there is none. */
    readonly ca: string | null
    /** Absent where the subscribers are those of the store alone. */
    readonly clientId?: string
    readonly clientSecret?: string
    readonly tenant: string
    readonly project: string
    readonly model: string
    /** Base address of health and metrics, where they are wanted. */
    readonly operations?: string
  }
}

/** Starts the service as planned. Rejects with `invalid-options` or `listen-failed`, and then nothing is left open. */
export const startPlanned = async (plan: ServePlan, logger: Logger, env: Host['env']): Promise<PlannedService> => {
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
    recordingsFolder: plan.recordingsFolder === undefined ? undefined : resolve(plan.recordingsFolder),
    customNodes: plan.customNodes,
    operations: plan.operations,
    defaultModel: plan.model,
  }
  if (plan.mode === 'development') {
    const service = await startDevelopmentService({ ...basics, modelFolders: [...plan.modelFolders, sampleModels()] })
    return { service, hasSubscribers: true, access: { ...service.access, ...operationsOf(service) } }
  }
  // Without the package there is only the subscriber of the flags, as ever.
  const hasSubscribers = plan.subscriber !== undefined || (await hasStored(stateFolder))
  const certificate = plan.tls === undefined ? undefined : readServerCertificate(plan.tls)
  const service = await startService({
    ...basics,
    modelFolders: plan.modelFolders.length === 0 ? [sampleModels()] : plan.modelFolders,
    tenants: plan.tenants,
    grantedTenants: true,
    clients: plan.subscriber === undefined ? undefined : await onlySubscriber(plan.subscriber, plan.tenants),
    certificate,
  })
  return {
    service,
    hasSubscribers,
    access: {
      authUrl: service.authUrl,
      wsUrl: service.wsUrl,
      grpc: service.grpcAddress,
      ca: null,
      ...(plan.subscriber === undefined ? {} : { clientId: plan.subscriber.clientId }),
      tenant: plan.tenants[0] ?? 'Default',
      project: 'transcribe',
      model: service.defaultModel ?? '',
      ...operationsOf(service),
    },
  }
}

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

/** Whether a subscription of the store is in force now. */
export const hasStored = async (stateFolder: string): Promise<boolean> => {
  const store = await openIdentityStore({ stateFolder })
  try {
    return store.list().some((one) => isInForce(one, Date.now()))
  } finally {
    store.close()
  }
}

const operationsOf = ({ operationsUrl }: Service): { readonly operations?: string } =>
  operationsUrl === undefined ? {} : { operations: operationsUrl }

/** Reads both files. Throws `invalid-options` that names the one that is no good. */
export const readServerCertificate = (files: {
  readonly certFile: string
  readonly keyFile: string
}): ServerCertificate => {
  const { certFile, keyFile } = files
  const certificate = readCertificates('--cert', certFile)
  const key = readFlagFile('--key', keyFile)
  try {
    createPrivateKey(key)
  } catch {
    // Without the cause: it is about a secret.
    throw usageError(`--key names ${keyFile}, which holds no private key in PEM that can be read without a passphrase.`)
  }
  return { certificate, key }
}
