import { hashSecret } from '../../service/identity/clients/client-secret.js'
import type { CustomNodeSource } from '../../service/custom-nodes/custom-node-source.js'
import { makePrivateFolder } from '../../service/identity/state/state-files.js'
import { everything, memoryClients, type ClientRegistration } from '../../service/identity/clients/client.js'
import type { Logger } from '../../service/operations/logger.js'
import type { ServiceOptions } from '../../service/start/service-options.js'
import { startService } from '../../service/start/service.js'
import type { CustomNode } from '../../service/configuration/service-configuration.js'
import { usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import { sampleModels } from '../process/package-files.js'
import { revealSecret, type LoadedConfiguration } from './load-configuration.js'
import { readServerCertificate, hasStored, type PlannedService } from './start-planned.js'

/** Starts the service as its file says. Rejects with `invalid-options` or `listen-failed`, and then nothing is left open. */
export const startConfigured = async (
  loaded: LoadedConfiguration,
  logger: Logger,
  env: Host['env'],
): Promise<PlannedService> => {
  const options = await serviceOptions(loaded, env)
  await makePrivateFolder(options.stateFolder).catch((error: unknown) => {
    throw usageError(`${loaded.file}: stateFolder ${options.stateFolder} cannot be used as a folder.`, error)
  })
  const [first] = loaded.values.subscriptions ?? []
  const hasSubscribers = first !== undefined || (await hasStored(options.stateFolder))
  const service = await startService({ ...options, logger })
  return {
    service,
    hasSubscribers,
    access: {
      authUrl: service.authUrl,
      wsUrl: service.wsUrl,
      grpc: service.grpcAddress,
      ca: null,
      ...(first?.clientId === undefined ? {} : { clientId: first.clientId }),
      tenant: options.tenants?.[0] ?? 'Default',
      project: 'transcribe',
      model: service.defaultModel ?? '',
      ...(service.operationsUrl === undefined ? {} : { operations: service.operationsUrl }),
    },
  }
}

/** Everything that the file says and the service takes; reads certificates and secrets. */
export const serviceOptions = async (
  loaded: LoadedConfiguration,
  env: Host['env'],
): Promise<ServiceOptions & { readonly stateFolder: string }> => {
  const { values, path } = loaded
  const {
    http,
    grpc,
    operations,
    tenants,
    reflection,
    allowQueryToken,
    trustedProxies,
    proxyProtocol,
    models,
    projects,
    nodes,
    tls,
  } = values
  const { issuer, failuresPerMinute, ...identity } = values.identity ?? {}
  const { maxMessageBytes, drainMs: _drain, ...limits } = values.limits ?? {}
  const clients = await clientsOf(loaded, env)
  return {
    stateFolder: path(values.stateFolder ?? '.rxspeech'),
    modelFolders: models?.folders?.map(path) ?? [sampleModels()],
    limits,
    env,
    projectFolders: projects?.folders?.map(path),
    customNodes: nodes?.map((node) => customNodeOf(node, loaded)),
    recordingsFolder: projects?.recordingsFolder === undefined ? undefined : path(projects.recordingsFolder),
    identity: { ...identity, bruteForce: failuresPerMinute === undefined ? undefined : { failuresPerMinute } },
    clients: clients.length === 0 ? undefined : memoryClients(clients),
    ...{ http, grpc, operations, tenants, issuer, reflection },
    ...{ allowQueryToken, trustedProxies, proxyProtocol, maxMessageBytes },
    defaultModel: models?.defaultModel,
    certificate:
      tls?.certificateFile === undefined || tls.keyFile === undefined
        ? undefined
        : readServerCertificate({ certFile: path(tls.certificateFile), keyFile: path(tls.keyFile) }),
  }
}

const customNodeOf = (
  { file, package: name, ...host }: CustomNode,
  { path }: LoadedConfiguration,
): CustomNodeSource => {
  const given = { ...host, from: path('.') }
  // One of the two is there, or the file would not have been loaded.
  return name === undefined ? { ...given, file: file ?? '' } : { ...given, package: name }
}

const clientsOf = (loaded: LoadedConfiguration, env: Host['env']): Promise<readonly ClientRegistration[]> =>
  Promise.all(
    (loaded.values.subscriptions ?? []).map(
      async ({ clientId = '', secret = { env: '' }, tenants, projects, models }): Promise<ClientRegistration> => ({
        clientId,
        secretHash: await hashSecret(revealSecret(secret, loaded, env)),
        tenants: tenants ?? [everything],
        projects: projects ?? [everything],
        models: models ?? [everything],
        validFromMs: 0,
        validUntilMs: Number.MAX_SAFE_INTEGER,
        cancelled: false,
      }),
    ),
  )
