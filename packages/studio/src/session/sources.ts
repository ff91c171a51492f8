import { connectable, map, Subject, type Connectable, type Observable } from 'rxjs'
import { pace, type AudioFormat } from 'rxspeech'
import { bytesOf } from 'rxspeech/audio'
import type { AudioTrack } from './audio-track.js'
import { fetchOfService } from './config.js'
import { openMicrophone } from './microphone.js'
import { channelsOf, type Recording } from './read-recording.js'

/** Audio for a session: 16-bit PCM, for each channel. */
export type Source = LiveSource | RecordedSource

interface AnySource {
  readonly title: string
  /** The names of the speakers. */
  readonly channels: readonly string[]
  readonly sampleRateHz: number
}

/** Audio at the pace of speech. */
export interface LiveSource extends AnySource {
  readonly type: 'live'
  /** Emits one chunk for each channel. Each subscription starts it anew. */
  readonly chunks$: Observable<readonly Uint8Array[]>
}

/** A recording, which is read as fast as the service takes it. */
export interface RecordedSource extends AnySource {
  readonly type: 'recorded'
  readonly tracks: readonly AudioTrack[]
}

const named = ({ tracks }: Recording, names: readonly string[]): readonly string[] =>
  tracks.map((_, channel) => names[channel] ?? `Channel ${channel + 1}`)

export const recordedSource = (recording: Recording, title: string, names: readonly string[] = []): RecordedSource => ({
  type: 'recorded',
  title,
  sampleRateHz: recording.sampleRateHz,
  channels: recording.tracks.length === 1 && names.length === 0 ? [''] : named(recording, names),
  tracks: recording.tracks,
})

/** A short recording at the pace of speech. */
export const playedSource = async (recording: Recording, title: string, names: readonly string[]): Promise<Source> => {
  const { sampleRateHz, tracks } = recording
  const channels = await Promise.all(tracks.map((track) => track.read(0, track.durationMs)))
  const count = channels.length
  const format = { encoding: 'pcm', sampleRateHz, channels: count } as AudioFormat
  const frames = channels[0]?.length ?? 0
  const interleaved = new Int16Array(frames * count)
  for (const [channel, samples] of channels.entries()) {
    for (let at = 0; at < frames; at += 1) interleaved[at * count + channel] = samples[at] ?? 0
  }
  return {
    type: 'live',
    title,
    sampleRateHz,
    channels: named(recording, names),
    chunks$: pace({ format, maxCatchUpMs: 5000 })([bytesOf(interleaved)]).pipe(
      map((bytes) => channelsOf(bytes, format).map(bytesOf)),
    ),
  }
}

/** The microphone, as one channel. */
export const microphoneSource = (deviceId: string, sampleRateHz: 8000 | 16_000): Source => ({
  type: 'live',
  title: 'Microphone',
  sampleRateHz,
  channels: ['You'],
  chunks$: openMicrophone(deviceId, sampleRateHz).pipe(map((bytes) => [bytes])),
})

/** Starts when it is connected, so that the sessions of all channels get the first chunk. */
export const started = (chunks$: Observable<readonly Uint8Array[]>): Connectable<readonly Uint8Array[]> =>
  connectable(chunks$, { connector: () => new Subject(), resetOnDisconnect: false })

const chunkMs = 100
const pieceMs = 10_000

/** The audio of a track in chunks, each when it is asked for; `read` gets how much has been. */
export async function* chunksOf(track: AudioTrack, read: (ms: number) => void): AsyncGenerator<Uint8Array, undefined> {
  const samplesPerChunk = (track.sampleRateHz * chunkMs) / 1000
  for (let fromMs = 0; fromMs < track.durationMs; fromMs += pieceMs) {
    const samples = await track.read(fromMs, fromMs + pieceMs)
    for (let at = 0; at < samples.length; at += samplesPerChunk) {
      const chunk = samples.subarray(at, at + samplesPerChunk)
      read(fromMs + ((at + chunk.length) / track.sampleRateHz) * 1000)
      yield bytesOf(chunk)
    }
  }
  return undefined
}

/** Loads the sample call. `progress` gets how much of it is loaded, if that is known: a slow network takes seconds. */
export const loadSample = async (
  url: string,
  progress: (percent: number | undefined) => void,
  signal: AbortSignal,
): Promise<Blob> => {
  progress(undefined)
  const { ok, status, body, headers } = await fetchOfService(url, { signal })
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
  return new Blob(parts, { type: 'audio/wav' })
}
