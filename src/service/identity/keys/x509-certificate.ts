import { createHash, createPublicKey, randomBytes, sign, type KeyObject } from 'node:crypto'
import {
  bitString,
  boolean,
  explicit,
  implicit,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  set,
  time,
  utf8String,
} from './der.js'

/** A certificate of RFC 5280 for a key on P-256, signed with ECDSA and SHA-256. */
export interface CertificateRequest {
  readonly commonName: string
  readonly publicKey: KeyObject
  readonly issuer: { readonly commonName: string; readonly privateKey: KeyObject }
  /** Milliseconds since 1970. */
  readonly notBeforeMs: number
  readonly notAfterMs: number
  /** An authority that signs only end certificates, or a TLS server of these names and addresses. */
  readonly use:
    | { readonly type: 'authority' }
    | { readonly type: 'server'; readonly names: readonly string[]; readonly addresses: readonly Uint8Array[] }
}

const ecdsaWithSha256 = sequence(objectIdentifier('1.2.840.10045.4.3.2'))

const name = (commonName: string): Buffer =>
  sequence(set(sequence(objectIdentifier('2.5.4.3'), utf8String(commonName))))

const publicKeyInfo = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' })

/** 160 bits of SHA-256 over the key (RFC 7093 section 2): an uncompressed point of P-256 is the last 65 bytes. */
const keyIdentifier = (key: KeyObject): Buffer =>
  createHash('sha256').update(publicKeyInfo(key).subarray(-65)).digest().subarray(0, 20)

const extension = (id: string, critical: boolean, value: Uint8Array): Buffer =>
  sequence(objectIdentifier(id), ...(critical ? [boolean(true)] : []), octetString(value))

const keyUsage = '2.5.29.15'
const subjectAlternativeName = '2.5.29.17'
const basicConstraints = '2.5.29.19'
const extendedKeyUsage = '2.5.29.37'
const serverAuthentication = '1.3.6.1.5.5.7.3.1'

const extensionsOfUse = (use: CertificateRequest['use']): readonly Buffer[] => {
  if (use.type === 'authority') {
    const keyCertSignAndCrlSign = bitString(Buffer.from([0b0000_0110]), 1)
    return [
      extension(basicConstraints, true, sequence(boolean(true), integer(Buffer.from([0])))),
      extension(keyUsage, true, keyCertSignAndCrlSign),
    ]
  }
  const digitalSignature = bitString(Buffer.from([0b1000_0000]), 7)
  const names = use.names.map((host) => implicit(2, Buffer.from(host, 'ascii')))
  const addresses = use.addresses.map((address) => implicit(7, address))
  return [
    extension(basicConstraints, true, sequence()),
    extension(keyUsage, true, digitalSignature),
    extension(extendedKeyUsage, false, sequence(objectIdentifier(serverAuthentication))),
    extension(subjectAlternativeName, false, sequence(...names, ...addresses)),
  ]
}

const toPem = (bytes: Uint8Array): string => {
  const lines =
    Buffer.from(bytes)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}

/** A serial number of 127 random bits, never zero (RFC 5280 section 4.1.2.2). */
const serialNumber = (): Buffer => {
  const bytes = randomBytes(16)
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return bytes
}

/** Signs a certificate and returns it as PEM. For an authority of its own, the issuer is the subject. */
export const signCertificate = (request: CertificateRequest): string => {
  const { commonName, publicKey, issuer, notBeforeMs, notAfterMs, use } = request
  const version3 = explicit(0, integer(Buffer.from([2])))
  const issuerKeyIdentifier = keyIdentifier(createPublicKey(issuer.privateKey))
  const extensions = sequence(
    ...extensionsOfUse(use),
    extension('2.5.29.14', false, octetString(keyIdentifier(publicKey))),
    extension('2.5.29.35', false, sequence(implicit(0, issuerKeyIdentifier))),
  )
  const toBeSigned = sequence(
    version3,
    integer(serialNumber()),
    ecdsaWithSha256,
    name(issuer.commonName),
    sequence(time(notBeforeMs), time(notAfterMs)),
    name(commonName),
    publicKeyInfo(publicKey),
    explicit(3, extensions),
  )
  const signature = sign('sha256', toBeSigned, issuer.privateKey)
  return toPem(sequence(toBeSigned, ecdsaWithSha256, bitString(signature)))
}
