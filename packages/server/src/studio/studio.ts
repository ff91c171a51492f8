import type { IncomingMessage, ServerResponse } from 'node:http'
import { resolve, sep } from 'node:path'
import type { ModelDescription } from 'rxspeech-engines/engine'
import { takesPhrases, whatItReads } from 'rxspeech-engines/models/what-it-reads'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import { isLoopback } from 'rxspeech/internal/protocol/loopback'
import { nonEmptyText, optionsOf } from 'rxspeech/internal/protocol/validation'
import { isInForce, type ClientRegistration } from '../identity/clients/client.js'
import { noStoreHeaders, sendError, sendJson } from '../identity/http/responses.js'
import type { Identity } from '../identity/identity.js'
import { isGranted, isModelGranted, sharedTenant, type Rights } from '../sessions/rights.js'
import { pageHeaders } from './page-headers.js'
import { readStaticFile, readStaticFiles, sendStatic } from './static-files.js'

/** The page that shows a session. */
export interface StudioOptions {
  /** The folder of the built page, with `index.html`. */
  readonly folder: string
  /** A WAV file that the page offers for a first session. @default none */
  readonly sampleCall?: string | undefined
  /**
   * The folder of the model that recognizes that call, with `model.json`. The page plays the call with it, and does not
   * offer the call without it. @default none: the page plays the call with the model that is chosen
   */
  readonly sampleModel?: string | undefined
  /**
   * The client whose rights a page of this machine gets without presenting a token, for a single developer.
   * @default none: a person enters a token in the page
   */
  readonly clientId?: string | undefined
}

export const studioOptions = optionsOf<StudioOptions>()(
  { folder: nonEmptyText },
  { sampleCall: nonEmptyText, sampleModel: nonEmptyText, clientId: nonEmptyText },
)

/** What the page shows of the service. */
export interface StudioService {
  /** The addresses that it listens on, such as `https://127.0.0.1:8781`. */
  readonly urls: readonly string[]
  readonly identity: Pick<Identity, 'verify' | 'issuePageToken'>
  readonly findClient: (clientId: string) => ClientRegistration | undefined
  readonly models: { list(): readonly ModelDescription[] }
  readonly projects: { list(): readonly { readonly tenant: string; readonly name: string }[] }
  /** The metrics in the text format of Prometheus, if they are collected. */
  readonly scrape?: (() => Promise<{ readonly contentType: string; readonly body: string }>) | undefined
  /** The last hour of the service for its operators, if metrics are collected. */
  readonly report?: (() => Promise<object>) | undefined
  readonly addressOf: (request: IncomingMessage) => string | undefined
  readonly now: () => number
  readonly onFault: (error: unknown) => void
}

/** Answers the requests of the page. */
export interface Studio {
  /** Returns false, and does nothing, for a path that is not one of the page. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => Promise<boolean>
}

const tokenPath = '/studio/token'
const configPath = '/studio/config.json'
const callPath = '/studio/call.wav'
const metricsPath = '/metrics'
const operationsPath = '/operations.json'
const tokenLifetimeS = 600

/** Reads the files of the page. Rejects if they cannot be read; a page that is not built is a 404 with its reason. */
export const openStudio = async (options: StudioOptions, service: StudioService): Promise<Studio> => {
  const { folder, clientId } = options
  const built = await readStaticFiles(folder)
  const call = options.sampleCall === undefined ? undefined : await readStaticFile(options.sampleCall)
  const files = new Map(
    [...built].flatMap(([path, file]) => [[path, file] as const, [`/studio${path}`, file] as const]),
  )
  const index = built.get('/index.html')
  if (index !== undefined) for (const path of ['/', '/studio', '/studio/']) files.set(path, index)
  if (call !== undefined) files.set(callPath, call)

  const sampleModel = options.sampleModel === undefined ? undefined : resolve(options.sampleModel)
  // A model of another machine has no folder here.
  const [tenant, name, version] = sampleModel?.split(sep).slice(-3) ?? []
  const isOfSample: IsOfSample = (model) =>
    model.folder === ''
      ? model.tenant === tenant && model.name === name && model.version === version
      : sampleModel === resolve(model.folder)
  const hasSampleModel = (rights: Rights | undefined): boolean =>
    sampleModel === undefined ||
    service.models.list().some((model) => isOfSample(model) && (rights === undefined || isModelGranted(rights, model)))

  /** What the page may do without presenting a token: the rights of the client. */
  const ownRights = (): ClientRegistration | undefined => {
    const client = clientId === undefined ? undefined : service.findClient(clientId)
    return client !== undefined && isInForce(client, service.now()) ? client : undefined
  }

  const sendConfig = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const presented = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
    const rights = presented === undefined ? ownRights() : await rightsOf(service, presented)
    if (presented !== undefined && rights === undefined) {
      const challenge = { 'WWW-Authenticate': 'Bearer error="invalid_token"' }
      sendError(response, 401, 'invalid_token', 'the token is not valid; request a new one', challenge)
      return
    }
    const config = {
      ws: `${schemeOf(request, service.urls)}://${request.headers.host ?? ''}`,
      token: clientId === undefined ? null : tokenPath,
      models: modelsOf(service, rights, isOfSample),
      projects: projectsOf(service, rights),
      sampleCall: call === undefined || !hasSampleModel(rights) ? null : callPath,
      metrics: clientId === undefined || service.scrape === undefined ? null : metricsPath,
      operations: clientId === undefined || service.report === undefined ? null : operationsPath,
    }
    sendJson(response, 200, config, { ...noStoreHeaders, ...pageHeaders })
  }

