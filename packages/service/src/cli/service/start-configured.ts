import type { ServiceConfiguration } from '../../configuration/service-configuration.js'
import type { NatsEnginesOptions } from 'rxspeech-nats/engines/fleet-options'
import type { IdentityNatsOptions } from 'rxspeech-nats/identity/connect'
import { hashSecret, minSecretLength } from 'rxspeech-server/identity/clients/client-secret'
import { type ClientRegistration, everything, memoryClients } from 'rxspeech-server/identity/clients/client'
import { makePrivateFolder } from 'rxspeech-server/identity/state/state-files'
import type { Logger } from 'rxspeech-server/operations/logger'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import { optionsOfFile } from '../../configuration/option-row.js'
import { serviceRows, type ServiceOptions } from '../../configuration/service-options.js'
import { startService } from '../../start/service.js'
import { usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import { studioFolder } from '../../start/running-service.js'
import { packageModels, sampleCall, sampleModel } from '../process/package-files.js'
import { certificateOfFile } from './certificate-files.js'
import { readConfiguration } from '../../configuration/read-configuration.js'
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
  const { engines, tls } = values
  const { issuer: _issuer, failuresPerMinute, keysFile, nats, ...identity } = values.identity ?? {}
  const { maxMessageBytes: _maxMessageBytes, drainMs: _drainMs, ...limits } = values.limits ?? {}
  const clients = await clientsOf(loaded, env)
  const options = optionsOfFile(serviceRows, values, path)
  return {
    ...options,
    stateFolder: options.stateFolder ?? path('.rxspeech'),
    modelFolders: options.modelFolders ?? (engines?.nats === undefined ? packageModels() : []),
    natsEngines: engines?.nats && natsEngines(engines.nats, loaded, env),
    limits,
    env,
    identity: {
      ...identity,
      keysFile: keysFile === undefined ? undefined : path(keysFile),
      nats: nats && identityNats(nats, loaded, env),
      bruteForce: failuresPerMinute === undefined ? undefined : { failuresPerMinute },
    },
    clients: clients.length === 0 ? undefined : memoryClients(clients),
    studio:
      values.studio === true
        ? { folder: studioFolder(), sampleCall: sampleCall(), sampleModel: sampleModel() }
        : undefined,
    certificate: certificateOfFile(tls, path),
  }
}

type IdentityNatsValues = NonNullable<NonNullable<ServiceConfiguration['identity']>['nats']>

/** The servers of `identity.nats`. Throws `invalid-options`. */
export const identityNats = (
  { bucket, replicas, ...nats }: IdentityNatsValues,
  loaded: Loaded,
  env: Host['env'],
): IdentityNatsOptions => ({ ...natsOfFile(nats, loaded, env), bucket, replicas })

type NatsEnginesValues = NonNullable<NonNullable<ServiceConfiguration['engines']>['nats']>

const natsEngines = (
  { name, region, otherRegions, models, waitMs, ...nats }: NatsEnginesValues,
  loaded: Loaded,
  env: Host['env'],
): NatsEnginesOptions => ({ ...natsOfFile(nats, loaded, env), name, region, otherRegions, models, waitMs })

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
