import type { RequestListener } from 'node:http'
import { asyncScheduler } from 'rxjs'
import { checkSharedIdentity, type ConnectedIdentity, connectSharedIdentity } from 'rxspeech-nats/identity/connect'
import { MachineExchange } from 'rxspeech-nats/machines/machine-exchange'
import { isGranted, isGrantedByName } from 'rxspeech-server/identity/clients/client'
import { createIdentity, defaultAudience, type Identity } from 'rxspeech-server/identity/identity'
import { authFailureOf, noopMonitor, type ServiceMonitor } from 'rxspeech-server/monitor/service-monitor'
import type { Operations } from 'rxspeech-server/operations/operations'
import { type AdmissionLimits, Admissions } from 'rxspeech-server/sessions/admissions'
import { type RequestLimits, TokenRequests } from 'rxspeech-server/sessions/request-limit'
import { type Rights, tenantOf } from 'rxspeech-server/sessions/rights'
import { type GrantAuthority, RunningGrants } from 'rxspeech-server/sessions/running-grants'
import type { Admission, SessionContext } from 'rxspeech-server/sessions/session-context'
import { openStudio, type StudioService } from 'rxspeech-server/studio/studio'
import { isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { resolveServiceLimits, type ServiceOptions } from '../configuration/service-options.js'
import type { Authority, ComposedHttp } from './compose.js'

/** An identity service that admits sessions. */
export type ServiceAuthority = Authority & Identity

/**
 * Opens the identity service, which admits sessions and answers HTTP requests; its issuer is the address of the HTTP
 * listener unless the options name another. Rejects like `createIdentity` and `connectSharedIdentity`, and
 * `openRequests` if the files of the page cannot be read.
 */
export const openAuthority = async (
  options: ServiceOptions,
  http: ComposedHttp,
  operation: Pick<Operations, 'monitor' | 'onFault' | 'watchIdentity' | 'scrape' | 'report'>,
): Promise<ServiceAuthority> => {
  const { clients, development = false, scheduler = asyncScheduler, stateFolder, issuer = http.url } = options
  // What machines share is connected here, and not an option of the identity service of each.
  const { nats: _nats, ...own } = options.identity ?? {}
  const { monitor, onFault } = operation
  checkSharedIdentity({ ...options.identity, issuer: options.issuer })
  const shared = await connectMachines(options, issuer, operation)
  try {
    const identity = await createIdentity(
      {
        ...own,
        addressOf: own.addressOf ?? http.addressOf,
        issuer,
        development,
        scheduler,
        onRefusal: (error, address) => {
          monitor.authFailed(authFailureOf(error), 'token-endpoint', address)
        },
        clients,
        stateFolder,
        onFault,
      },
      { identity: shared?.identity, failures: shared?.machines },
    )
    return {
      ...identity,
      admit: createAdmission(
        { ...identity, machines: shared?.machines },
        resolveServiceLimits(options),
        options,
        monitor,
      ),
      openRequests: (shown) => openRequests(options, identity, http, { ...shown, ...operation }),
      close: () => identity.close().finally(shared?.close),
    }
  } catch (error) {
    await shared?.close()
    throw error
  }
}

interface Machines extends Pick<ConnectedIdentity, 'identity' | 'close'> {
  readonly machines: MachineExchange
}

/** Connects to what several machines share; undefined for a service of one machine. */
const connectMachines = async (
  { identity: { nats, audience = defaultAudience } = {}, scheduler = asyncScheduler, logger }: ServiceOptions,
  issuer: string,
  { onFault, watchIdentity }: Pick<Operations, 'onFault' | 'watchIdentity'>,
): Promise<Machines | undefined> => {
  if (nats === undefined) return undefined
  const { identity, bus, bucket, close } = await connectSharedIdentity(nats, {
    name: 'rxspeech serve',
    scheduler,
    onFault,
  })
  const machines = new MachineExchange({ bus, bucket, origin: { issuer, audience }, scheduler, onFault })
  const { stale$, ageMs } = identity
  watchIdentity(ageMs)
  const watching = stale$.subscribe((isStale) => {
    if (isStale) logger?.log('warn', 'Shared identity is stale', { ageMs: Math.round(ageMs()) })
    else logger?.log('info', 'Shared identity is current again')
  })
  return {
    identity,
    machines,
    close: () => {
      watching.unsubscribe()
      machines.close()
      return close()
    },
  }
}

/** A full service verifies one of the tokens that it refuses within this time. */
const learnEveryMs = 100

/** Verifies the tokens of sessions and counts the sessions. */
export const createAdmission = (
  identity: Pick<Identity, 'verify' | keyof GrantAuthority> & { readonly machines: MachineExchange | undefined },
  limits: AdmissionLimits & RequestLimits,
  options: Pick<ServiceOptions, 'scheduler' | 'onFault' | 'tenants' | 'tenantWeights' | 'limits'>,
  monitor: Pick<ServiceMonitor, 'startRefused'> = noopMonitor,
): SessionContext['admit'] => {
  const { scheduler = asyncScheduler, onFault, tenantWeights: weights } = options
  const now = (): number => scheduler.now()
  const eachMachine = (['sessionsPerTenant', 'sessionsPerToken'] as const).filter(
    (name) => options.limits?.[name] === undefined,
  )
  const admissions = new Admissions(limits, { others: identity.machines, weights, eachMachine, now })
  identity.machines?.publishCounts(() => admissions.counts)
  /** Only with names that someone has configured: a token for all tenants can name any. */
  const countRefused = (rights: Rights, tenant: string | undefined, error: unknown): void => {
    if (!isSpeechError(error)) return
    const configured = [...rights.tenants, ...(options.tenants ?? [])]
    const isKnown = tenant !== undefined && isGrantedByName(configured, tenant)
    monitor.startRefused?.({ tenant: isKnown ? tenant : tenantOf(rights) }, error)
  }
  let learntMs = -Infinity
  /** Verifies a few of the tokens that a full service refuses: the next free places are for their tenants, too. */
  const learnTenant = (token: string, tenant: string | undefined, error: unknown): void => {
    if (now() - learntMs < learnEveryMs) return
    learntMs = now()
    identity.verify(token).then(
      (rights) => {
        if (tenant !== undefined && !isGranted(rights.tenants, tenant)) return
        admissions.saw(tenant ?? tenantOf(rights))
        countRefused(rights, tenant, error)
      },
      () => undefined,
    )
  }
  const requests = new TokenRequests(limits, scheduler)
  const running = new RunningGrants({ authority: identity, scheduler, onFault })
  const begin = (rights: Awaited<ReturnType<Identity['verify']>>, tenant: string | undefined): Admission => {
    const counted = requests.admit(rights.tokenId, rights.clientId)
    try {
      const slot = admissions.admit(rights.tokenId, tenant ?? tenantOf(rights))
      const { ended$, release } = running.add(rights)
      return {
        rights,
        clientId: rights.clientId,
        tokenId: rights.tokenId,
        isForPage: rights.isForPage,
        isAboveShare: slot.isAboveShare,
        requests: counted.bucket,
        ended$,
        release: () => {
          release()
          slot.release()
          counted.release()
        },
      }
    } catch (error) {
      counted.release()
      throw error
    }
  }
  return async (token, tenant, origin) => {
    try {
      admissions.checkCapacity()
    } catch (error) {
      learnTenant(token, tenant, error)
      throw error
    }
    const rights = await identity.verify(token)
    if (rights.origin !== undefined && rights.origin !== origin) throw wrongOrigin()
    // Checked first, so that no session uses the slots of a tenant without its grant.
    if (tenant !== undefined && !isGranted(rights.tenants, tenant)) throw tenantDenied()
    try {
      return begin(rights, tenant)
    } catch (error) {
      countRefused(rights, tenant, error)
      throw error
    }
  }
}

/** A gRPC client and a program send no origin. The message does not repeat that of the token. */
const wrongOrigin = (): SpeechError =>
  new SpeechError(
    'unauthenticated',
    'The token is for the pages of another origin; open the session from such a page, or request a token without origin.',
    { cause: 'wrong-origin' },
  )

const tenantDenied = (): SpeechError =>
  new SpeechError('tenant-denied', 'The Tenant is not known here, or not granted to this subscription.')

/**
 * Answers the requests for the identity service and for the page. A request for the socket without Upgrade, which a
 * proxy has removed, is 426 (RFC 9110 section 15.5.22); any other path is 404.
 */
const answerRequests = (
  handlers: readonly Pick<Identity, 'handle'>[],
  onFault: (error: unknown) => void = () => undefined,
): RequestListener => {
  const answer = async (...exchange: Parameters<Identity['handle']>): Promise<void> => {
    for (const handler of handlers) if (await handler.handle(...exchange)) return
    const [{ url = '' }, response] = exchange
    if (/^\/recognizer\/?(\?|$)/.test(url)) {
      const headers = { 'Content-Type': 'text/plain', Upgrade: 'websocket', Connection: 'Upgrade' }
      response.writeHead(426, headers).end(needsUpgrade)
    } else response.writeHead(404, { 'Content-Type': 'text/plain' }).end('Not found.\n')
  }
  return (request, response) => {
    answer(request, response).catch(onFault)
  }
}

const needsUpgrade =
  'refused: A WebSocket is at this path, but the request has no Upgrade; a proxy in between must pass on Upgrade and Connection.\n'

/** What the page shows of the service, besides its addresses. */
type Shown = Pick<StudioService, 'models' | 'projects' | 'scrape' | 'report' | 'onFault'>

/** Answers the requests of a service at these addresses. */
const openRequests = async (
  options: ServiceOptions,
  identity: Identity,
  { url, plainUrl, addressOf }: ComposedHttp,
  { models, projects, scrape, report, onFault }: Shown,
): Promise<RequestListener> => {
  const { studio, clients, scheduler = asyncScheduler } = options
  const page =
    studio &&
    (await openStudio(studio, {
      models,
      projects,
      scrape,
      report,
      onFault,
      addressOf,
      identity,
      urls: [url, plainUrl].filter((each) => each !== undefined),
      findClient: (clientId) => clients?.find(clientId),
      now: () => scheduler.now(),
    }))
  return answerRequests(page === undefined ? [identity] : [identity, page], onFault)
}
