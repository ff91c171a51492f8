import { parseListenAddress, type ListenAddress } from '../../service/listen/listen-address.js'
import { logFormats, type LogFormat } from '../../service/configuration/service-configuration.js'
import { logLevels, type LogLevel } from '../../service/operations/logger.js'
import { usageError } from '../process/failure.js'
import type { ServeBasics, ServePlan } from '../service/serve-plan.js'
import { isLoopback } from '../../protocol/loopback.js'
import { customNodes } from './custom-node-flags.js'
import { choiceFlag, textFlag } from './flag-values.js'

export interface ServeFlags {
  readonly dev?: boolean
  readonly http?: string
  readonly grpc?: string
  readonly models?: readonly string[]
  readonly projects?: readonly string[]
  readonly nodes?: readonly string[]
  readonly recordings?: string
  readonly model?: string
  readonly state?: string
  readonly cert?: string
  readonly key?: string
  readonly clientId?: string
  readonly tenant?: readonly string[]
  readonly operations?: string
  readonly config?: string
  readonly check?: boolean
  readonly logLevel?: string
  readonly logFormat?: string
}

export interface LogPlan {
  readonly level?: LogLevel
  readonly format?: LogFormat
}

/** A secret that is shorter can be guessed. */
const shortestSecret = 16

/** Reads the flags. Throws `invalid-options` with a sentence that says what to give, before anything is opened. */
export const planServe = (flags: ServeFlags, env: Readonly<Record<string, string | undefined>>): ServePlan => {
  const model = textFlag('--model', flags.model)
  const recordingsFolder = textFlag('--recordings', flags.recordings)
  const basics: ServeBasics = {
    http: listenFlag('--http', flags.http),
    grpc: listenFlag('--grpc', flags.grpc),
    modelFolders: (flags.models ?? []).map((folder) => textFlag('--models', folder) ?? folder),
    projectFolders: (flags.projects ?? []).map((folder) => textFlag('--projects', folder) ?? folder),
    customNodes: customNodes(flags.nodes),
    stateFolder: textFlag('--state', flags.state) ?? '.rxspeech',
    ...(model === undefined ? {} : { model }),
    ...(recordingsFolder === undefined ? {} : { recordingsFolder }),
    ...(flags.operations === undefined ? {} : { operations: listenFlag('--operations', flags.operations) }),
  }
  return flags.dev === true ? planDevelopment(flags, basics) : planProduction(flags, basics, env)
}

/** How the log is to look; these flags go beside `--config`, too, and win. */
export const planLog = ({ logLevel, logFormat }: ServeFlags): LogPlan => {
  const level = choiceFlag('--log-level', logLevel, logLevels)
  const format = choiceFlag('--log-format', logFormat, logFormats)
  return { ...(level === undefined ? {} : { level }), ...(format === undefined ? {} : { format }) }
}

/** What the service is stands in one place: with `--config` no flag says otherwise, but for `--check` and the log. */
export const refuseBeside = (flags: ServeFlags): void => {
  const { config: _file, check: _check, logLevel: _level, logFormat: _format, ...others } = flags
  const [given] = Object.keys(others)
  if (given === undefined) return
  const flag = given.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  throw usageError(`--config says all there is to say; leave --${flag} out, or write it in the file.`)
}

const listenFlag = (flag: string, value: string | undefined): ListenAddress => {
  try {
    return parseListenAddress(value ?? '127.0.0.1:0')
  } catch (error) {
    throw usageError(`${flag} must be HOST:PORT, such as 127.0.0.1:0 or [::1]:8443.`, error)
  }
}

const planDevelopment = ({ cert, key, clientId, tenant }: ServeFlags, basics: ServeBasics): ServePlan => {
  if (cert !== undefined || key !== undefined || clientId !== undefined || (tenant ?? []).length > 0) {
    throw usageError(
      '--dev makes its own certificate and subscription; leave --cert, --key, --client-id and --tenant out.',
    )
  }
  for (const { host } of [basics.http, basics.grpc]) {
    if (!isLoopback(host)) throw usageError(`--dev is for this machine only; listen on 127.0.0.1, not on ${host}.`)
  }
  return { mode: 'development', ...basics }
}

const planProduction = (
  { cert, key, clientId, tenant = [] }: ServeFlags,
  basics: ServeBasics,
  env: Readonly<Record<string, string | undefined>>,
): ServePlan => {
  const certFile = textFlag('--cert', cert)
  const keyFile = textFlag('--key', key)
  if ((certFile === undefined) !== (keyFile === undefined))
    throw usageError('--cert and --key belong together; give both.')
  const remote = [basics.http, basics.grpc].find(({ host }) => !isLoopback(host))
  if (certFile === undefined && remote !== undefined) {
    throw usageError(`Listening on ${remote.host} needs TLS; give --cert and --key, or listen on loopback only.`)
  }
  const subscriber = subscriberOf(textFlag('--client-id', clientId), env)
  return {
    mode: 'production',
    ...basics,
    ...(certFile === undefined || keyFile === undefined ? {} : { tls: { certFile, keyFile } }),
    ...(subscriber === undefined ? {} : { subscriber }),
    tenants: tenant.length === 0 ? ['Default'] : tenant.map((name) => textFlag('--tenant', name) ?? name),
  }
}

const subscriberOf = (
  clientId: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): { readonly clientId: string; readonly clientSecret: string } | undefined => {
  if (clientId === undefined) return undefined
  const clientSecret = env['RXSPEECH_CLIENT_SECRET'] ?? ''
  if (clientSecret.length >= shortestSecret) return { clientId, clientSecret }
  throw usageError(
    `The subscriber needs a secret; set RXSPEECH_CLIENT_SECRET to at least ${shortestSecret} characters.`,
  )
}
