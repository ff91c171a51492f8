import { createPrivateKey, KeyObject, randomBytes, webcrypto, X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import type * as X509 from '@peculiar/x509'
import { readPrivateFile, writePrivateFile } from '../state/state-files.js'

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

const issue = async (nowMs: number): Promise<Pems> => {
  const [authority, server] = [await createCertificateKeys(), await createCertificateKeys()]
  // A unique name, so that a client that trusts an older authority sees another issuer instead of an invalid signature.
  const commonName = `rxspeech development ${randomBytes(4).toString('hex')}`
  const common = {
    issuer: { commonName, keys: authority },
    notBeforeMs: nowMs - hourMs,
    notAfterMs: nowMs + lifetimeMs,
  }
  return {
    ca: await signCertificate({ ...common, commonName, publicKey: authority.publicKey, use: { type: 'authority' } }),
    certificate: await signCertificate({
      ...common,
      commonName: 'localhost',
      publicKey: server.publicKey,
      use: { type: 'server', names: loopbackNames, addresses: loopbackAddresses },
    }),
    key: privateKeyPem(server),
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
 * A certificate authority and a TLS server certificate for loopback, with ECDSA on P-256, for development only. They
 * are stored in the folder, readable only by its owner, and reused while both are valid for more than a day. The key of
 * the authority is never stored, so a client that trusts the authority trusts this one server only. Rejects with
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
  const issued = await issue(now())
  await writePrivateFile(caPath, issued.ca)
  await writePrivateFile(serverPath, issued.certificate + issued.key)
  return { caPath, ...issued }
}

/** A certificate of RFC 5280 for a P-256 key, signed with ECDSA and SHA-256. */
interface CertificateRequest {
  readonly commonName: string
  readonly publicKey: webcrypto.CryptoKey
  readonly issuer: { readonly commonName: string; readonly keys: webcrypto.CryptoKeyPair }
  /** Milliseconds since 1970. */
  readonly notBeforeMs: number
  readonly notAfterMs: number
  /** An authority that signs only end certificates, or a TLS server with these names and addresses. */
  readonly use:
    | { readonly type: 'authority' }
    | { readonly type: 'server'; readonly names: readonly string[]; readonly addresses: readonly string[] }
}

const ecdsa = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

/** Keys for `signCertificate`. */
export const createCertificateKeys = (): Promise<webcrypto.CryptoKeyPair> =>
  webcrypto.subtle.generateKey(ecdsa, true, ['sign', 'verify'])

/** The PKCS#8 PEM of the private key. */
export const privateKeyPem = ({ privateKey }: webcrypto.CryptoKeyPair): string =>
  KeyObject.from(privateKey).export({ type: 'pkcs8', format: 'pem' }).toString()

/** Signs a certificate and returns it as PEM. Rejects with `missing-dependency`. */
export const signCertificate = async (request: CertificateRequest): Promise<string> => {
  const { commonName, publicKey, issuer, notBeforeMs, notAfterMs, use } = request
  // The second one does not load without the first one, which adds functions to the global `Reflect`.
  await import('reflect-metadata')
  const x509 = await import('@peculiar/x509')
  const certificate = await x509.X509CertificateGenerator.create({
    subject: [{ CN: [commonName] }],
    issuer: [{ CN: [issuer.commonName] }],
    notBefore: new Date(notBeforeMs),
    notAfter: new Date(notAfterMs),
    publicKey,
    signingKey: issuer.keys.privateKey,
    signingAlgorithm: ecdsa,
    extensions: [
      ...extensionsOf(use, x509),
      await x509.SubjectKeyIdentifierExtension.create(publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.keys.publicKey),
    ],
  })
  return `${certificate.toString('pem')}\n`
}

const extensionsOf = (use: CertificateRequest['use'], x509: typeof X509): readonly X509.Extension[] => {
  const { BasicConstraintsExtension, KeyUsageFlags, KeyUsagesExtension } = x509
  if (use.type === 'authority') {
    return [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    ]
  }
  return [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
    new x509.SubjectAlternativeNameExtension([
      ...use.names.map((value) => ({ type: 'dns', value }) as const),
      ...use.addresses.map((value) => ({ type: 'ip', value }) as const),
    ]),
  ]
}