  const sendToken = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const rights = ownRights()
    const { origin } = request.headers
    if (rights === undefined || origin === undefined) {
      sendError(response, 403, 'access_denied', 'only a page of this service can request a token here')
      return
    }
    const { accessToken, expiresInS } = await service.identity.issuePageToken({
      clientId: rights.clientId,
      tenants: rights.tenants,
      projects: rights.projects,
      models: rights.models,
      origin,
      lifetimeS: tokenLifetimeS,
      notAfterMs: rights.validUntilMs,
    })
    const body = { access_token: accessToken, expires_in: expiresInS, token_type: 'Bearer' }
    sendJson(response, 200, body, noStoreHeaders)
  }

  const sendMetrics = async (response: ServerResponse): Promise<void> => {
    const scraped = await service.scrape?.()
    if (scraped === undefined) notFound(response, 'Not found.\n')
    else response.writeHead(200, { 'Content-Type': scraped.contentType, ...noStoreHeaders }).end(scraped.body)
  }

  const sendReport = async (response: ServerResponse): Promise<void> => {
    const report = await service.report?.()
    if (report === undefined) notFound(response, 'Not found.\n')
    else sendJson(response, 200, report, { ...noStoreHeaders, ...pageHeaders })
  }

  const answer = async (path: string, request: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    const file = files.get(path)
    const isOfDeveloper = clientId !== undefined
    const isData = path === configPath || (isOfDeveloper && [tokenPath, metricsPath, operationsPath].includes(path))
    const isMissing = file === undefined && ['/', '/studio', '/studio/', callPath].includes(path)
    if (file === undefined && !isData && !isMissing) return false
    if (isOfDeveloper && !isFromThisMachine(request, service, path === tokenPath)) {
      sendError(
        response,
        403,
        'access_denied',
        'this page is for this machine only, at the address that the service prints',
      )
      return true
    }
    if (path === tokenPath ? request.method !== 'POST' : request.method !== 'GET' && request.method !== 'HEAD') {
      const allow = path === tokenPath ? 'POST' : 'GET, HEAD'
      sendError(response, 405, 'invalid_request', `only ${allow} is allowed here`, { Allow: allow })
      return true
    }
    if (file !== undefined) sendStatic(request, response, file, pageHeaders)
    else if (isMissing) notFound(response, path === callPath ? 'There is no sample call.\n' : notBuilt)
    else if (path === configPath) await sendConfig(request, response)
    else if (path === tokenPath) await sendToken(request, response)
    else if (path === operationsPath) await sendReport(response)
    else await sendMetrics(response)
    return true
  }

  return {
    handle: async (request, response) => {
      const [path = ''] = (request.url ?? '').split('?', 1)
      try {
        return await answer(path, request, response)
      } catch (error) {
        service.onFault(error)
        sendError(response, 500, 'server_error', 'the service failed; try again')
        return true
      }
    },
  }
}

