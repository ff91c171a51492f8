import { readFile } from 'node:fs/promises'
import { deinterleaveChannels } from '../../../src/audio/channels.js'
import { decodeSamples } from '../../../src/audio/codec.js'
import { bytesOf } from '../../../src/audio/pcm.js'
import { readWav } from '../../../src/audio/read-wav.js'

/** The agent of the sample call: 16-bit samples at 8000 Hz, speech and pauses, from the call's beginning. */
export const spoken = async (durationMs: number): Promise<Uint8Array> => {
  const file = await readFile('samples/call.wav')
  const { format, audio } = await readWav(
    (async function* () {
      yield await Promise.resolve(new Uint8Array(file))
    })(),
  )
  const parts: Uint8Array[] = []
  for await (const part of audio) parts.push(part)
  const [left] = deinterleaveChannels(Buffer.concat(parts), 1)
  return bytesOf(decodeSamples(left.subarray(0, durationMs * 8), format.encoding))
}
