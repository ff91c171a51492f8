import { createReadStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defer, of } from 'rxjs'
import { decodeSamples } from '../../src/audio/codec.js'
import { bytesForMs } from '../../src/audio/format.js'
import { bytesOf } from '../../src/audio/pcm.js'
import { readWav } from '../../src/audio/read-wav.js'
import { usageError } from '../../packages/service/src/cli/process/failure.js'
import { sampleCall } from '../../packages/service/src/cli/process/package-files.js'
import { tokenOf, type Access } from '../../packages/service/src/cli/service/access.js'
import { developmentCertificates } from '../../packages/server/src/identity/keys/development-certificates.js'
import { positionAudio } from '../../src/testing/verifying/position-audio.js'
import { verifyingService } from '../../src/testing/verifying/verifying-service.js'
import { audioFormat, audioMs, chunkMs, chunkSamples, type FaultTarget } from './fault-session.js'

/** A service that does not verify what arrives: losses are known only from the ledger of the session. */
export const reachedTarget = (
  { credentials, ...access }: Access,
  audio: readonly Uint8Array[],
  timeoutMs: number | undefined,
): FaultTarget => ({
  ...access,
  token:
    credentials.type === 'token'
      ? { type: 'fixed', token: credentials.token }
      : { type: 'renewed', token$: tokenOf(credentials, { ca: access.ca, timeoutMs, proxy: access.proxy }) },
  audio,
  close: () => Promise.resolve(),
})

/** The first 8 s of the sample call's left channel, so that a recognizer has speech to recognize. */
export const sampleSpeech = async (): Promise<readonly Uint8Array[]> => {
  const { format, audio } = await readWav(createReadStream(sampleCall()))
  const neededBytes = bytesForMs(format, audioMs)
  const read: Uint8Array[] = []
  let readBytes = 0
  for await (const bytes of audio) {
    read.push(bytes)
    readBytes += bytes.length
    if (readBytes >= neededBytes) break
  }
  const samples = decodeSamples(Buffer.concat(read).subarray(0, neededBytes), format.encoding)
  const left = samples.filter((_sample, index) => index % format.channels === 0)
  const bytes = bytesOf(left)
  const chunkBytes = bytesForMs(audioFormat, chunkMs)
  return Array.from({ length: audioMs / chunkMs }, (_, chunk) =>
    bytes.subarray(chunk * chunkBytes, (chunk + 1) * chunkBytes),
  )
}

/** Creates the services of the runs, with TLS. */
export interface ScriptedTargets {
  readonly open: () => Promise<FaultTarget>
  readonly close: () => Promise<void>
}

const positions = Array.from({ length: audioMs / chunkMs }, (_, chunk) =>
  positionAudio(chunk * chunkSamples, chunkSamples),
)

/**
 * The scripted service in this process, which verifies for each sample whether it arrived. It accepts only tokens that
 * it issued, each for one connection, to detect a reused token.
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
