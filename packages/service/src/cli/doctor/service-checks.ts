import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect as connectPlain, isIP } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { firstValueFrom } from 'rxjs'
import { codeOf } from 'rxspeech/internal/errors/speech-error'
import { isJsonObject } from 'rxspeech/internal/protocol/json-object'
import { parseJson } from 'rxspeech/internal/protocol/parse-json'
import { proxyFor } from 'rxspeech/internal/proxy/proxy'
import { hostOf } from '../parsing/addresses.js'
import { tokenOf, type Access } from '../service/access.js'
import { expiryFinding } from './certificates.js'
import { failed, ok, warning, wrong, type Check, type Finding } from './check.js'
import { trySession } from './try-session.js'

/** A service to check: its addresses, and, unless they are missing, the credentials of its clients. */
export interface ServiceTarget {
  readonly url?: string | undefined
  readonly grpc?: string | undefined
  readonly authUrl?: string | undefined
  readonly isPlaintext: boolean
  readonly ca?: string | undefined
  readonly proxy?: string | false | undefined
  /** With credentials; otherwise why there is none. */
  readonly access: Access | Finding
}

interface Endpoint {
  readonly name: string
  readonly host: string
  readonly port: number
  readonly isSecure: boolean
  /** Whether it speaks HTTP/1.1, whose answers have a date. */
  readonly hasDate: boolean
}

/** The checks of a service elsewhere, from its addresses to a session over each of its interfaces. */
export const serviceChecks = (target: ServiceTarget, timeoutMs: number): readonly Check[] => {
  const { url, grpc, access } = target
  const endpoints = endpointsOf(target)
  const dated = endpoints.find(({ hasDate }) => hasDate)
  let hasToken = false
  const tokenCheck: Check = {
    name: 'token',
    run: async () => {
      const finding = await tokenFinding(access, timeoutMs)
      hasToken = finding.status === 'ok'
      return finding
    },
  }
  const sessionChecks = (['grpc', 'websocket'] as const).flatMap((over): readonly Check[] =>
    'status' in access || (over === 'grpc' ? grpc : url) === undefined
      ? []
      : [sessionCheck(access, over, timeoutMs, () => hasToken)],
  )
  return [
    ...endpoints.map((endpoint): Check => ({
      name: endpoint.name,
      run: (signal) => endpointFindings(endpoint, target, signal),
    })),
    ...(dated === undefined ? [] : [clockCheck(dated, target)]),
    tokenCheck,
    ...sessionChecks,
  ]
}

const endpointsOf = ({ url, grpc, authUrl, isPlaintext }: ServiceTarget): readonly Endpoint[] => {
  const ofUrl = (name: string, text: string): Endpoint => {
    const { hostname, port, protocol } = new URL(text)
    const isSecure = protocol === 'wss:' || protocol === 'https:'
    const host = hostname.replace(/^\[(.*)\]$/, '$1')
    return { name, host, port: port === '' ? (isSecure ? 443 : 80) : Number(port), isSecure, hasDate: true }
  }
  const ofGrpc = (text: string): Endpoint => {
    const port = /:(\d+)$/.exec(text.replace(/^[^[]*\[[^\]]*\]/, ''))?.[1] ?? '443'
    return { name: 'gRPC', host: hostOf(text) ?? text, port: Number(port), isSecure: !isPlaintext, hasDate: false }
  }
  return [
    ...(authUrl === undefined ? [] : [ofUrl('tokens', authUrl)]),
    ...(grpc === undefined ? [] : [ofGrpc(grpc)]),
    ...(url === undefined ? [] : [ofUrl('WebSocket', url)]),
  ]
}

const proxyOf = ({ host, port, isSecure }: Endpoint, { proxy }: ServiceTarget): string | undefined => {
  const name = host.includes(':') ? `[${host}]` : host
  return proxyFor(new URL(`${isSecure ? 'https' : 'http'}://${name}:${port}`), proxy)?.name
}