const notBuilt =
  'The studio is not built: packages/studio/dist/index.html is missing. Run npm run build, and start again.\n'

const notFound = (response: ServerResponse, text: string): void => {
  response.writeHead(404, { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' }).end(text)
}

/** The names under which a browser reaches a loopback address. */
const loopbackNames = ['127.0.0.1', 'localhost', '[::1]']

/** The address that the request was sent to, if it is one of the service; `scheme://host:port` as in its URLs. */
const addressedUrl = ({ headers }: IncomingMessage, urls: readonly string[]): string | undefined => {
  const host = headers.host?.toLowerCase() ?? ''
  return urls.find((url) => {
    const { hostname, port, host: own } = new URL(url)
    return host === own || (isLoopback(hostname) && loopbackNames.some((name) => host === `${name}:${port}`))
  })
}

/**
 * Whether a page of this service on this machine, or a program on it, sent the request. A page of another site that has
 * its name resolved to this machine (DNS rebinding) has that name as `Host`, and one that sends a request here its own
 * `Origin`.
 */
const isFromThisMachine = (request: IncomingMessage, service: StudioService, mustHaveOrigin: boolean): boolean => {
  const url = addressedUrl(request, service.urls)
  if (url === undefined || !isLoopback(service.addressOf(request)?.replace(/^::ffff:/i, '') ?? '')) return false
  const { origin, host = '' } = request.headers
  const site = request.headers['sec-fetch-site']
  if (origin === undefined && mustHaveOrigin) return false
  const isOwnOrigin = origin === undefined || origin === `${new URL(url).protocol}//${host.toLowerCase()}`
  // A link to the page on another site is `cross-site`, which is no harm: it reads nothing.
  const isOwnSite = site === undefined || ['same-origin', 'none'].includes(site)
  return isOwnOrigin && (isOwnSite || request.headers['sec-fetch-mode'] === 'navigate')
}

/** A balancer that ends TLS names the scheme; the answer goes to the sender of that header only. */
const schemeOf = (request: IncomingMessage, urls: readonly string[]): 'ws' | 'wss' => {
  const isSecure =
    request.headers['x-forwarded-proto'] === 'https' ||
    (addressedUrl(request, urls) ?? urls[0] ?? '').startsWith('https:')
  return isSecure ? 'wss' : 'ws'
}

const rightsOf = ({ identity }: StudioService, token: string): Promise<Rights | undefined> =>
  identity.verify(token).catch((error: unknown) => {
    if (isSpeechError(error) && error.code === 'unauthenticated') return undefined
    throw error
  })

type IsOfSample = (model: ModelDescription) => boolean

const modelsOf = ({ models }: StudioService, rights: Rights | undefined, isOfSample: IsOfSample): readonly object[] =>
  models.list().flatMap((description) => {
    const { tenant, name, version, options } = description
    const { sampleRateHz } = options
    if (rights === undefined || !isModelGranted(rights, description)) return []
    const isSample = isOfSample(description)
    // The options of a model of another machine stay there.
    const isHere = description.folder !== ''
    const reads = isHere && {
      reads: whatItReads(options),
      takesPhrases: takesPhrases(options),
      ...languagesOf(options),
    }
    const model = { name, version, ...(tenant !== sharedTenant && { tenant }), ...(isSample && { isSample }), ...reads }
    return [typeof sampleRateHz === 'number' ? { ...model, sampleRateHz } : model]
  })

/** The languages of which a session can choose one, as far as `model.json` tells. */
const languagesOf = ({ languages }: ModelDescription['options']): { readonly languages?: readonly string[] } => {
  const named = Array.isArray(languages) ? languages.filter((language) => typeof language === 'string') : []
  return named.length > 1 ? { languages: named } : {}
}

const projectsOf = ({ projects }: StudioService, rights: Rights | undefined): readonly string[] => {
  const granted = projects
    .list()
    .filter(
      ({ tenant, name }) =>
        rights !== undefined && isGranted(rights.tenants, tenant) && isGranted(rights.projects, name),
    )
  return [...new Set(granted.map(({ name }) => name))]
}
