import { decodeChannels } from 'rxspeech/internal/audio/codec'
import { readWav } from 'rxspeech/internal/audio/read-wav'
import type { AudioFormat } from 'rxspeech/internal/audio/format'
import type { ByteChunks } from 'rxspeech/internal/audio/byte-reader'

/** A recording as 16-bit samples. */
export interface Recording {
  readonly sampleRateHz: number
  readonly channelCount: 1 | 2
  /** One after another, parts of the same length of all channels. Can be iterated once. */
  readonly audio: AsyncIterable<readonly Int16Array[]>
}

/** Reads a WAV file. Rejects with `invalid-wav`, also while the audio is read. */
export const readRecording = async (file: ByteChunks): Promise<Recording> => {
  const { format, audio } = await readWav(file)
  return { sampleRateHz: format.sampleRateHz, channelCount: format.channels, audio: channelsOf(audio, format) }
}

/** The recording with one channel, in which both are mixed. */
export const mixChannels = (recording: Recording): Recording =>
  recording.channelCount === 1 ? recording : { ...recording, channelCount: 1, audio: mixed(recording.audio) }

async function* channelsOf(
  audio: AsyncIterable<Uint8Array>,
  format: AudioFormat,
): AsyncGenerator<readonly Int16Array[], undefined> {
  for await (const frames of audio) yield decodeChannels(frames, format)
}

async function* mixed(audio: AsyncIterable<readonly Int16Array[]>): AsyncGenerator<readonly Int16Array[], undefined> {
  for await (const [first = new Int16Array(), second = first] of audio)
    yield [first.map((sample, at) => (sample + (second[at] ?? 0)) / 2)]
}
