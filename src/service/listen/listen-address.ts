import { SpeechError } from '../../errors/speech-error.js'

/** Where to listen. Port 0 takes a free one. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** A certificate chain and its key, both PEM. */
export interface ServerCertificate {
  readonly certificate: string
  readonly key: string
}

const loopback = /^(localhost|127(\.\d{1,3}){3}|::1)$/
const wildcard = /^(0\.0\.0\.0|::)$/

/** Nothing is said in plain text beyond this machine: without a certificate only loopback is listened on. */
export const checkPlainText = ({ host }: ListenAddress, certificate: ServerCertificate | undefined): void => {
  if (certificate !== undefined || loopback.test(host)) return
  throw new SpeechError(
    'invalid-options',
    `Listening on ${host} needs a certificate and a key; plain text is for loopback only.`,
  )
}

/** `host:port` as a client on this machine writes it. */
export const hostPort = ({ host }: ListenAddress, port: number): string => {
  const reachable = wildcard.test(host) ? 'localhost' : host
  return `${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

/** `HOST:PORT`, with an IPv6 address in brackets. */
export const parseListenAddress = (text: string): ListenAddress => {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s]+)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain
  if (host === undefined || Number(port) > 65_535) {
    throw new SpeechError(
      'invalid-options',
      `${JSON.stringify(text)} is no address; write HOST:PORT, such as 127.0.0.1:0.`,
    )
  }
  return { host, port: Number(port) }
}

/** A failure to listen, told by address. */
export const listenError = (address: ListenAddress, error: unknown): SpeechError => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
  const why =
    code === 'EADDRINUSE'
      ? 'the port is taken'
      : code === 'EACCES'
        ? 'the port is not allowed'
        : `the system said ${code}`
  return new SpeechError('listen-failed', `Cannot listen on ${address.host}:${address.port}: ${why}.`, { cause: error })
}
