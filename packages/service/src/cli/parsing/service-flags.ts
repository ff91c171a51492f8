import { readFileSync } from 'node:fs'
import { either } from 'fp-ts'
import { codeOf } from 'rxspeech/internal/errors/speech-error'
import { decodeText } from 'rxspeech-engines/models/decode-text'
import { isLoopback } from 'rxspeech/internal/protocol/loopback'
import { parseJsonObject } from 'rxspeech/internal/protocol/parse-json'
import { nonEmptyText } from 'rxspeech/internal/protocol/validation'
import { usageError } from '../process/failure.js'
import type { ServiceAccess } from '../../start/development-service.js'
import type { ClientCredentials, Credentials } from '../service/access.js'
import type { RemotePlan, ServicePlan } from '../service/reach-service.js'
import { authUrl, grpcAddress, hostOf, proxyAddress, socketUrl } from './addresses.js'
import {
  flag,
  flagGroup,
  repeatedFlag,
  settable,
  switchFlag,
  withNegation,
  type FlagValues,
  type ParseValue,
} from './flags.js'
import { language, text, wholeNumber } from './values.js'

export type Environment = Readonly<Record<string, string | undefined>>

/** The flags of every command that prints JSON for programs. */
export const jsonFlag = switchFlag('print JSON')

/** The client that requests a token. */
export const clientFlags = {
  authUrl: settable(flag('<url>', 'base address of the token endpoint', authUrl), 'connection'),
  clientId: settable(flag('<id>', 'the client that requests the token', text), 'connection'),
  clientSecret: settable(flag('<secret>', 'its secret; RXSPEECH_CLIENT_SECRET is safer', text), 'connection', {
    isSecret: true,
  }),
}

/** The CA certificates of a service, and the proxy to it. */
export const caFlag = settable(flag('<file>', 'CA certificates in PEM, instead of those of Node', text), 'connection', {
  isPath: true,
})
export const proxyFlag = withNegation(
  flag('<url>', 'HTTP proxy to use (default: from HTTPS_PROXY and NO_PROXY)', proxyAddress),
  'use no proxy and ignore the environment',
)

const accessKeys = ['authUrl', 'wsUrl', 'grpc', 'ca', 'clientId', 'clientSecret'] as const

/** What the file of a development service has for a client. */
type AccessFile = Pick<ServiceAccess, (typeof accessKeys)[number]> & Partial<Pick<ServiceAccess, 'model'>>

/** Reads the file. Errors do not repeat its content, which has a secret. */
const accessFile: ParseValue<AccessFile> = (typed, name) => {
  let content: string
  try {
    content = decodeText(readFileSync(typed)) ?? ''
  } catch (error) {
    const sentence = `${name} names ${typed}, which cannot be read (${codeOf(error) ?? 'unknown'}); start the service, or correct the path.`
    throw usageError(sentence, error)
  }
  const json = parseJsonObject(content)
  const access = either.isRight(json) ? json.right : {}
  if (accessKeys.every((key) => nonEmptyText.is(access[key]))) return access as unknown as AccessFile
  throw usageError(`${name} names ${typed}, which is not the development.json of a service of serve --dev.`)
}

export const accessFlag = settable(
  flag('<file>', 'the development.json of serve --dev, in place of the others', accessFile),
  'service',
  { isPath: true },
)

interface AccessFlags extends ClientFlags {
  readonly access: AccessFile | undefined
  readonly ca: string | undefined
  readonly token?: string | undefined
}

/** The flags, with the client and the CA of the file where they say nothing. */
export const withAccess = <F extends AccessFlags>(flags: F): F => {
  const { access } = flags
  if (access === undefined) return flags
  const client = {
    authUrl: flags.authUrl ?? access.authUrl,
    clientId: flags.clientId ?? access.clientId,
    clientSecret: flags.clientSecret ?? access.clientSecret,
  }
  return { ...flags, ...(flags.token === undefined && client), ca: flags.ca ?? access.ca }
}

/** The address of another service, and the client of its tokens. */
export const serviceFlags = flagGroup('Another service:', {
  access: accessFlag,
  grpc: settable(flag('<host:port>', 'its gRPC address', grpcAddress), 'service'),
  url: settable(flag('<url>', 'its WebSocket address, wss://…', socketUrl), 'service'),
  ...clientFlags,
  token: settable(flag('<token>', 'an existing token; RXSPEECH_TOKEN is safer', text), 'connection', {
    isSecret: true,
  }),
  ca: caFlag,
  tenant: settable(flag('<name>', 'the tenant, also of the model (default: Default)', text), 'session'),
  project: settable(flag('<name>', 'the project of a gRPC session (default: transcribe)', text), 'session'),
  plaintext: switchFlag('no TLS for --grpc; on this machine only'),
  proxy: proxyFlag,
  timeoutMs: flag(
    '<ms>',
    'the limit of each wait: token, connection, start, final',
    wholeNumber({ min: 1, max: 86_400_000 }),
  ),
})

/** A folder of models, or several. */
export const modelsFlag = settable(
  repeatedFlag('<dir>', 'a folder of models, <tenant>/<name>/<version>/model.json; may be repeated', text),
  'models',
  { isPath: true },
)

/** The model of a session. */
export const modelFlags = {
  model: settable(
    flag('<name>', 'the model; required with --url (default: the only one of --models, or English)', text),
    'session',
  ),
  modelTenant: settable(flag('<name>', 'the tenant of the model (default: that of --tenant)', text), 'session'),
  models: modelsFlag,
}

/** What is spoken. */
export const languageFlags = {
  language: settable(
    flag(
      '<tag>',
      'the language of the speech, such as fr or pt-BR, for a model of several; auto if the model detects it (default: that of the model)',
      language,
    ),
    'command',
  ),
}

