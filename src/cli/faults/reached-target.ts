import { createReadStream } from 'node:fs'
import { bytesForMs } from '../../audio/format.js'
import { decodeSamples } from '../../audio/codec.js'
import { bytesOf } from '../../audio/pcm.js'
import { readWav } from '../../audio/read-wav.js'
import { sampleCall } from '../process/package-files.js'
import type { Access } from '../service/access.js'
import { tokenOf } from '../service/token-of.js'
import { audioFormat, audioMs, chunkMs, type FaultTarget } from './fault-target.js'

/** A service that is reached by its addresses: what it does with the audio only the session's own account can say. */
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

/** The first 8 s of the sample call's left channel, so that a recognizer has something to recognize. */
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
