import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { ServerCertificate } from 'rxspeech/internal/transport/listen-address'
import { usageError } from '../process/failure.js'

/** The text of the file of a flag. Throws `invalid-options`. */
const readFlagFile = (flag: string, file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw usageError(`${flag} names ${file}, which cannot be read; check the name and its permissions.`, error)
  }
}

/** The PEM certificates of a file that a flag names. Throws `invalid-options`. */
export const readCertificates = (flag: string, file: string): string => {
  const text = readFlagFile(flag, file)
  try {
    new X509Certificate(text)
  } catch (error) {
    throw usageError(`${flag} names ${file}, which contains no certificate in PEM.`, error)
  }
  return text
}

export interface CertificateFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** The certificate chain and the key of a service. Throws `invalid-options`, which names the invalid file. */
export const readServerCertificate = (files: CertificateFiles): ServerCertificate => {
  const { certFile, keyFile } = files
  const certificate = readCertificates('--cert', certFile)
  const key = readFlagFile('--key', keyFile)
  try {
    createPrivateKey(key)
  } catch {
    // Without the cause: it may show the secret.
    throw usageError(`--key names ${keyFile}, which contains no private key in PEM without a passphrase.`)
  }
  return { certificate, key, readAgain: () => readServerCertificate(files) }
}

/** The same for the names of a configuration file; undefined if it has none. */
export const certificateOfFile = (
  tls: { readonly certificateFile?: string | undefined; readonly keyFile?: string | undefined } | undefined,
  path: (name: string) => string,
): ServerCertificate | undefined =>
  tls?.certificateFile === undefined || tls.keyFile === undefined
    ? undefined
    : readServerCertificate({ certFile: path(tls.certificateFile), keyFile: path(tls.keyFile) })
