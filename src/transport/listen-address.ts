import type { AddressInfo, Server } from 'node:net'
import type { TlsOptions } from 'node:tls'
import { SpeechError, codeOf } from '../errors/speech-error.js'
import { isLoopback } from '../protocol/loopback.js'
import { functionValue, optionsOf, text } from '../protocol/validation.js'

/** The address to listen on. Port 0 selects a free one. */
export interface ListenAddress {
  /** An IP address or a host name of this machine. */
  readonly host: string
  /** 0 to 65535. */
  readonly port: number
}

/** A certificate chain and its key, both PEM. */
export interface ServerCertificate {
  /** The certificate of the server, and behind it those of the CAs between it and the root. */
  readonly certificate: string
  /** The private key of the server's certificate. */
  readonly key: string
  /** Reads both again when the service reloads; throws what is wrong with them. @default they stay as they are */
  readonly readAgain?: (() => ServerCertificate) | undefined
}

export const serverCertificateCodec = optionsOf<ServerCertificate>()(
  { certificate: text, key: text },
  { readAgain: functionValue },
)

/** Where a local client reaches a wildcard listener; a number, because a name can resolve to the other family. */
const wildcards: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/** Throws `invalid-options` for plain text beyond loopback: everything else needs a certificate. */
export const checkPlainText = ({ host }: ListenAddress, certificate: ServerCertificate | undefined): void => {
  if (certificate !== undefined || isLoopback(host)) return
  throw new SpeechError(
    'invalid-options',
    `Listening on ${host} needs a certificate and a key; plain text is for loopback only.`,
  )
}

const inUrl = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`

/** `host:port` as a client on this machine writes it. */
export const hostPort = ({ host }: ListenAddress, port: number): string => inUrl(wildcards[host] ?? host, port)

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use',
  EACCES: 'the port is not allowed',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'the name is unknown',
}

/** The error of a failed listen call, with its address. */
export const listenError = ({ host, port }: ListenAddress, error: unknown): SpeechError => {
  const code = codeOf(error) ?? 'unknown'
  const why = reasons[code] ?? `the system error ${code}`
  return new SpeechError('listen-failed', `Cannot listen on ${inUrl(host, port)}: ${why}.`, { cause: error })
}

/** Makes a server listen on a port of this process. Resolves with the port; rejects with `listen-failed`. */
export const listenOnPort = (server: Server, address: ListenAddress): Promise<number> =>
  new Promise((resolve, reject) => {
    const refuse = (error: unknown): void => {
      reject(listenError(address, error))
    }
    server.once('error', refuse)
    try {
      server.listen(address.port, address.host, () => {
        server.off('error', refuse)
        resolve((server.address() as AddressInfo).port)
      })
    } catch (error) {
      refuse(error)
    }
  })

/** Calls `create` and maps its failure to `invalid-options`; the error of OpenSSL becomes the cause. */
export const withCertificate = <T>(create: () => T): T => {
  try {
    return create()
  } catch (cause) {
    throw new SpeechError(
      'invalid-options',
      'The certificate or its key cannot be used; both must be PEM and belong together.',
      { cause },
    )
  }
}

/** Authenticated encryption with forward secrecy (RFC 7525 section 4.2): TLS 1.3, and TLS 1.2 without CBC. */
const ciphers = [
  ...['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
  ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-AES256-GCM-SHA384'],
  ...['ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
].join(':')

export const tlsOptions = ({ certificate, key }: ServerCertificate, handshakeTimeout?: number): TlsOptions => ({
  cert: certificate,
  key,
  handshakeTimeout,
  minVersion: 'TLSv1.2',
  ciphers,
})
