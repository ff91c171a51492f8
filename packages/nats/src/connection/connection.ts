import type * as Nats from '@nats-io/transport-node'
import { asyncScheduler, type SchedulerLike } from 'rxjs'
import { processIdentity } from 'rxspeech-server/operations/process-identity'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { schedule } from 'rxspeech/internal/kernel/timers'
import { checkNatsOptions, usesTls, type NatsOptions } from './nats-options.js'

/** A connection of this process to NATS, as its client package has it. */
export type NatsConnection = Nats.NatsConnection

export interface ConnectOptions {
  /** What the servers show as the name of the connection, before the host and the number of the process. */
  readonly name: string
  /** How long to try until a server answers, in milliseconds. @default 10000 */
  readonly connectWithinMs?: number | undefined
  /** @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

/** How long one server may take to answer. */
const dialTimeoutMs = 2_000
/** The delay between two attempts of the first connection. */
const retryMs = 250

/**
 * Once connected, the client tries for ever, often: another server of a cluster takes over within milliseconds. A
 * server that hangs is noticed after two pings.
 */
const persistence = {
  maxReconnectAttempts: -1,
  reconnectTimeWait: 50,
  reconnectJitter: 50,
  reconnectJitterTLS: 50,
  ignoreAuthErrorAbort: true,
  pingInterval: 1_000,
  maxPingOut: 2,
  timeout: dialTimeoutMs,
}

/**
 * Connects to NATS. Rejects with `invalid-options`, with `missing-dependency` without the package of the client, with
 * `unauthenticated` if a server refuses the user, and with `connection-failed` if none answers in time.
 */
export const connectNats = async (
  given: NatsOptions,
  { name, connectWithinMs = 10_000, scheduler = asyncScheduler }: ConnectOptions,
): Promise<NatsConnection> => {
  const options = checkNatsOptions(given)
  const nats = await import('@nats-io/transport-node')
  const { host, process } = processIdentity()
  const settings = { ...connectionSettings(options, nats), name: `${name} ${host} ${process}` }
  const deadlineMs = scheduler.now() + connectWithinMs
  for (;;) {
    try {
      return await nats.connect(settings)
    } catch (error) {
      if (isRefused(error, nats)) throw refused(error)
      if (scheduler.now() + retryMs > deadlineMs) throw unreachable(options, error)
      await delay(retryMs, scheduler)
    }
  }
}

const connectionSettings = (options: NatsOptions, nats: typeof Nats): Nats.NodeConnectionOptions => {
  const { servers, user, password: pass, credentials, ca, certificate: cert, key } = options
  return {
    servers: [...servers],
    ...persistence,
    ...(user !== undefined && { user, pass: pass ?? '' }),
    ...(credentials !== undefined && {
      authenticator: nats.credsAuthenticator(new TextEncoder().encode(credentials)),
    }),
    ...(usesTls(options) && {
      tls: { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) },
    }),
  }
}

const isRefused = (error: unknown, { errors }: typeof Nats): boolean =>
  [error, error instanceof Error ? error.cause : undefined].some(
    (one) => one instanceof errors.AuthorizationError || one instanceof errors.UserAuthenticationExpiredError,
  )

const refused = (cause: unknown): SpeechError =>
  new SpeechError('unauthenticated', 'The NATS server refuses this user; check its name and its password.', { cause })

const unreachable = ({ servers }: NatsOptions, cause: unknown): SpeechError => {
  const why = cause instanceof Error ? cause.message : 'unknown'
  return new SpeechError('connection-failed', `No NATS server answers at ${servers.join(', ')}: ${why}.`, { cause })
}

const delay = (ms: number, scheduler: SchedulerLike): Promise<void> =>
  new Promise((resolve) => void schedule(scheduler, ms, resolve, { ref: true }))
