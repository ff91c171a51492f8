import type { CustomNode, ServiceConfiguration } from '../../service/configuration/service-configuration.js'
import { hashSecret, minSecretLength } from '../../service/identity/clients/client-secret.js'
import type { CustomNodeSource } from '../../service/custom-nodes/custom-node-source.js'
import type { IdentityNatsOptions } from '../../service/identity/shared/connect.js'
import { isSpeechError } from '../../errors/speech-error.js'
import { makePrivateFolder } from '../../service/identity/state/state-files.js'
import { everything, memoryClients, type ClientRegistration } from '../../service/identity/clients/client.js'
import type { Logger } from '../../service/operations/logger.js'
import type { ServiceOptions } from '../../service/start/service-options.js'
import { startService } from '../../service/start/service.js'
import { usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import { packageModels, sampleCall, sampleModel, studioFolder } from '../process/package-files.js'
import { readServerCertificate } from './certificate-files.js'
import { readConfiguration } from '../../service/configuration/read-configuration.js'
import { readConfigurationFile, readSecret, type LoadedConfiguration } from './configuration-file.js'
import { natsOfFile } from './nats-settings.js'
import { accessOf, hasStored, type StartedService } from './start-planned.js'

type Loaded = LoadedConfiguration<ServiceConfiguration>

/** Reads the file of `--config`; if it has faults, the command ends with a line for each of them. */
export const readConfigured = (file: string, host: Pick<Host, 'stderr'>): Promise<Loaded> =>
  readConfigurationFile(file, readConfiguration, host)

/**
 * Starts the service of the file. Rejects with `invalid-options` or `listen-failed`, and closes everything it has
 * opened.
 */
export const startConfigured = async (loaded: Loaded, logger: Logger, env: Host['env']): Promise<StartedService> => {
  const options = await serviceOptions(loaded, env)
  const isShared = options.identity?.nats !== undefined
  if (!isShared) {
    await makePrivateFolder(options.stateFolder).catch((error: unknown) => {
      if (isSpeechError(error)) throw error
      throw usageError(`${loaded.file}: stateFolder ${options.stateFolder} cannot be used as a folder.`, error)
    })
  }
  const [first] = loaded.values.subscriptions ?? []
  const hasSubscribers = first !== undefined || isShared || (await hasStored(options.stateFolder))
  const service = await startService({ ...options, logger })
  const access = accessOf(service, first?.clientId, options.tenants ?? [], options.studio !== undefined)
  // Beside an identity in NATS the folder is not needed for anything else.
  const stateFolder = isShared && loaded.values.stateFolder === undefined ? undefined : options.stateFolder
  return { service, hasSubscribers, movedPorts: [], stateFolder, access }
}

/** The options of the service that the file sets; reads certificates and secrets. */
export const serviceOptions = async (
  loaded: Loaded,
  env: Host['env'],
): Promise<ServiceOptions & { readonly stateFolder: string }> => {
  const { values, path } = loaded
  const { models, engines, projects, nodes, tls } = values
  const { issuer, failuresPerMinute, keysFile, nats, ...identity } = values.identity ?? {}
  const { maxMessageBytes, drainMs: _drain, ...limits } = values.limits ?? {}
  const clients = await clientsOf(loaded, env)
  return {
    stateFolder: path(values.stateFolder ?? '.rxspeech'),
    modelFolders: models?.folders?.map(path) ?? (engines?.nats === undefined ? packageModels() : []),
    natsEngines: engines?.nats && { ...natsOfFile(engines.nats, loaded, env), ...fleetOf(engines.nats) },
    limits,
    env,
    identity: {
      ...identity,
      keysFile: keysFile === undefined ? undefined : path(keysFile),
      nats: nats && identityNats(nats, loaded, env),
      bruteForce: failuresPerMinute === undefined ? undefined : { failuresPerMinute },
    },
    projectFolders: projects?.folders?.map(path),
    customNodes: nodes?.map((node) => customNodeOf(node, loaded)),
    recordingsFolder: projects?.recordingsFolder === undefined ? undefined : path(projects.recordingsFolder),
    clients: clients.length === 0 ? undefined : memoryClients(clients),
    http: values.http,
    grpc: values.grpc,
    operations: values.operations,
    workers: values.workers,
    tenants: values.tenants,
    issuer,
    reflection: values.reflection,
    studio:
      values.studio === true
        ? { folder: studioFolder(), sampleCall: sampleCall(), sampleModel: sampleModel() }
        : undefined,
    allowQueryToken: values.allowQueryToken,
    trustedProxies: values.trustedProxies,
    proxyProtocol: values.proxyProtocol,
    maxMessageBytes,
    preload: models?.preload,
    idleMinutes: models?.idleMinutes,
    defaultModel: models?.defaultModel,
    certificate:
      tls?.certificateFile === undefined || tls.keyFile === undefined
        ? undefined
        : readServerCertificate({ certFile: path(tls.certificateFile), keyFile: path(tls.keyFile) }),
  }
}

type IdentityNatsValues = NonNullable<NonNullable<ServiceConfiguration['identity']>['nats']>

/** The servers of `identity.nats`. Throws `invalid-options`. */
export const identityNats = (
  { bucket, replicas, ...nats }: IdentityNatsValues,
  loaded: Loaded,
  env: Host['env'],
): IdentityNatsOptions => ({ ...natsOfFile(nats, loaded, env), bucket, replicas })

type NatsEngines = NonNullable<NonNullable<ServiceConfiguration['engines']>['nats']>

const fleetOf = ({ name, region, otherRegions, models, waitMs }: NatsEngines) => ({
  ...{ name, region, otherRegions, models, waitMs },
})

const customNodeOf = ({ file, package: name, ...host }: CustomNode, { path }: Loaded): CustomNodeSource => {
  const given = { ...host, from: path('.') }
  // The check of the file has found one of the two.
  return name === undefined ? { ...given, file: file ?? '' } : { ...given, package: name }
}

const clientsOf = (loaded: Loaded, env: Host['env']): Promise<readonly ClientRegistration[]> =>
  Promise.all(
    (loaded.values.subscriptions ?? []).map(
      async ({
        clientId = '',
        secret = { env: '' },
        tenants,
        projects,
        models,
        tokenLifetimeSeconds,
      }): Promise<ClientRegistration> => ({
        clientId,
        secretHash: await hashSecret(readSecret(secret, loaded, { env, minLength: minSecretLength })),
        tenants: tenants ?? [everything],
        projects: projects ?? [everything],
        models: models ?? [everything],
        validFromMs: 0,
        validUntilMs: Number.MAX_SAFE_INTEGER,
        cancelled: false,
        tokenLifetimeSeconds,
      }),
    ),
  )
