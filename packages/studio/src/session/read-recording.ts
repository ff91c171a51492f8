import { readWav, type AudioFormat, type WavStream } from 'rxspeech'
import { bytesOf, decodeALaw, decodeMuLaw, samplesOf } from 'rxspeech/audio'
import { AudioTrack } from './audio-track.js'

/** Decoded audio: one track for each channel, of which the browser may keep the samples on disk. */
export interface Recording {
  readonly sampleRateHz: number
  readonly tracks: readonly AudioTrack[]
  /** What is wrong with the file, of which this is all that can be read. */
  readonly fault?: string
}

/** Sampling rates that every model takes. */
const speechRates = [8000, 16_000]
/** How much of a WAV file of another rate is resampled at once. */
const resampledSeconds = 30

/**
 * Reads a file: WAV piece by piece, and what the browser decodes otherwise, audio or video. What has not the rate of
 * speech is resampled to `sampleRateHz`. Rejects with an Error whose message says what to do, or because `signal` is
 * aborted.
 */
export const readRecording = async (file: Blob, sampleRateHz: number, signal: AbortSignal): Promise<Recording> => {
  // The browser may know what `readWav` does not.
  const wav = await readWav(file.stream().pipeThrough(new TransformStream(), { signal })).catch(() => undefined)
  if (wav !== undefined) {
    const recording = await readWavTracks(wav, sampleRateHz)
    signal.throwIfAborted()
    return recording
  }
  const bytes = await file.arrayBuffer().catch(() => {
    throw new Error('The browser cannot hold this file. Convert it to a WAV file of 16 kHz, which is read in pieces.')
  })
  signal.throwIfAborted()
  const decoded = await new OfflineAudioContext(1, 1, sampleRateHz).decodeAudioData(bytes).catch(() => undefined)
  if (decoded === undefined) {
    throw new Error('The browser cannot decode this file. Choose an audio or video file, such as WAV, MP3, M4A or MP4.')
  }
  const writer = new TrackWriter(sampleRateHz, decoded.numberOfChannels)
  const step = sampleRateHz * resampledSeconds
  for (let at = 0; at < decoded.length; at += step) writer.add(pcmOf(decoded, at, at + step))
  return { sampleRateHz, tracks: writer.tracks() }
}

const readWavTracks = async ({ format, audio }: WavStream, sampleRateHz: number): Promise<Recording> => {
  const isOfSpeech = speechRates.includes(format.sampleRateHz)
  const rateHz = isOfSpeech ? format.sampleRateHz : sampleRateHz
  const writer = new TrackWriter(rateHz, format.channels)
  let fault: string | undefined
  try {
    if (isOfSpeech) for await (const bytes of audio) writer.add(channelsOf(bytes, format))
    else for await (const samples of resampled(audio, format, rateHz)) writer.add(samples)
  } catch (error) {
    // Its end is wrong; a browser would read no more of it, but less.
    fault = error instanceof Error ? error.message : 'The file cannot be read to its end.'
  }
  return { sampleRateHz: rateHz, tracks: writer.tracks(), ...(fault !== undefined && { fault }) }
}

type Samples = readonly Int16Array<ArrayBuffer>[]

async function* resampled(
  audio: AsyncIterable<Uint8Array>,
  format: AudioFormat,
  toHz: number,
): AsyncGenerator<Samples, undefined> {
  const { sampleRateHz, channels } = format
  // A whole number of seconds has a whole number of samples at both rates.
  const step = sampleRateHz * resampledSeconds
  let parts = Array.from({ length: channels }, () => new Float32Array(step))
  let filled = 0
  const convert = async (): Promise<Samples> => {
    const length = Math.ceil((filled * toHz) / sampleRateHz)
    const context = new OfflineAudioContext(channels, length, toHz)
    const buffer = context.createBuffer(channels, filled, sampleRateHz)
    for (const [channel, part] of parts.entries()) buffer.copyToChannel(part.subarray(0, filled), channel)
    const source = context.createBufferSource()
    source.buffer = buffer
    source.connect(context.destination)
    source.start()
    parts = parts.map(() => new Float32Array(step))
    filled = 0
    return pcmOf(await context.startRendering(), 0, length)
  }
  try {
    for await (const bytes of audio) {
      const pieces = channelsOf(bytes, format)
      const length = pieces[0]?.length ?? 0
      for (let at = 0; at < length;) {
        const end = Math.min(length, at + step - filled)
        for (const [channel, samples] of pieces.entries()) {
          const part = parts[channel]
          for (let from = at; part !== undefined && from < end; from += 1)
            part[filled + from - at] = (samples[from] ?? 0) / 32_768
        }
        filled += end - at
        at = end
        if (filled === step) yield await convert()
      }
    }
  } finally {
    // What came before a fault is read.
    if (filled > 0) yield await convert()
  }
  return undefined
}

/** Writes the samples of a file into tracks. */
class TrackWriter {
  readonly #tracks: readonly AudioTrack[]
  #isSame = true

  constructor(sampleRateHz: number, channels: number) {
    this.#tracks = Array.from({ length: Math.min(2, channels) }, () => new AudioTrack(sampleRateHz))
  }

  add(samples: Samples): void {
    for (const [channel, track] of this.#tracks.entries()) track.add(bytesOf(samples[channel] ?? new Int16Array()))
    const [left, right] = samples
    this.#isSame &&= left?.every((sample, at) => sample === right?.[at]) === true
  }

  /** Stereo files often have the same audio on both channels; one recognition is enough for them. */
  tracks(): readonly AudioTrack[] {
    return this.#isSame ? this.#tracks.slice(0, 1) : this.#tracks
  }
}

const pcmOf = (decoded: AudioBuffer, from: number, to: number): Samples =>
  Array.from({ length: Math.min(2, decoded.numberOfChannels) }, (_, channel) => {
    const values = decoded.getChannelData(channel).subarray(from, to)
    const samples = new Int16Array(values.length)
    for (let at = 0; at < samples.length; at += 1) samples[at] = Math.max(-1, Math.min(1, values[at] ?? 0)) * 32_767
    return samples
  })

/** The samples of each channel. @param bytes whole frames */
export const channelsOf = (bytes: Uint8Array, { encoding, channels }: AudioFormat): Samples => {
  const samples = encoding === 'pcm' ? samplesOf(bytes) : encoding === 'ulaw' ? decodeMuLaw(bytes) : decodeALaw(bytes)
  return Array.from({ length: channels }, (_, channel) => {
    const own = new Int16Array(Math.floor(samples.length / channels))
    for (let at = 0; at < own.length; at += 1) own[at] = samples[at * channels + channel] ?? 0
    return own
  })
}
