import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { developmentCertificates } from '../src/identity/keys/development-certificates.js'

/** PEM of a CA, and of a certificate for this machine with its key. */
export interface TestCertificates {
  readonly ca: string
  readonly key: string
  readonly certificate: string
}

export const testCertificates = async (): Promise<TestCertificates> => {
  const folder = await mkdtemp(join(tmpdir(), 'link-contract-'))
  try {
    return await developmentCertificates(folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}
