import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { either } from 'fp-ts'
import { readConfiguration, type ConfigurationFault } from '../../service/configuration/read-configuration.js'
import type { CustomNode, NatsValues, ServiceConfiguration } from '../../service/configuration/service-configuration.js'
import type { SecretSource } from '../../service/configuration/settings.js'
import { hashSecret, minSecretLength } from '../../service/identity/clients/client-secret.js'
import type { CustomNodeSource } from '../../service/custom-nodes/custom-node-source.js'
import type { IdentityNatsOptions } from '../../service/identity/shared/connect.js'
import { checkNatsOptions, type NatsOptions } from '../../service/nats/nats-options.js'
import { makePrivateFolder } from '../../service/identity/state/state-files.js'
import { everything, memoryClients, type ClientRegistration } from '../../service/identity/clients/client.js'
import type { Logger } from '../../service/operations/logger.js'
import type { ServiceOptions } from '../../service/start/service-options.js'
import { startService } from '../../service/start/service.js'
import { exitCode, SilentExit, usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import { sampleCall, sampleModels, studioFolder } from '../process/package-files.js'
import { readServerCertificate } from './certificate-files.js'
import { accessOf, hasStored, type StartedService } from './start-planned.js'

/** A configuration file, checked. */
export interface LoadedConfiguration {
  readonly file: string
  readonly values: ServiceConfiguration
  /** The absolute path; relative ones begin at the folder of the file. */
  readonly path: (path: string) => string
}

/** A file with faults; each is a line `FILE:LINE:COLUMN: key: sentence`. */
class ConfigurationFaults extends Error {
  override readonly name = 'ConfigurationFaults'
  readonly lines: readonly string[]

  constructor(file: string, faults: readonly ConfigurationFault[]) {
    super(`${file} has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}; nothing was started.`)
    this.lines = faults.map(
      ({ line, column, key, sentence }) => `${file}:${line}:${column}: ${key === '' ? '' : `${key}: `}${sentence}`,
    )
  }
}

/** Reads and checks the file. Rejects with `ConfigurationFaults`, `invalid-options` or `missing-dependency`. */
const loadConfiguration = async (file: string): Promise<LoadedConfiguration> => {
  const read = await readConfiguration(readText('--config', file))
  if (either.isLeft(read)) throw new ConfigurationFaults(file, read.left)
  const folder = dirname(resolve(file))
  return { file, values: read.right, path: (path) => resolve(folder, path) }
}

/** The same; if the file has faults, the command ends with a line for each of them. */
export const readConfigured = async (file: string, { stderr }: Pick<Host, 'stderr'>): Promise<LoadedConfiguration> => {
  try {
    return await loadConfiguration(file)
  } catch (error) {
    if (!(error instanceof ConfigurationFaults)) throw error
    for (const line of error.lines) stderr.write(`${line}\n`)
    stderr.write(`rxspeech: ${error.message}\n`)
    throw new SilentExit(exitCode.usage)
  }
}

const readText = (what: string, file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw usageError(`${what} names ${file}, which cannot be read; check the path and its rights.`, error)
  }
}

/**
 * Starts the service of the file. Rejects with `invalid-options` or `listen-failed`, and closes everything it has
 * opened.
 */
export const startConfigured = async (
  loaded: LoadedConfiguration,
  logger: Logger,
  env: Host['env'],
): Promise<StartedService> => {
  const options = await serviceOptions(loaded, env)
  const isShared = options.identity?.nats !== undefined
  if (!isShared) {
    await makePrivateFolder(options.stateFolder).catch((error: unknown) => {
      throw usageError(`${loaded.file}: stateFolder ${options.stateFolder} cannot be used as a folder.`, error)
    })
  }
  const [first] = loaded.values.subscriptions ?? []
  const hasSubscribers = first !== undefined || isShared || (await hasStored(options.stateFolder))
  const service = await startService({ ...options, logger })
  const access = accessOf(service, first?.clientId, options.tenants ?? [], options.studio !== undefined)
  return { service, hasSubscribers, movedPorts: [], access }
}

/** The options of the service that the file sets; reads certificates and secrets. */
export const serviceOptions = async (
  loaded: LoadedConfiguration,
  env: Host['env'],
): Promise<ServiceOptions & { readonly stateFolder: string }> => {
  const { values, path } = loaded
  const { models, projects, nodes, tls } = values
  const { issuer, failuresPerMinute, keysFile, nats, ...identity } = values.identity ?? {}
  const { maxMessageBytes, drainMs: _drain, ...limits } = values.limits ?? {}
  const clients = await clientsOf(loaded, env)
  return {
    stateFolder: path(values.stateFolder ?? '.rxspeech'),
    modelFolders: models?.folders?.map(path) ?? [sampleModels()],
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
    studio: values.studio === true ? { folder: studioFolder(), sampleCall: sampleCall() } : undefined,
    allowQueryToken: values.allowQueryToken,
    trustedProxies: values.trustedProxies,
    proxyProtocol: values.proxyProtocol,
    maxMessageBytes,
    defaultModel: models?.defaultModel,
    certificate:
      tls?.certificateFile === undefined || tls.keyFile === undefined
        ? undefined
        : readServerCertificate({ certFile: path(tls.certificateFile), keyFile: path(tls.keyFile) }),
  }
}

/** The connection to NATS that the file names; reads its secrets and certificates. Throws `invalid-options`. */
const natsOptions = (
  { servers = [], user, password, credentialsFile, caFile, certificateFile, keyFile, insecure }: NatsValues,
  loaded: LoadedConfiguration,
  env: Host['env'],
): NatsOptions => {
  const read = (key: string, file: string | undefined): string | undefined =>
    file === undefined ? undefined : readText(`${loaded.file}: ${key}`, loaded.path(file))
  return checkNatsOptions({
    servers,
    user,
    password: password && readSecret(password, loaded, env),
    credentials: read('credentialsFile', credentialsFile),
    ca: read('caFile', caFile),
    certificate: read('certificateFile', certificateFile),
    key: read('keyFile', keyFile),
    insecure,
  })
}

type IdentityNatsValues = NonNullable<NonNullable<ServiceConfiguration['identity']>['nats']>

/** The servers of `identity.nats`. Throws `invalid-options`. */
export const identityNats = (
  { bucket, replicas, ...nats }: IdentityNatsValues,
  loaded: LoadedConfiguration,
  env: Host['env'],
): IdentityNatsOptions => ({ ...natsOptions(nats, loaded, env), bucket, replicas })

const customNodeOf = (
  { file, package: name, ...host }: CustomNode,
  { path }: LoadedConfiguration,
): CustomNodeSource => {
  const given = { ...host, from: path('.') }
  // The check of the file has found one of the two.
  return name === undefined ? { ...given, file: file ?? '' } : { ...given, package: name }
}

const clientsOf = (loaded: LoadedConfiguration, env: Host['env']): Promise<readonly ClientRegistration[]> =>
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
        secretHash: await hashSecret(readSecret(secret, loaded, env)),
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

/** The secret itself. Throws `invalid-options` that says where it is missing. */
const readSecret = (
  source: SecretSource,
  { file, path }: LoadedConfiguration,
  env: Readonly<Record<string, string | undefined>>,
): string => {
  const where = 'env' in source ? `the variable ${source.env}` : `the file ${source.file}`
  const secret = 'env' in source ? (env[source.env] ?? '') : readText(`${file}: a secret`, path(source.file)).trim()
  if (secret.length < minSecretLength) {
    throw usageError(`${file}: ${where} must contain a secret of at least ${minSecretLength} characters.`)
  }
  return secret
}
