import { createPrivateKey, generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { readPrivateFile, writePrivateFile } from '../state/state-files.js'
import { loadSignCertificate, type SignCertificate } from './sign-certificate.js'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** Browsers accept at most 398 days. */
const lifetimeMs = 365 * dayMs
const renewBeforeMs = dayMs

const loopbackNames = ['localhost']
const loopbackAddresses = ['127.0.0.1', '::1']

export interface DevelopmentCertificates {
  /** The path of the authority's certificate. */
  readonly caPath: string
  /** The authority's certificate, PEM. */
  readonly ca: string
  /** The server's certificate for localhost, 127.0.0.1 and ::1, PEM. */
  readonly certificate: string
  /** The server's private key, PKCS#8 PEM. */
  readonly key: string
}

type Pems = Omit<DevelopmentCertificates, 'caPath'>

const issue = (signCertificate: SignCertificate, nowMs: number): Pems => {
  const authority = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const server = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  // A unique name, so that a client that trusts an older authority sees another issuer instead of an invalid signature.
  const commonName = `rxspeech development ${randomBytes(4).toString('hex')}`
  const issuer = { commonName, privateKey: authority.privateKey }
  const validity = { notBeforeMs: nowMs - hourMs, notAfterMs: nowMs + lifetimeMs }
  return {
    ca: signCertificate({
      ...validity,
      commonName,
      issuer,
      publicKey: authority.publicKey,
      use: { type: 'authority' },
    }),
    certificate: signCertificate({
      ...validity,
      commonName: 'localhost',
      issuer,
      publicKey: server.publicKey,
      use: { type: 'server', names: loopbackNames, addresses: loopbackAddresses },
    }),
    key: server.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

const isUsable = ({ ca, certificate, key }: Pems, nowMs: number): boolean => {
  const authority = new X509Certificate(ca)
  const server = new X509Certificate(certificate)
  return (
    [authority, server].every(
      ({ validFrom, validTo }) => Date.parse(validFrom) <= nowMs && nowMs + renewBeforeMs < Date.parse(validTo),
    ) &&
    authority.ca &&
    server.verify(authority.publicKey) &&
    server.checkPrivateKey(createPrivateKey(key)) &&
    loopbackNames.every((host) => server.checkHost(host) !== undefined) &&
    loopbackAddresses.every((address) => server.checkIP(address) !== undefined)
  )
}

const load = async (caPath: string, serverPath: string, nowMs: number): Promise<Pems | undefined> => {
  const [ca, server] = await Promise.all([readPrivateFile(caPath), readPrivateFile(serverPath)])
  const [certificate, key] = server?.split(/(?=^-----BEGIN PRIVATE KEY-----$)/m) ?? []
  if (ca === undefined || certificate === undefined || key === undefined) return undefined
  const pems = { ca, certificate, key }
  try {
    return isUsable(pems, nowMs) ? pems : undefined
  } catch {
    // The files cannot be parsed, so they are replaced.
    return undefined
  }
}

export interface DevelopmentCertificatesOptions {
  /** Milliseconds since 1970. @default Date.now */
  readonly now?: (() => number) | undefined
}

/**
 * A certificate authority and a TLS server certificate for loopback, with ECDSA on P-256, for development only. They are
 * stored in the folder, readable only by its owner, and reused while both are valid for more than a day. The key of the
 * authority is never stored, so a client that trusts the authority trusts this one server only. Rejects with
 * `missing-dependency` where new certificates are necessary and a package is missing.
 */
export const developmentCertificates = async (
  folder: string,
  { now = Date.now }: DevelopmentCertificatesOptions = {},
): Promise<DevelopmentCertificates> => {
  const caPath = join(folder, 'ca.pem')
  const serverPath = join(folder, 'server.pem')
  const kept = await load(caPath, serverPath, now())
  if (kept !== undefined) return { caPath, ...kept }
  const issued = issue(await loadSignCertificate(), now())
  await writePrivateFile(caPath, issued.ca)
  await writePrivateFile(serverPath, issued.certificate + issued.key)
  return { caPath, ...issued }
}
