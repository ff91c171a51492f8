import { createServer } from 'node:net'
import { resolve } from 'node:path'
import { isInForce } from 'rxspeech-server/identity/clients/client'
import { openIdentityStore } from 'rxspeech-server/identity/identity-store'
import { OriginConflict } from 'rxspeech-server/identity/state/issuer-lock'
import { makePrivateFolder } from 'rxspeech-server/identity/state/state-files'
import type { Logger } from 'rxspeech-server/operations/logger'
import { isSpeechError, type SpeechError } from 'rxspeech/internal/errors/speech-error'
import { type ListenAddress, listenOnPort } from 'rxspeech/internal/transport/listen-address'
import { soleClient } from '../../start/sole-client.js'
import { startDevelopmentService } from '../../start/development-service.js'
import { type Service, studioFolder } from '../../start/running-service.js'
import type { ServiceOptions } from '../../configuration/service-options.js'
import { startService } from '../../start/service.js'
import { usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import { packageModels, sampleCall, sampleModel } from '../process/package-files.js'
import { readServerCertificate, type CertificateFiles } from './certificate-files.js'

export type PortName = 'http' | 'plainHttp' | 'grpc'

/** A free port in place of a preset one. */
export interface MovedPort {
  readonly name: PortName
  readonly from: number
}

/** What flags set of the options of a service. */
export interface PlannedOptions extends ServiceOptions {
  readonly http: ListenAddress
  readonly grpc: ListenAddress
  readonly stateFolder: string
}

/** The plan of both kinds of service. */
export interface ServeBasics {
  readonly options: PlannedOptions
  /** Those of `http`, `plainHttp` and `grpc` with a default port: if it is taken, a free one is used. */
  readonly preset?: readonly PortName[] | undefined
  /** Whether the page that shows sessions is served. */
  readonly hasStudio: boolean
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
  /** Ports that were taken. */
  readonly movedPorts: readonly MovedPort[]
  /** The state folder, in which `rxspeech reload` finds the service; undefined if it has none. */
  readonly stateFolder: string | undefined
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
    /** The file with all of this, of a development service. */
    readonly credentials?: string | undefined
    /** The addresses without TLS, if there are any. */
    readonly plainAuthUrl?: string | undefined
    readonly plainWsUrl?: string | undefined
    /** The page that shows sessions, if it is served. */
    readonly pageUrl?: string | undefined
  }
}

/**
 * Starts the service as planned. Rejects with `invalid-options` or `listen-failed`, and closes everything it has
 * opened.
 */
export const startPlanned = async (plan: ServePlan, logger: Logger, env: Host['env']): Promise<StartedService> => {
  const stateFolder = resolve(plan.options.stateFolder)
  await makePrivateFolder(stateFolder).catch((error: unknown) => {
    if (isSpeechError(error)) throw error
    throw usageError(
      `--state names ${plan.options.stateFolder}, which cannot be used as a folder; choose another.`,
      error,
    )
  })
  const studio = plan.hasStudio
    ? { folder: studioFolder(), sampleCall: sampleCall(), sampleModel: sampleModel() }
    : undefined
  const { recordingsFolder, modelFolders } = plan.options
  const basics = {
    ...plan.options,
    studio,
    stateFolder,
    logger,
    env,
    recordingsFolder: recordingsFolder === undefined ? undefined : resolve(recordingsFolder),
  }
  if (plan.mode === 'development') {
    const { service, movedPorts } = await onFreePorts(plan, (addresses) =>
      startDevelopmentService({ ...basics, ...addresses, modelFolders: [...modelFolders, ...packageModels()] }),
    ).catch((error: unknown) => {
      throw error instanceof OriginConflict ? usedFolder(plan.options.stateFolder, error) : error
    })
    const access = { ...service.access, operations: service.operationsUrl }
    return { service, hasSubscribers: true, movedPorts, stateFolder, access }
  }
  const hasSubscribers = plan.subscriber !== undefined || (await hasStored(stateFolder))
  const service = await startService({
    ...basics,
    modelFolders: modelFolders.length === 0 ? packageModels() : modelFolders,
    tenants: plan.tenants,
    grantedTenants: true,
    clients: plan.subscriber && (await soleClient(plan.subscriber, plan.tenants)),
    certificate: plan.tls && readServerCertificate(plan.tls),
  })
  const access = accessOf(service, plan.subscriber?.clientId, plan.tenants, plan.hasStudio)
  return { service, hasSubscribers, movedPorts: [], stateFolder, access }
}

/** How often another process may take a port between the check and the start. */
const maxStarts = 3

type Addresses = Pick<PlannedOptions, PortName>

/** Starts a service on its preset ports, with a free one in place of each that is taken. */
export const onFreePorts = async <Started>(
  { options, preset = [] }: { readonly options: Addresses } & Pick<ServeBasics, 'preset'>,
  start: (addresses: Addresses) => Promise<Started>,
): Promise<{ readonly service: Started; readonly movedPorts: readonly MovedPort[] }> => {
  const { http, plainHttp, grpc } = options
  for (let starts = 1; ; starts += 1) {
    const movedPorts: MovedPort[] = []
    for (const name of preset) {
      const address = options[name]
      if (address !== undefined && !(await isFree(address))) movedPorts.push({ name, from: address.port })
    }
    const addressOf = (name: PortName, address: ListenAddress): ListenAddress =>
      movedPorts.some((moved) => moved.name === name) ? { ...address, port: 0 } : address
    const addresses = {
      http: addressOf('http', http),
      grpc: addressOf('grpc', grpc),
      plainHttp: plainHttp && addressOf('plainHttp', plainHttp),
    }
    try {
      return { service: await start(addresses), movedPorts }
    } catch (error) {
      if (!isSpeechError(error) || error.code !== 'listen-failed' || preset.length === 0 || starts === maxStarts)
        throw error
    }
  }
}

const isFree = async ({ host, port }: ListenAddress): Promise<boolean> => {
  const server = createServer()
  try {
    await listenOnPort(server, { host, port })
    await new Promise((resolve) => server.close(resolve))
    return true
  } catch {
    return false
  }
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
  hasStudio: boolean,
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
  ...(hasStudio && { pageUrl: `${service.authUrl}/` }),
})

/** Whether a subscription of the store is valid now. */
export const hasStored = async (stateFolder: string): Promise<boolean> => {
  const store = await openIdentityStore({ stateFolder })
  try {
    return store.list().some((subscription) => isInForce(subscription, Date.now()))
  } finally {
    store.close()
  }
}
