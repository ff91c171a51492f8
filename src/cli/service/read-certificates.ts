import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { usageError } from '../process/failure.js'

/** The text of a file that a flag names. Throws `invalid-options`. */
export const readFlagFile = (flag: string, file: string): string => {
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
    throw usageError(`${flag} names ${file}, which holds no certificate in PEM.`, error)
  }
  return text
}
