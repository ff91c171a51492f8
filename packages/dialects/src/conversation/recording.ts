import { decodeChannels } from 'rxspeech/internal/audio/codec'
import { bytesOf } from 'rxspeech/internal/audio/pcm'
import { readWav } from 'rxspeech/internal/audio/read-wav'
import type { AudioFormat } from 'rxspeech/internal/audio/format'
import type { ByteChunks } from 'rxspeech/internal/audio/byte-reader'

/** A recording as 16-bit samples of one channel. */
export interface Recording {
  readonly sampleRateHz: number
  readonly audio: AsyncIterable<Uint8Array>
}

/** Reads a WAV file; channels are mixed. Rejects with `invalid-wav`, also while the audio is read. */
export const readRecording = async (file: ByteChunks): Promise<Recording> => {
  const { format, audio } = await readWav(file)
  return { sampleRateHz: format.sampleRateHz, audio: mono(audio, format) }
}

async function* mono(audio: AsyncIterable<Uint8Array>, format: AudioFormat): AsyncGenerator<Uint8Array, undefined> {
  for await (const frames of audio) {
    const [first = new Int16Array(), second] = decodeChannels(frames, format)
    yield bytesOf(second === undefined ? first : first.map((sample, at) => (sample + (second[at] ?? 0)) / 2))
  }
}
