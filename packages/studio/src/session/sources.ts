import { connectable, map, Subject, type Connectable, type Observable } from 'rxjs'
import { type AudioFormat, pace, readWav } from 'rxspeech'
import { bytesOf, decodeALaw, decodeMuLaw, samplesOf } from 'rxspeech/audio'
import { openMicrophone } from './microphone.js'

/** Audio for a session: chunks of 16-bit PCM, for each channel. */
export interface Source {
  readonly title: string
  readonly channels: readonly string[]
  readonly sampleRateHz: number
  /** Emits one chunk for each channel. Each subscription starts it anew. */
  readonly chunks$: Observable<readonly Uint8Array[]>
  /** The audio that is played aloud; absent for a microphone. */
  readonly recording?: Recording
}

/** Decoded audio. */
export interface Recording {
  readonly sampleRateHz: number
  readonly channels: readonly Int16Array<ArrayBuffer>[]
  /** What is wrong with the file, of which this is all that can be read. */
  readonly fault?: string
}

/** Sampling rates that every model takes. */
const speechRates = [8000, 16_000]

/** Reads a file: WAV sample by sample, everything else as the browser decodes it, resampled to `sampleRateHz`. */
export const readAudioFile = async (file: Blob, sampleRateHz: number): Promise<Recording> => {
  const wav = await readSpeechWav(file)
  if (wav !== undefined) return wav
  const bytes = await file.arrayBuffer()
  const decoded = await new OfflineAudioContext(1, 1, sampleRateHz).decodeAudioData(bytes).catch(() => undefined)
  if (decoded === undefined) {
    throw new Error('The browser cannot decode this file. Choose a WAV, MP3, Ogg, FLAC or M4A file.')
  }
  const channels = Array.from({ length: Math.min(2, decoded.numberOfChannels) }, (_, channel) =>
    pcmOf(decoded.getChannelData(channel)),
  )
  return { sampleRateHz, channels: withoutCopies(channels) }
}

const pcmOf = (values: Float32Array): Int16Array<ArrayBuffer> => {
  const samples = new Int16Array(values.length)
  for (let at = 0; at < samples.length; at += 1) samples[at] = Math.max(-1, Math.min(1, values[at] ?? 0)) * 32_767
  return samples
}

const readSpeechWav = async (file: Blob): Promise<Recording | undefined> => {
  // The browser may know what `readWav` does not.
  const wav = await readWav(file.stream()).catch(() => undefined)
  if (wav === undefined) return undefined
  if (!speechRates.includes(wav.format.sampleRateHz)) {
    await wav.audio[Symbol.asyncIterator]().return?.()
    return undefined
  }
  const parts: Uint8Array<ArrayBuffer>[] = []
  let fault: string | undefined
  try {
    for await (const part of wav.audio) parts.push(new Uint8Array(part))
  } catch (error) {
    // Its end is wrong; a browser would read no more of it, but less.
    fault = error instanceof Error ? error.message : 'The file cannot be read to its end.'
  }
  const bytes = new Uint8Array(await new Blob(parts).arrayBuffer())
  return {
    sampleRateHz: wav.format.sampleRateHz,
    channels: withoutCopies(channelsOf(bytes, wav.format)),
    ...(fault !== undefined && { fault }),
  }
}

const channelsOf = (bytes: Uint8Array, { encoding, channels }: AudioFormat): readonly Int16Array<ArrayBuffer>[] => {
  const samples = encoding === 'pcm' ? samplesOf(bytes) : encoding === 'ulaw' ? decodeMuLaw(bytes) : decodeALaw(bytes)
  return Array.from({ length: channels }, (_, channel) => {
    const own = new Int16Array(Math.floor(samples.length / channels))
    for (let at = 0; at < own.length; at += 1) own[at] = samples[at * channels + channel] ?? 0
    return own
  })
}

/** Stereo files often have the same audio on both channels; one recognition is enough for them. */
const withoutCopies = (channels: readonly Int16Array<ArrayBuffer>[]): readonly Int16Array<ArrayBuffer>[] => {
  const [left, right] = channels
  if (left === undefined || right === undefined) return channels
  return left.every((sample, at) => sample === right[at]) ? [left] : channels
}

/** Loads the sample call. `progress` gets how much of it is loaded, if that is known: a slow network takes seconds. */
export const loadSample = async (url: string, progress: (percent: number | undefined) => void): Promise<Blob> => {
  progress(undefined)
  const { ok, status, body, headers } = await fetch(url)
  if (!ok || body === null) throw new Error(`The sample call cannot be loaded: the service answered ${status}.`)
  const totalBytes = Number(headers.get('content-length') ?? 0)
  const parts: Uint8Array<ArrayBuffer>[] = []
  let bytes = 0
  const reader = body.getReader()
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value)
    bytes += part.value.length
    progress(totalBytes > 0 ? Math.floor((bytes / totalBytes) * 100) : undefined)
  }
  return new Blob(parts)
}

/** A recording at the pace of speech. */
export const recordingSource = (recording: Recording, title: string, names: readonly string[]): Source => {
  const { sampleRateHz, channels } = recording
  const count = channels.length
  const format = { encoding: 'pcm', sampleRateHz, channels: count } as AudioFormat
  const frames = channels[0]?.length ?? 0
  const interleaved = new Int16Array(frames * count)
  for (const [channel, samples] of channels.entries()) {
    for (let at = 0; at < frames; at += 1) interleaved[at * count + channel] = samples[at] ?? 0
  }
  return {
    title,
    sampleRateHz,
    recording,
    channels: channels.map((_, channel) => names[channel] ?? `Channel ${channel + 1}`),
    chunks$: pace({ format, maxCatchUpMs: 5000 })([bytesOf(interleaved)]).pipe(
      map((bytes) => channelsOf(bytes, format).map(bytesOf)),
    ),
  }
}

/** The microphone, as one channel. */
export const microphoneSource = (deviceId: string, sampleRateHz: 8000 | 16_000): Source => ({
  title: 'Microphone',
  sampleRateHz,
  channels: ['You'],
  chunks$: openMicrophone(deviceId, sampleRateHz).pipe(map((bytes) => [bytes])),
})

/** Starts when it is connected, so that the sessions of all channels get the first chunk. */
export const started = (chunks$: Observable<readonly Uint8Array[]>): Connectable<readonly Uint8Array[]> =>
  connectable(chunks$, { connector: () => new Subject(), resetOnDisconnect: false })