/** The environment keeps a secret out of the list of processes. An empty variable counts as not set. */
const fromEnvironment = (env: Environment, name: string): string | undefined =>
  env[name] === '' ? undefined : env[name]

type ClientFlags = FlagValues<typeof clientFlags>
type Transport = 'grpc' | 'websocket'
type ServiceFlags = FlagValues<typeof serviceFlags> & FlagValues<typeof modelFlags>

/** The client id and secret of the flags, or the secret of RXSPEECH_CLIENT_SECRET. Throws naming what is missing. */
export const clientCredentials = (flags: ClientFlags, env: Environment): ClientCredentials => {
  const { authUrl: url, clientId } = flags
  const clientSecret = flags.clientSecret ?? fromEnvironment(env, 'RXSPEECH_CLIENT_SECRET')
  if (url === undefined) throw usageError('A token comes from a token endpoint; set its address with --auth-url.')
  if (clientId === undefined) throw usageError('A token is for a client; set its id with --client-id.')
  if (clientSecret === undefined) {
    throw usageError('The client needs its secret; set RXSPEECH_CLIENT_SECRET or --client-secret.')
  }
  if (!/^[\x20-\x7e]+$/.test(clientSecret)) {
    throw usageError(
      'The client secret must be printable ASCII characters, without a line end; check where it was copied from.',
    )
  }
  return { type: 'client', authUrl: url, clientId, clientSecret }
}

const hasClient = ({ authUrl: url, clientId, clientSecret }: ClientFlags): boolean =>
  [url, clientId, clientSecret].some((value) => value !== undefined)

/** The credentials of a session: a token, or those of a client. Flags take precedence over the environment. */
const sessionCredentials = (flags: ServiceFlags, env: Environment): Credentials => {
  if (flags.token !== undefined && hasClient(flags)) {
    throw usageError('--token and the options that request one exclude each other; use either.')
  }
  if (hasClient(flags)) return clientCredentials(flags, env)
  const token = flags.token ?? fromEnvironment(env, 'RXSPEECH_TOKEN')
  if (token !== undefined && /^[\x21-\x7e]+$/.test(token)) return { type: 'token', token }
  if (token !== undefined)
    throw usageError('The token must be visible ASCII characters; check where it was copied from.')
  throw usageError(
    'The service requires a token; set --auth-url and --client-id with RXSPEECH_CLIENT_SECRET, or set RXSPEECH_TOKEN.',
  )
}

/** The flags with the address of the file for the transport, and the model that a WebSocket needs. */
const withAddress = (flags: ServiceFlags, over: Transport | undefined): ServiceFlags => {
  const { access, url, grpc, model } = flags
  if (access === undefined || (url ?? grpc) !== undefined) return flags
  if (over !== 'websocket') return { ...flags, grpc: access.grpc }
  // An empty model is none.
  const ofFile = access.model === '' ? undefined : access.model
  return { ...flags, url: access.wsUrl, model: model ?? ofFile }
}

/**
 * The service of the flags: another one if there is an address, otherwise the embedded one. Throws `invalid-options`.
 *
 * @param over selects among the addresses of `--access`; without it that of gRPC
 * @param hasDownloads whether recordings come through the proxy, too
 */
export const planService = (
  typed: ServiceFlags,
  env: Environment,
  over?: Transport,
  hasDownloads = false,
): ServicePlan => {
  const flags = withAddress(withAccess(typed), over)
  if (flags.url !== undefined || flags.grpc !== undefined) return planRemote(flags, env)
  return planEmbedded(hasDownloads ? { ...flags, proxy: undefined } : flags)
}

const planRemote = (flags: ServiceFlags, env: Environment): RemotePlan => {
  const { url, grpc, model, models, ca, proxy, tenant, project = 'transcribe' } = flags
  if (models.length > 0)
    throw usageError('--models is for the embedded service; the service at the address has its own.')
  if (model === undefined && flags.modelTenant !== undefined)
    throw usageError('--model-tenant needs a model; set it with --model.')
  return {
    where: 'elsewhere',
    url,
    grpc,
    isPlaintext: isPlaintext(flags),
    caFile: ca,
    proxy,
    credentials: sessionCredentials(flags, env),
    tenant: tenant ?? 'Default',
    project,
    model: model === undefined ? undefined : { name: model, tenant: flags.modelTenant ?? tenant },
  }
}

const planEmbedded = (flags: ServiceFlags): ServicePlan => {
  const { model, models, modelTenant, ca, plaintext, proxy, tenant, project = 'transcribe' } = flags
  if (hasClient(flags) || [flags.token, ca, proxy].some((value) => value !== undefined) || plaintext) {
    throw usageError(
      'Credentials, certificates and proxies are for another service; set its address with --grpc or --url.',
    )
  }
  return {
    where: 'here',
    modelFolders: models,
    project,
    tenant: tenant ?? 'Default',
    modelTenant: modelTenant ?? tenant,
    model,
  }
}

const isPlaintext = ({ plaintext, ca, url, grpc }: ServiceFlags): boolean => {
  if (!plaintext) return false
  if (grpc === undefined) throw usageError('--plaintext is for --grpc; for a socket without TLS use --url ws://….')
  if (!isLoopback(hostOf(grpc) ?? '')) {
    throw usageError('--plaintext is for a service on this machine only, otherwise the token could be read in transit.')
  }
  if (/^grpcs:/i.test(grpc)) throw usageError('--plaintext and grpcs:// exclude each other; use one of them.')
  if (ca !== undefined && url === undefined)
    throw usageError('--plaintext and --ca exclude each other; use one of them.')
  return true
}
