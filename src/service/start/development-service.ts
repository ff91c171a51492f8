import { join } from 'node:path'
import { listOf } from '../../protocol/collections.js'
import { checkOptions, optionsOf, text } from '../../protocol/validation.js'
import { sharedTenant } from '../sessions/rights.js'
import { hashSecret, newClientSecret } from '../identity/clients/client-secret.js'
import { developmentCertificates } from '../identity/keys/development-certificates.js'
import { everything, memoryClients } from '../identity/clients/client.js'
import { startService, type Service } from './service.js'
import { serviceCodecs, type ServiceOptions } from './service-options.js'

/** Everything that a client needs to use the service. */
export interface ServiceAccess {
  /** The base address of the token endpoint. */
  readonly authUrl: string
  /** The base address of the recognition socket. */
  readonly wsUrl: string
  /** `host:port` of the dataflow stream. */
  readonly grpc: string
  /** The path of the CA certificate, PEM. */
  readonly ca: string
  /** The id of the client. */
  readonly clientId: string
  /** The secret of the client, which is new at each start. */
  readonly clientSecret: string
  /** The tenant of the projects and models. */
  readonly tenant: string
  /** The project that transcribes. */
  readonly project: string
  /** The model of sessions that name none; empty if there is no model. */
  readonly model: string
}

/** A service with what a client needs to use it. */
export interface DevelopmentService extends Service {
  /** The addresses, and a client with all rights. */
  readonly access: ServiceAccess
}

/** The options of `startService` that a service for one developer has. */
export interface DevelopmentServiceOptions extends Omit<ServiceOptions, 'clients' | 'certificate' | 'development'> {
  /** The folder of the development CA, its certificates and the signing keys. */
  readonly stateFolder: string
}

const {
  stateFolder,
  certificate: _certificate,
  clients: _clients,
  development: _development,
  ...others
} = serviceCodecs

const developmentServiceOptions = optionsOf<DevelopmentServiceOptions>()(
  { modelFolders: listOf(text), stateFolder },
  others,
)

const clientId = 'development'

/**
 * Starts the service for one developer: TLS with a development CA from the state folder, and one client with all rights,
 * whose secret is new at each start.
 *
 * @example
 * const service = await startDevelopmentService({ stateFolder: '.rxspeech', modelFolders: ['models'] })
 */
export const startDevelopmentService = async (options: DevelopmentServiceOptions): Promise<DevelopmentService> => {
  checkOptions(developmentServiceOptions, options)
  const certificates = await developmentCertificates(join(options.stateFolder, 'certificates'))
  const clientSecret = newClientSecret()
  const service = await startService({
    ...options,
    development: true,
    certificate: { certificate: certificates.certificate, key: certificates.key },
    clients: memoryClients([
      {
        clientId,
        secretHash: await hashSecret(clientSecret),
        tenants: [everything],
        projects: [everything],
        models: [everything],
        validFromMs: 0,
        validUntilMs: Number.MAX_SAFE_INTEGER,
        cancelled: false,
      },
    ]),
  })
  return {
    ...service,
    access: {
      authUrl: service.authUrl,
      wsUrl: service.wsUrl,
      grpc: service.grpcAddress,
      ca: certificates.caPath,
      clientId,
      clientSecret,
      tenant: options.tenants?.[0] ?? sharedTenant,
      project: 'transcribe',
      model: service.defaultModel ?? '',
    },
  }
}
