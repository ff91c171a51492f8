import {
  createPrivateKey,
  generateKeyPairSync,
  randomBytes,
  X509Certificate,
  createHash,
  createPublicKey,
  sign,
  type KeyObject,
} from 'node:crypto'
import { join } from 'node:path'
import type * as Schema from '@peculiar/asn1-schema'
import type * as X509 from '@peculiar/asn1-x509'
import { readPrivateFile, writePrivateFile } from '../state/state-files.js'
import { loadOptional } from '../../threads/load-optional.js'

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

/** A certificate of RFC 5280 for a P-256 key, signed with ECDSA and SHA-256. */
interface CertificateRequest {
  readonly commonName: string
  readonly publicKey: KeyObject
  readonly issuer: { readonly commonName: string; readonly privateKey: KeyObject }
  /** Milliseconds since 1970. */
  readonly notBeforeMs: number
  readonly notAfterMs: number
  /** An authority that signs only end certificates, or a TLS server with these names and addresses. */
  readonly use:
    | { readonly type: 'authority' }
    | { readonly type: 'server'; readonly names: readonly string[]; readonly addresses: readonly string[] }
}

/** Signs a certificate and returns it as PEM. For a self-signed authority, the issuer is the subject. */
type SignCertificate = (request: CertificateRequest) => string

/** Loads the optional packages for X.509. Rejects with `missing-dependency`. */
export const loadSignCertificate = async (): Promise<SignCertificate> => {
  const [{ AsnConvert, OctetString }, x509] = await Promise.all([
    loadOptional<typeof Schema>('@peculiar/asn1-schema', 'A development certificate'),
    loadOptional<typeof X509>('@peculiar/asn1-x509', 'A development certificate'),
  ])
  return signCertificate(AsnConvert, OctetString, x509)
}

const ecdsaWithSha256 = '1.2.840.10045.4.3.2'
const commonNameId = '2.5.4.3'

const signCertificate =
  (convert: typeof Schema.AsnConvert, OctetString: typeof Schema.OctetString, x509: typeof X509): SignCertificate =>
  ({ commonName, publicKey, issuer, notBeforeMs, notAfterMs, use }) => {
    const algorithm = new x509.AlgorithmIdentifier({ algorithm: ecdsaWithSha256 })
    const nameOf = (text: string): X509.Name =>
      new x509.Name([
        new x509.RelativeDistinguishedName([
          new x509.AttributeTypeAndValue({
            type: commonNameId,
            value: new x509.AttributeValue({ utf8String: text }),
          }),
        ]),
      ])
    const extension = (extnID: string, critical: boolean, value: unknown): X509.Extension =>
      new x509.Extension({ extnID, critical, extnValue: new OctetString(convert.serialize(value)) })
    const tbsCertificate = new x509.TBSCertificate({
      version: x509.Version.v3,
      serialNumber: serialNumber(),
      signature: algorithm,
      issuer: nameOf(issuer.commonName),
      validity: new x509.Validity({ notBefore: new Date(notBeforeMs), notAfter: new Date(notAfterMs) }),
      subject: nameOf(commonName),
      subjectPublicKeyInfo: convert.parse(publicKeyInfo(publicKey), x509.SubjectPublicKeyInfo),
      extensions: new x509.Extensions([
        ...extensionsOf(use, x509, extension),
        extension(x509.id_ce_subjectKeyIdentifier, false, new x509.SubjectKeyIdentifier(keyIdentifier(publicKey))),
        extension(
          x509.id_ce_authorityKeyIdentifier,
          false,
          new x509.AuthorityKeyIdentifier({
            keyIdentifier: new x509.KeyIdentifier(keyIdentifier(createPublicKey(issuer.privateKey))),
          }),
        ),
      ]),
    })
    const signed = convert.serialize(tbsCertificate)
    const signature = sign('sha256', Buffer.from(signed), issuer.privateKey)
    const certificate = new x509.Certificate({
      tbsCertificate,
      signatureAlgorithm: algorithm,
      signatureValue: bytesOf(signature),
    })
    return toPem(convert.serialize(certificate))
  }

const extensionsOf = (
  use: CertificateRequest['use'],
  x509: typeof X509,
  extension: (extnID: string, critical: boolean, value: unknown) => X509.Extension,
): readonly X509.Extension[] => {
  const { KeyUsage, KeyUsageFlags, BasicConstraints } = x509
  if (use.type === 'authority') {
    return [
      extension(x509.id_ce_basicConstraints, true, new BasicConstraints({ cA: true, pathLenConstraint: 0 })),
      extension(x509.id_ce_keyUsage, true, new KeyUsage(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign)),
    ]
  }
  return [
    extension(x509.id_ce_basicConstraints, true, new BasicConstraints()),
    extension(x509.id_ce_keyUsage, true, new KeyUsage(KeyUsageFlags.digitalSignature)),
    extension(x509.id_ce_extKeyUsage, false, new x509.ExtendedKeyUsage([x509.id_kp_serverAuth])),
    extension(
      x509.id_ce_subjectAltName,
      false,
      new x509.SubjectAlternativeName([
        ...use.names.map((dNSName) => new x509.GeneralName({ dNSName })),
        ...use.addresses.map((iPAddress) => new x509.GeneralName({ iPAddress })),
      ]),
    ),
  ]
}

const publicKeyInfo = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' })

/** 160 bits of SHA-256 over the key (RFC 7093 section 2): an uncompressed point of P-256 is the last 65 bytes. */
const keyIdentifier = (key: KeyObject): ArrayBuffer =>
  bytesOf(createHash('sha256').update(publicKeyInfo(key).subarray(-65)).digest().subarray(0, 20))

const bytesOf = (buffer: Buffer): ArrayBuffer => new Uint8Array(buffer).buffer

/** A positive serial number of 127 random bits (RFC 5280 section 4.1.2.2). */
const serialNumber = (): ArrayBuffer => {
  const bytes = randomBytes(16)
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return bytesOf(bytes)
}

const toPem = (der: ArrayBuffer): string => {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}
