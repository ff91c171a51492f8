import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defer, of } from 'rxjs'
import { developmentCertificates } from '../../service/identity/keys/development-certificates.js'
import { positionAudio } from '../../testing/verifying/position-audio.js'
import { verifyingService } from '../../testing/verifying/verifying-service.js'
import { usageError } from '../process/failure.js'
import { audioMs, chunkMs, chunkSamples, type FaultTarget } from './fault-target.js'

/** Makes services for runs, each of its own, with TLS. */
export interface ScriptedTargets {
  readonly open: () => Promise<FaultTarget>
  readonly close: () => Promise<void>
}

const positions = Array.from({ length: audioMs / chunkMs }, (_, chunk) =>
  positionAudio(chunk * chunkSamples, chunkSamples),
)

/**
 * The scripted service of this process, which knows of every sample whether it arrived. It takes only tokens that it
 * gave, each good for one connection, so that a token that is used again is found out.
 */
export const scriptedTargets = async (): Promise<ScriptedTargets> => {
  const folder = await mkdtemp(join(tmpdir(), 'rxspeech-')).catch((error: unknown) => {
    throw usageError(`The folder for temporary files ${tmpdir()} cannot be written to; set TMPDIR to another.`, error)
  })
  const close = () => rm(folder, { recursive: true, force: true })
  try {
    const { ca, certificate, key } = await developmentCertificates(folder)
    return { open: () => openTarget(ca, { certificate, key }), close }
  } catch (error) {
    await close()
    throw error
  }
}

const openTarget = async (
  ca: string,
  certificate: { readonly certificate: string; readonly key: string },
): Promise<FaultTarget> => {
  const good = new Set<string>()
  let count = 0
  const service = verifyingService({ accepts: (token) => good.delete(token) })
  const listening = await service.listen({ certificate })
  return {
    url: listening.url,
    grpc: listening.address,
    isPlaintext: false,
    ca,
    tenant: 'Default',
    project: 'verifying',
    model: { name: 'verifying' },
    token: {
      type: 'renewed',
      token$: defer(() => {
        count += 1
        good.add(`token-${count}`)
        return of(`token-${count}`)
      }),
    },
    audio: positions,
    verifier: service,
    close: () => listening.close(),
  }
}
