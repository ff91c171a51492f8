import { deinterleaveChannels } from '../../../audio/channels.js'
import { bytesPerFrame, bytesPerSample, msForBytes, type AudioFormat } from '../../../audio/format.js'
import type { SpeechError } from '../../../errors/speech-error.js'
import { WavFileWriter } from './wav-file-writer.js'

export interface RecordingPlan {
  readonly folder: string
  /** Of each file, without channel and ending. */
  readonly name: string
  readonly format: AudioFormat
  /** A file for each channel. */
  readonly apart: boolean
  readonly maxFrames: number
  /** So many more frames need not be waited for. */
  readonly consumed: (frameCount: number) => void
  /** Called with the first fault, maybe more than once. */
  readonly onFault: (fault: SpeechError) => void
}

export interface Recorded {
  /** The name only. */
  readonly file: string
  /** Absent where the file has all. */
  readonly channel: number | undefined
  readonly durationMs: number
}

/** What may wait for the disk before more is asked for. */
const roomBytes = 256 * 1024

/** The files of one recording, and how much of its audio they have taken. */
export class Recording {
  readonly #plan: RecordingPlan
  readonly #files: readonly WavFileWriter[]
  #frames = 0
  #isTruncated = false
  #owedFrames = 0
  #closing: Promise<readonly Recorded[]> | undefined

  constructor(plan: RecordingPlan) {
    this.#plan = plan
    const { folder, name, format, apart } = plan
    const onProgress = (): void => {
      this.#settle()
    }
    const channels = apart ? Array.from({ length: format.channels }, (_none, channel) => String(channel)) : ['all']
    const fileFormat: AudioFormat = apart ? { ...format, channels: 1 } : format
    this.#files = channels.map((channel) => new WavFileWriter(folder, `${name}-${channel}`, fileFormat, onProgress))
  }

  /** Whether there was more than it may take. */
  get isTruncated(): boolean {
    return this.#isTruncated
  }

  /** Takes whole frames, as many as there is room for. */
  add(bytes: Uint8Array): void {
    const { format, apart, maxFrames } = this.#plan
    const frameBytes = bytesPerFrame(format)
    const taken = bytes.subarray(0, Math.max(0, maxFrames - this.#frames) * frameBytes)
    this.#frames += taken.byteLength / frameBytes
    this.#isTruncated ||= taken.byteLength < bytes.byteLength
    this.#owedFrames += bytes.byteLength / frameBytes
    const parts = apart && format.channels === 2 ? deinterleaveChannels(taken, bytesPerSample(format)) : [taken]
    this.#files.forEach((file, index) => {
      file.add(parts[index] ?? new Uint8Array(0))
    })
    this.#settle()
  }

  /** Ends the files; what was recorded, nothing where there was no audio, or the first fault. The same for every call. */
  close(): Promise<readonly Recorded[]> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<readonly Recorded[]> {
    const { format, apart } = this.#plan
    const ended = await Promise.allSettled(this.#files.map((file) => file.close()))
    const durationMs = Math.round(msForBytes(format, this.#frames * bytesPerFrame(format)))
    return ended.flatMap((one, index) => {
      if (one.status === 'rejected') throw one.reason
      return one.value === undefined ? [] : [{ file: one.value, channel: apart ? index : undefined, durationMs }]
    })
  }

  #settle(): void {
    const fault = this.#files.find((file) => file.fault !== undefined)?.fault
    if (fault !== undefined) {
      if (this.#closing === undefined) this.#plan.onFault(fault)
      return
    }
    if (this.#owedFrames === 0 || this.#files.some(({ waitingBytes }) => waitingBytes > roomBytes)) return
    const frames = this.#owedFrames
    this.#owedFrames = 0
    this.#plan.consumed(frames)
  }
}