/** Whether the address answers, and its certificate. */
const endpointFindings = async (
  endpoint: Endpoint,
  target: ServiceTarget,
  signal: AbortSignal,
): Promise<readonly Finding[] | Finding> => {
  const { host, port, isSecure, name } = endpoint
  const proxy = proxyOf(endpoint, target)
  const where = `${host}:${port}`
  if (proxy !== undefined) return ok(`${where} is behind the proxy ${proxy}; the token and the sessions check it`)
  try {
    if (!isSecure) {
      const socket = connectPlain({ host, port, signal })
      await opened(socket, 'connect')
      socket.destroy()
      return ok(`${where} answers, without TLS`)
    }
    const socket = connectTls({
      host,
      port,
      ca: target.ca,
      rejectUnauthorized: false,
      // A name of an IP address is not permitted (RFC 6066 section 3).
      ...(isIP(host) === 0 && { servername: host }),
      ALPNProtocols: name === 'gRPC' ? ['h2'] : ['http/1.1'],
    })
    const abort = (): void => void socket.destroy(new Error('aborted'))
    signal.addEventListener('abort', abort, { once: true })
    try {
      await opened(socket, 'secureConnect')
      return certificateFindings(socket, endpoint)
    } finally {
      signal.removeEventListener('abort', abort)
      socket.on('error', () => undefined)
      socket.destroy()
    }
  } catch (error) {
    return unreachable(where, error)
  }
}

const opened = (socket: ReturnType<typeof connectPlain>, event: string): Promise<void> =>
  new Promise((resolve, reject) => {
    socket.once(event, () => resolve())
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('closed')))
  })

const unreachableReasons: Readonly<Record<string, readonly [message: string, remedy: string]>> = {
  ECONNREFUSED: ['nothing listens there', 'Start the service, or correct the address.'],
  ENOTFOUND: ['there is no such host', 'Correct the name, or check the name server.'],
  EAI_AGAIN: ['the name server does not answer', 'Check the network.'],
  ENETUNREACH: ['the network is not reachable', 'Check the network.'],
  EHOSTUNREACH: ['the host is not reachable', 'Check the network and the firewall.'],
  ECONNRESET: ['the connection was cut', 'Check the port, and whether it speaks TLS.'],
}

const unreachable = (where: string, error: unknown): Finding => {
  const code = codeOf(error) ?? ''
  if (code.endsWith('NO_APPLICATION_PROTOCOL')) {
    return wrong(
      `${where} speaks another protocol.`,
      'Check that the ports of gRPC and of the WebSocket are not exchanged.',
    )
  }
  if (code.startsWith('ERR_SSL')) {
    return wrong(
      `${where} does not speak TLS.`,
      'Use its port with TLS; on this machine --plaintext or ws:// go without.',
    )
  }
  const [reason, remedy] = unreachableReasons[code] ?? [
    `the connection failed (${code || 'closed'})`,
    'Check the address.',
  ]
  return wrong(`${where}: ${reason}.`, remedy)
}

const trustRemedy = 'Pass the certificate of its CA with --ca FILE.'

const certificateFindings = (socket: TLSSocket, { host, port, name }: Endpoint): readonly Finding[] => {
  const where = `${host}:${port}`
  const raw = socket.getPeerCertificate().raw as Buffer | undefined
  if (raw === undefined) return [wrong(`${where} has no certificate.`, 'Check the port.')]
  const expiry = expiryFinding(raw, Date.now())
  const error = String(socket.authorizationError ?? '')
  const protocol =
    name === 'gRPC' && socket.alpnProtocol !== 'h2'
      ? [wrong(`${where} does not speak HTTP/2.`, 'Use the gRPC port of the service, not that of its WebSocket.')]
      : []
  if (error === '') return [{ ...expiry, message: `${where}: ${expiry.message}` }, ...protocol]
  if (error === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return [
      wrong(`${where}: ${expiry.message}; ${host} is not among its names.`, 'Use one of these names.'),
      ...protocol,
    ]
  }
  if (expiry.status === 'wrong') return [{ ...expiry, message: `${where}: ${expiry.message}` }, ...protocol]
  return [wrong(`${where}: the certificate is not trusted (${error}).`, trustRemedy), ...protocol]
}

/** Tokens have times: a clock that is further off makes them expired, or not valid yet. */
const [warnSkewMs, maxSkewMs] = [5_000, 60_000]

const clockCheck = (endpoint: Endpoint, target: ServiceTarget): Check => ({
  name: 'clock',
  run: async (signal) => {
    if (proxyOf(endpoint, target) !== undefined) return ok('not compared through a proxy')
    const sentMs = Date.now()
    const date = await dateOf(endpoint, signal).catch(() => undefined)
    if (date === undefined)
      return warning('The clock of the service is unknown: it sends no date.', 'Compare it yourself.')
    return skewFinding(date, sentMs, Date.now())
  },
})

