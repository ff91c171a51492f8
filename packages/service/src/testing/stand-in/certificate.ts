import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { developmentCertificates } from 'rxspeech-server/identity/keys/development-certificates'
import type { ServerCertificate } from 'rxspeech/internal/transport/listen-address'

export interface StandInCertificate extends ServerCertificate {
  /** The certificate of the authority, PEM, and the path of its file. */
  readonly ca: { readonly pem: string; readonly path: string }
  readonly remove: () => Promise<void>
}

/** A certificate for localhost, in a folder of its own or in one that keeps it. */
export const openCertificate = async (tls: boolean | string): Promise<StandInCertificate | undefined> => {
  if (tls === false) return undefined
  const folder = tls === true ? await mkdtemp(join(tmpdir(), 'rxspeech-stand-in-')) : tls
  const { ca, caPath, certificate, key } = await developmentCertificates(folder)
  return {
    certificate,
    key,
    ca: { pem: ca, path: caPath },
    remove: async () => {
      if (tls === true) await rm(folder, { recursive: true, force: true })
    },
  }
}
