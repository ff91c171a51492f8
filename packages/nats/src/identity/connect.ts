import type { SharedIdentity } from 'rxspeech-server/identity/shared-identity'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { checkOptions, codec, isText, optionsOf, wholeNumber } from 'rxspeech/internal/protocol/validation'
import { asyncScheduler, type SchedulerLike } from 'rxjs'
import { createBus, reportRefused, type MessageBus } from '../connection/bus.js'
import { connectNats } from '../connection/connection.js'
import type { NatsOptions } from '../connection/nats-options.js'
import { openBucket } from './bucket.js'
import { openSharedIdentity } from './shared-identity.js'
import { createWithdrawalExchange } from './withdrawals.js'

/** Where the subscriptions and revoked tokens of several machines are. */
export interface IdentityNatsOptions extends NatsOptions {
  /** The bucket of JetStream, which is created if it is missing. @default 'rxspeech-identity' */
  readonly bucket?: string | undefined
  /** How many servers of the cluster store a new bucket, 1 to 5. @default 1 */
  readonly replicas?: number | undefined
}

const bucketOptions = optionsOf<Pick<IdentityNatsOptions, 'bucket' | 'replicas'>>()(
  {},
  {
    bucket: codec(
      'a name of letters, digits, - and _',
      (value): value is string => isText(value) && /^[\w-]{1,64}$/.test(value),
    ),
    replicas: wholeNumber({ min: 1, max: 5 }),
  },
)

export interface ConnectSharedOptions {
  /** What the servers show as the name of the connection. */
  readonly name: string
  /** How long to try until a server answers, in milliseconds. @default 10000 */
  readonly connectWithinMs?: number | undefined
  /**
   * How long to try, once connected, until the servers have a leader for the bucket, in milliseconds. @default 30000
   */
  readonly openWithinMs?: number | undefined
  readonly scheduler?: SchedulerLike | undefined
  readonly onFault: (error: unknown) => void
}

/** A shared identity with its connection. */
export interface ConnectedIdentity {
  readonly identity: SharedIdentity
  /** The name of its bucket. */
  readonly bucket: string
  /** The same connection, for messages between the machines. */
  readonly bus: MessageBus
  readonly close: () => Promise<void>
}

/**
 * Connects to NATS and reads the bucket. Rejects with `invalid-options`, `missing-dependency`, `connection-failed`, and
 * with `unauthenticated` if a server refuses the user.
 */
export const connectSharedIdentity = async (
  options: IdentityNatsOptions,
  { name, connectWithinMs, openWithinMs = 30_000, scheduler = asyncScheduler, onFault }: ConnectSharedOptions,
): Promise<ConnectedIdentity> => {
  const { bucket, replicas, ...nats } = options
  const { bucket: bucketName = defaultBucket, replicas: copies = 1 } = checkOptions(bucketOptions, { bucket, replicas })
  const connection = await connectNats(nats, { name, connectWithinMs, scheduler })
  const bus = createBus(connection)
  const reporting = reportRefused(bus, onFault, scheduler)
  try {
    const identity = await openSharedIdentity({
      bucket: await openBucket(connection, { name: bucketName, replicas: copies, openWithinMs, scheduler }),
      withdrawals: createWithdrawalExchange(bus, bucketName),
      isUp$: bus.isUp$,
      scheduler,
      onFault,
    })
    return {
      identity,
      bus,
      bucket: bucketName,
      close: () => {
        identity.close()
        reporting.unsubscribe()
        return bus.close()
      },
    }
  } catch (error) {
    reporting.unsubscribe()
    await bus.close()
    throw error
  }
}

const defaultBucket = 'rxspeech-identity'

/** Throws `invalid-options` where machines would not accept the tokens of each other. */
export const checkSharedIdentity = ({
  issuer,
  keysFile,
  nats,
}: {
  readonly issuer?: string | undefined
  readonly keysFile?: string | undefined
  readonly nats?: IdentityNatsOptions | undefined
}): void => {
  const refuse = (sentence: string): never => {
    throw new SpeechError('invalid-options', sentence)
  }
  if (nats !== undefined && keysFile === undefined) {
    refuse('identity.nats needs identity.keysFile; otherwise machines refuse the tokens of each other.')
  }
  if (keysFile !== undefined && issuer === undefined) {
    refuse('identity.keysFile needs an issuer, the address of the balancer.')
  }
}
