import { join } from 'node:path'
import { either } from 'fp-ts'
import * as t from 'io-ts'
import { minSecretLength, newClientSecret } from 'rxspeech-server/identity/clients/client-secret'
import { everything } from 'rxspeech-server/identity/clients/client'
import { developmentCertificates } from 'rxspeech-server/identity/keys/development-certificates'
import { readPrivateJson, stateFileError, writePrivateFile } from 'rxspeech-server/identity/state/state-files'
import { sharedTenant } from 'rxspeech-server/sessions/rights'
import { checkOptions, optionsCodec } from 'rxspeech/internal/protocol/validation'
import type { Service } from './running-service.js'
import { startService } from './service.js'
import { soleClient } from './sole-client.js'
import { codecsOfRows } from '../configuration/option-row.js'
import { serviceRows, type ServiceOptions } from '../configuration/service-options.js'

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
  /** The secret of the client, which is kept in the state folder. */
  readonly clientSecret: string
  /** The tenant of the projects and models. */
  readonly tenant: string
  /** The project that transcribes. */
  readonly project: string
  /** The model of sessions that name none; empty if there is no model. */
  readonly model: string
  /** The path of a file with all of this, which only its owner can read. */
  readonly credentials: string
  /** The base address of the token endpoint without TLS, if `plainHttp` is set. */
  readonly plainAuthUrl?: string | undefined
  /** The base address of the recognition socket without TLS, if `plainHttp` is set. */
  readonly plainWsUrl?: string | undefined
  /** The address of the page, if `studio` is set. */
  readonly pageUrl?: string | undefined
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
  modelFolders,
  stateFolder,
  certificate: _certificate,
  clients: _clients,
  development: _development,
  ...others
} = serviceRows

const developmentServiceOptions = optionsCodec(codecsOfRows({ modelFolders, stateFolder }), codecsOfRows(others))

const clientId = 'development'

/**
 * Starts the service for one developer: TLS with a development CA from the state folder, and one client with all
 * rights, whose secret is kept in the state folder. A page of `studio` has the rights of this client.
 *
 * @example
 * const service = await startDevelopmentService({ stateFolder: '.rxspeech', modelFolders: ['models'] })
 */
export const startDevelopmentService = async (options: DevelopmentServiceOptions): Promise<DevelopmentService> => {
  checkOptions(developmentServiceOptions, options)
  const certificates = await developmentCertificates(join(options.stateFolder, 'certificates'))
  const credentials = join(options.stateFolder, credentialsFile)
  const clientSecret = (await keptSecret(credentials)) ?? newClientSecret()
  const service = await startService({
    ...options,
    studio: options.studio && { clientId, ...options.studio },
    development: true,
    certificate: { certificate: certificates.certificate, key: certificates.key },
    clients: await soleClient({ clientId, clientSecret }, [everything]),
  })
  const { plainUrl, authUrl } = service
  const access: ServiceAccess = {
    authUrl: service.authUrl,
    wsUrl: service.wsUrl,
    grpc: service.grpcAddress,
    ca: certificates.caPath,
    clientId,
    clientSecret,
    tenant: options.tenants?.[0] ?? sharedTenant,
    project: 'transcribe',
    model: service.defaultModel ?? '',
    credentials,
    ...(plainUrl !== undefined && { plainAuthUrl: plainUrl, plainWsUrl: plainUrl.replace(/^http/, 'ws') }),
    ...(options.studio !== undefined && { pageUrl: `${plainUrl ?? authUrl}/` }),
  }
  // Only now: a service that does not start, because another one uses the folder, must not replace its file.
  await writePrivateFile(credentials, `${JSON.stringify(access, undefined, 2)}\n`).catch(async (error: unknown) => {
    await service.close({ drainMs: 0 })
    throw stateFileError(error, credentialsFile)
  })
  return {
    ...service,
    get defaultModel() {
      return service.defaultModel
    },
    access,
  }
}

/** The file of the state folder with the access of the last start. */
const credentialsFile = 'development.json'

const secretCodec = t.type({ clientSecret: t.string })

/** The secret of the last start; undefined if there is none that can be used. */
const keptSecret = async (path: string): Promise<string | undefined> => {
  const kept = either.chain((json: unknown) => either.mapLeft(() => [])(secretCodec.decode(json)))(
    await readPrivateJson(path, undefined),
  )
  return either.isRight(kept) && kept.right.clientSecret.length >= minSecretLength ? kept.right.clientSecret : undefined
}
