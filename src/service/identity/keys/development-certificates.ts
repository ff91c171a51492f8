import { createPrivateKey, generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { readPrivateFile, writePrivateFile } from '../state/state-files.js'
import { signCertificate } from './x509-certificate.js'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** Short of the 398 days that browsers take. */
const lifetimeMs = 365 * dayMs
const renewBeforeMs = dayMs

const loopbackNames = ['localhost']
const loopbackAddresses = ['127.0.0.1', '::1']
const loopbackBytes = [Buffer.from([127, 0, 0, 1]), Buffer.from([...Array<number>(15).fill(0), 1])]

export interface DevelopmentCertificates {
  /** The file of the authority's certificate, for clients that take a path. */
  readonly caPath: string
  /** The authority's certificate, PEM. */
  readonly ca: string
  /** The server's certificate for localhost, 127.0.0.1 and ::1, PEM. */
  readonly certificate: string
  /** The server's private key, PKCS#8 PEM. */
  readonly key: string
}

type Pems = Omit<DevelopmentCertificates, 'caPath'>

const issue = (nowMs: number): Pems => {
  const authority = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const server = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  // A name of its own, so that a client that still trusts an older authority sees another issuer and not a bad signature.
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
      use: { type: 'server', names: loopbackNames, addresses: loopbackBytes },
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
    // Damaged in a way that does not parse; nothing in it is worth keeping.
    return undefined
  }
}

export interface DevelopmentCertificatesOptions {
  /** Milliseconds since 1970; default `Date.now`. */
  readonly now?: () => number
}

/**
 * A certificate authority of its own and a TLS server certificate of it for the loopback, ECDSA on P-256, for
 * development only. Kept in the folder, readable by the owner alone, and used again while both are good for more than
 * a day; made anew when they are not, or are damaged. The authority's key is thrown away at once, so whoever trusts
 * the authority trusts this one server.
 */
export const developmentCertificates = async (
  folder: string,
  { now = Date.now }: DevelopmentCertificatesOptions = {},
): Promise<DevelopmentCertificates> => {
  const caPath = join(folder, 'ca.pem')
  const serverPath = join(folder, 'server.pem')
  const kept = await load(caPath, serverPath, now())
  if (kept !== undefined) return { caPath, ...kept }
  const issued = issue(now())
  await writePrivateFile(caPath, issued.ca)
  await writePrivateFile(serverPath, issued.certificate + issued.key)
  return { caPath, ...issued }
}