/** The difference to the date of an answer, which has whole seconds, cut off. */
export const skewFinding = (date: string, sentMs: number, receivedMs: number): Finding => {
  const serviceMs = Date.parse(date)
  if (Number.isNaN(serviceMs)) return warning('The date of the service is malformed.', 'Compare the clocks yourself.')
  const skewMs = Math.max(0, sentMs - serviceMs - 1000) || Math.min(0, receivedMs - serviceMs)
  const text = `this clock is ${(Math.abs(skewMs) / 1000).toFixed(0)} s ${skewMs > 0 ? 'ahead of' : 'behind'} that of the service`
  const remedy = 'Synchronize both with a time server: timedatectl set-ntp true'
  if (Math.abs(skewMs) > maxSkewMs) return wrong(`Tokens may count as expired: ${text}.`, remedy)
  return Math.abs(skewMs) > warnSkewMs ? warning(`Note that ${text}.`, remedy) : ok('like that of the service')
}

/** The header Date of the answer to a request without a secret, so that the certificate does not matter. */
const dateOf = ({ host, port, isSecure }: Endpoint, signal: AbortSignal): Promise<string | undefined> =>
  new Promise((resolve, reject) => {
    const options = { host, port, method: 'HEAD', path: '/', agent: false as const, signal }
    const request = isSecure ? httpsRequest({ ...options, rejectUnauthorized: false }) : httpRequest(options)
    request.once('response', (response) => {
      response.resume()
      resolve(response.headers.date)
    })
    request.once('error', reject)
    request.end()
  })

const tokenFinding = async (access: Access | Finding, timeoutMs: number): Promise<Finding> => {
  if ('status' in access) return access
  const { credentials, ca, proxy } = access
  if (credentials.type === 'client') {
    const nowMs = Date.now()
    const { expiresAtMs } = await firstValueFrom(tokenOf(credentials, { ca, proxy, timeoutMs }))
    return ok(`the client ${credentials.clientId} gets a token for ${lifeText(expiresAtMs - nowMs)}`)
  }
  const expiresAtMs = expiryOfToken(credentials.token)
  if (expiresAtMs === undefined) return ok('a token is set; the sessions show whether it is valid')
  const leftMs = expiresAtMs - Date.now()
  return leftMs > 0
    ? ok(`the token is valid for ${lifeText(leftMs)}`)
    : wrong(`The token expired ${lifeText(-leftMs)} ago.`, 'Get another: rxspeech token')
}

/** A life for a message; `Infinity` if the endpoint does not say it. */
export const lifeText = (ms: number): string => {
  if (ms === Infinity) return 'an unknown time'
  const [days, hours, seconds] = [86_400_000, 3_600_000, 1000].map((unit) => Math.round(ms / unit))
  return (days ?? 0) > 1 ? `${days} days` : (hours ?? 0) > 1 ? `${hours} hours` : `${seconds} s`
}

/** The `exp` of a JSON Web Token (RFC 7519 section 4.1.4). */
const expiryOfToken = (token: string): number | undefined => {
  const payload = parseJson(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  const expiry = isJsonObject(payload) ? payload['exp'] : undefined
  return typeof expiry === 'number' ? expiry * 1000 : undefined
}

/** A second of silence, which every model has no words for. */
const silence = {
  format: { encoding: 'pcm', sampleRateHz: 16_000, channels: 1 },
  samples: new Uint8Array(32_000),
} as const

const sessionCheck = (
  access: Access,
  over: 'grpc' | 'websocket',
  timeoutMs: number,
  hasToken: () => boolean,
): Check => ({
  name: over === 'grpc' ? 'session, gRPC' : 'session, WebSocket',
  // Several waits of the session in turn.
  limitMs: 3 * timeoutMs,
  run: async (signal) => {
    if (!hasToken()) return warning('Not tried without a token.', 'Correct what is wrong with the token first.')
    if (over === 'websocket' && access.model === undefined) {
      return warning('A session over WebSocket needs a model.', 'Set it with --model NAME.')
    }
    try {
      const { elapsedMs } = await trySession(access, over, silence, { signal, timeoutMs })
      return ok(`started, sent 1 s of audio and ended in ${(elapsedMs / 1000).toFixed(2)} s`)
    } catch (error) {
      return failed(error)
    }
  },
})
