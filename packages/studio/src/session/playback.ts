import { wavHeader } from 'rxspeech/audio'
import type { AudioTrack } from './audio-track.js'

/** Plays the whole recording of a session: the file itself, which the browser reads in pieces. */
export class Playback {
  readonly #audio = new Audio()
  #blob: Blob | undefined
  #url: string | undefined
  /** What is played if the browser cannot play the file, which it could decode. */
  #other: (() => Promise<Blob>) | undefined
  /** Where the recording that is being opened begins to play. */
  #startMs = 0

  /** @param changed it began, ended, moved, or has another length */
  constructor(changed: () => void) {
    for (const event of ['play', 'pause', 'seeked', 'durationchange', 'ended']) {
      this.#audio.addEventListener(event, changed)
    }
    this.#audio.addEventListener('loadedmetadata', () => {
      if (this.#startMs > 0) this.positionMs = this.#startMs
      this.#startMs = 0
    })
    this.#audio.addEventListener('error', () => void this.#openOther())
  }

  get hasAudio(): boolean {
    return this.#blob !== undefined
  }

  /** 0 while it is unknown. */
  get durationMs(): number {
    const { duration } = this.#audio
    return Number.isFinite(duration) ? duration * 1000 : 0
  }

  get isPlaying(): boolean {
    return !this.#audio.paused
  }

  get positionMs(): number {
    return this.#audio.currentTime * 1000
  }

  set positionMs(ms: number) {
    if (this.#audio.readyState === 0) this.#startMs = ms
    else this.#audio.currentTime = ms / 1000
  }

  set rate(rate: number) {
    this.#audio.defaultPlaybackRate = rate
    this.#audio.playbackRate = rate
  }

  set isMuted(isMuted: boolean) {
    this.#audio.muted = isMuted
  }

  /** Opens a recording; nothing happens if it is open. */
  open(blob: Blob | undefined, other?: () => Promise<Blob>): void {
    if (blob === this.#blob) return
    this.#blob = blob
    this.#other = other
    this.#startMs = 0
    this.#audio.pause()
    this.#load(blob)
  }

  /** A browser may refuse, as before a person has clicked anything. */
  play(): void {
    void this.#audio.play().catch(() => undefined)
  }

  pause(): void {
    this.#audio.pause()
  }

  #load(blob: Blob | undefined): void {
    if (this.#url !== undefined) URL.revokeObjectURL(this.#url)
    this.#url = blob === undefined ? undefined : URL.createObjectURL(blob)
    if (this.#url === undefined) this.#audio.removeAttribute('src')
    else this.#audio.src = this.#url
    if (this.#url !== undefined) this.#audio.load()
  }

  async #openOther(): Promise<void> {
    const [blob, other] = [this.#blob, this.#other]
    this.#other = undefined
    if (other === undefined) return
    const converted = await other()
    if (this.#blob === blob) this.#load(converted)
  }
}

/** The audio of a session as a WAV file. */
export const wavOf = async (tracks: readonly AudioTrack[]): Promise<Blob> => {
  const { sampleRateHz = 8000, durationMs = 0 } = tracks[0] ?? {}
  const parts: BlobPart[] = []
  const [mono] = tracks
  if (mono !== undefined && tracks.length === 1) parts.push(mono.blob())
  else for (let ms = 0; ms < durationMs; ms += stepMs) parts.push(await interleaved(tracks, ms))
  const samples = new Blob(parts)
  const header = wavHeader({ encoding: 'pcm', sampleRateHz, channels: tracks.length === 2 ? 2 : 1 }, samples.size)
  return new Blob([new Uint8Array(header), samples], { type: 'audio/wav' })
}

const stepMs = 10_000

const interleaved = async (tracks: readonly AudioTrack[], fromMs: number): Promise<Int16Array<ArrayBuffer>> => {
  const channels = await Promise.all(tracks.map((track) => track.read(fromMs, fromMs + stepMs)))
  const frames = Math.max(...channels.map(({ length }) => length))
  const samples = new Int16Array(frames * channels.length)
  for (const [channel, own] of channels.entries()) {
    for (let at = 0; at < own.length; at += 1) samples[at * channels.length + channel] = own[at] ?? 0
  }
  return samples
}
