import { createPrivateKey } from 'node:crypto'
import { resolve } from 'node:path'
import { startDevelopmentService } from '../../service/development-service.js'
import { hashSecret } from '../../service/identity/client-secret.js'
import { makePrivateFolder } from '../../service/identity/private-folder.js'
import { everything, memorySubscriptions } from '../../service/identity/subscription.js'
import type { ServerCertificate } from '../../service/listen/listen-address.js'
import { startService, type Service } from '../../service/service.js'
import { usageError } from '../process/failure.js'
import type { ServePlan } from './serve-plan.js'
import { sampleModels } from '../process/package-files.js'
import { readCertificates, readFlagFile } from './read-certificates.js'

/** A service that listens, and what its clients need to know; the secret only where it is of the service's own making. */
export interface PlannedService {
  readonly service: Service
  readonly access: {
    readonly authUrl: string
    readonly wsUrl: string
    readonly grpc: string
    /** Absolute path of the CA certificate, PEM; null where the certificate is of another CA, or there is none. */
    readonly ca: string | null
    readonly clientId: string
    readonly clientSecret?: string
    readonly tenant: string
    readonly project: string
    readonly model: string
  }
}

/** Starts the service as planned. Rejects with `invalid-options` or `listen-failed`, and then nothing is left open. */
export const startPlanned = async (plan: ServePlan, onFault: (error: unknown) => void): Promise<PlannedService> => {
  const stateFolder = resolve(plan.stateFolder)
  await makePrivateFolder(stateFolder).catch((error: unknown) => {
    throw usageError(`--state names ${plan.stateFolder}, which cannot be used as a folder; choose another.`, error)
  })
  const basics = {
    http: plan.http,
    grpc: plan.grpc,
    stateFolder,
    onFault,
    ...(plan.model === undefined ? {} : { defaultModel: plan.model }),
  }
  if (plan.mode === 'development') {
    const service = await startDevelopmentService({ ...basics, modelFolders: [...plan.modelFolders, sampleModels()] })
    return { service, access: service.access }
  }
  const certificate = plan.tls === undefined ? undefined : readCertificate(plan.tls)
  const service = await startService({
    ...basics,
    modelFolders: plan.modelFolders.length === 0 ? [sampleModels()] : plan.modelFolders,
    tenants: plan.tenants,
    subscriptions: memorySubscriptions([
      {
        clientId: plan.clientId,
        secretHash: await hashSecret(plan.clientSecret),
        tenants: plan.tenants,
        projects: [everything],
        models: [everything],
        validFromMs: 0,
        validUntilMs: Number.MAX_SAFE_INTEGER,
        cancelled: false,
      },
    ]),
    ...(certificate === undefined ? {} : { certificate }),
  })
  return {
    service,
    access: {
      authUrl: service.authUrl,
      wsUrl: service.wsUrl,
      grpc: service.grpcAddress,
      ca: null,
      clientId: plan.clientId,
      tenant: plan.tenants[0] ?? 'Default',
      project: 'transcribe',
      model: service.defaultModel ?? '',
    },
  }
}

const readCertificate = ({ certFile, keyFile }: { certFile: string; keyFile: string }): ServerCertificate => {
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
