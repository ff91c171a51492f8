import { deinterleaveChannels } from '../../../../src/audio/channels.js'
import { decodeSamples } from '../../../../src/audio/codec.js'
import { bytesOf } from '../../../../src/audio/pcm.js'
import { readRecording } from '../../../../test/audio/read-recording.js'

/** The agent of the sample call: 16-bit samples at 8000 Hz, speech and pauses, from the call's beginning. */
export const spoken = async (durationMs: number): Promise<Uint8Array> => {
  const { format, bytes } = await readRecording('samples/call.wav')
  const [left] = deinterleaveChannels(bytes, 1)
  return bytesOf(decodeSamples(left.subarray(0, durationMs * 8), format.encoding))
}
