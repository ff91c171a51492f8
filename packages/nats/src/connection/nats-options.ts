import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { listOf } from 'rxspeech/internal/protocol/collections'
import { isLoopback } from 'rxspeech/internal/protocol/loopback'
import { checkOptions, codec, type Codec, flag, isText, optionsOf, text } from 'rxspeech/internal/protocol/validation'

/** How to reach NATS, the message broker between the processes of a service on several machines. */
export interface NatsOptions {
  /** The servers of one cluster, such as `tls://nats-0:4222`; `nats://` is plain text. */
  readonly servers: readonly string[]
  /** The user of this process. @default none */
  readonly user?: string | undefined
  /** Its password. @default none */
  readonly password?: string | undefined
  /** The content of a credentials file (`.creds`, a JWT and its key), instead of user and password. @default none */
  readonly credentials?: string | undefined
  /** The CA certificates of the servers, PEM. @default those of Node */
  readonly ca?: string | undefined
  /** A client certificate and its chain, PEM, for servers that verify clients. @default none */
  readonly certificate?: string | undefined
  /** Its private key, PEM. @default none */
  readonly key?: string | undefined
  /** Permits plain text beyond loopback. Everyone on the network can then read the audio. @default false */
  readonly insecure?: boolean | undefined
}

const schemes = ['nats:', 'tls:']

/** The URL of a server; undefined for another scheme, and for one with a user, a path or a query. */
const parseServer = (address: string): URL | undefined => {
  if (!URL.canParse(address)) return undefined
  const url = new URL(address)
  const { username, password, pathname, search, hash } = url
  const isPlain = username === '' && password === '' && (pathname === '' || pathname === '/') && search + hash === ''
  return schemes.includes(url.protocol) && url.hostname !== '' && isPlain ? url : undefined
}

/** The address of a NATS server. Passwords in it are refused, because addresses appear in logs and process lists. */
const natsServer: Codec<string> = codec(
  'an address such as tls://nats-0:4222 or nats://127.0.0.1:4222, without a user or a password',
  (value): value is string => isText(value) && parseServer(value) !== undefined,
)

const natsServers: Codec<readonly string[]> = codec(
  `a list of at least one server, each ${natsServer.name}`,
  (value): value is readonly string[] => listOf(natsServer).is(value) && value.length > 0,
)

/** The codec of each option; `servers` is required. */
export const natsCodecs = {
  servers: natsServers,
  user: text,
  password: text,
  credentials: text,
  ca: text,
  certificate: text,
  key: text,
  insecure: flag,
}

const { servers: serversCodec, ...optionalCodecs } = natsCodecs
export const natsOptions = optionsOf<NatsOptions>()({ servers: serversCodec }, optionalCodecs)

/** Throws `invalid-options`, also for options that contradict each other. */
export const checkNatsOptions = (given: NatsOptions): NatsOptions => {
  const options = checkOptions(natsOptions, given)
  const { servers, user, password, credentials, certificate, key, insecure = false } = options
  const refuse = (sentence: string): never => {
    throw new SpeechError('invalid-options', sentence)
  }
  if (credentials !== undefined && (user ?? password) !== undefined) {
    return refuse('NATS takes either credentials or a user with a password, not both.')
  }
  if ((user === undefined) !== (password === undefined)) return refuse('NATS needs both a user and a password.')
  if ((certificate === undefined) !== (key === undefined)) return refuse('NATS needs both a certificate and its key.')
  if (!usesTls(options)) {
    const remote = servers.find((server) => !isLoopback(parseServer(server)?.hostname ?? ''))
    if (remote !== undefined && !insecure) {
      return refuse(`NATS at ${remote} would carry audio in plain text; use tls://, or permit it with "insecure".`)
    }
  } else if (servers.some((server) => !server.startsWith('tls:'))) {
    return refuse('All NATS servers must use tls:// if one does, or if a certificate is set.')
  }
  return options
}

/** Whether connections use TLS. */
export const usesTls = ({ servers, ca, certificate }: NatsOptions): boolean =>
  ca !== undefined || certificate !== undefined || servers.some((server) => server.startsWith('tls:'))
