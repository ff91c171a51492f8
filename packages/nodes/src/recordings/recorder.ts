import type * as t from 'io-ts'
import { Observable } from 'rxjs'
import {
  type AudioFormat,
  bytesPerFrame,
  defineNode,
  msForBytes,
  type Node,
  type NodeContext,
  type NodeItem,
  nodeOptions,
  oneOfWords,
  wholeNumberFrom,
} from 'rxspeech-server/nodes'
import { allChannels, eventItem } from 'rxspeech-server/nodes/core/events'
import { portFormat } from 'rxspeech-server/nodes/core/node-steps'
import { deinterleaveChannels } from 'rxspeech/internal/audio/channels'
import { bytesPerSample } from 'rxspeech/internal/audio/format'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { WavFileWriter } from './wav-file-writer.js'

/** The largest WAV file is 4 GiB; this leaves space for the header. */
const maxFileBytes = 2 ** 32 - 2 ** 16
const dayMs = 86_400_000

const options = nodeOptions(
  {},
  {
    channels: oneOfWords('together', 'apart'),
    maxDurationMs: wholeNumberFrom(1, dayMs),
    maxBytes: wholeNumberFrom(1024, maxFileBytes),
  },
)
type Options = t.TypeOf<typeof options>

/**
 * Writes the audio unchanged, µ-law as µ-law, to WAV files in the operator's folder for recordings; without a folder
 * the session is refused. One file, or with `channels: apart` one for each channel. The name consists of the ids of
 * session and node and of the channel, never of text from clients, and only the owner can read the file. It ends at
 * `maxDurationMs` (default 4 hours) or `maxBytes` (default 2 GiB); later audio is dropped. When a file is complete, the
 * event `Recorded` follows with `Data` {File, DurationMsec, Truncated}. A session without audio leaves no file and no
 * event. A cancelled one leaves readable files and no event; files of a process that was killed are repaired at the
 * next start.
 *
 * The input waits for the disk; without back-pressure 4 MiB may wait. A disk that is full, too slow or broken is a
 * fault of the node.
 */
export const recorder = defineNode({
  name: 'recorder',
  summary: 'Writes the audio to WAV files of the service.',
  inputs: { audio: 'audio' },
  outputs: { events: 'event' },
  needs: ['recordings'],
  manualAck: true,
  options,
  open: (given, context) => openRecorder(given, context),
})

const openRecorder = (given: Options, context: NodeContext): Node => {
  const { node, inputs, recordingsFolder: folder } = context
  const format = portFormat(inputs)
  if (folder === undefined)
    throw new SpeechError('refused', `${node} records, but this service has no folder for recordings.`)
  return (input$) => record(input$, given, context, folder, format)
}

const record = (
  input$: Observable<NodeItem>,
  { channels, maxDurationMs = dayMs / 6, maxBytes = 2 ** 31 }: Options,
  { node, session, ack, log, offsetMs = 0 }: NodeContext,
  folder: string,
  format: AudioFormat,
): Observable<NodeItem> =>
  new Observable((subscriber) => {
    const isSplit = channels === 'apart'
    const frameBytes = bytesPerFrame(format) / (isSplit ? format.channels : 1)
    const maxFrames = Math.floor(Math.min(maxBytes / frameBytes, (maxDurationMs * format.sampleRateHz) / 1000))
    const recording = new Recording({
      folder,
      name: `${nameOf(session.id)}-${nameOf(node)}`,
      format,
      isSplit,
      maxFrames,
      consumed: ack,
      onFault: (fault) => subscriber.error(fault),
    })
    let isEnded = false
    const end = (isTruncated: boolean): void => {
      isEnded = true
      recording.close().then(
        (files) => {
          for (const file of files) subscriber.next(recordedEvent(file, isTruncated, offsetMs))
          subscriber.complete()
        },
        (error: unknown) => subscriber.error(error),
      )
    }
    // Also when the input neither completed nor reached a limit.
    subscriber.add(() => {
      recording.close().catch((error: unknown) => {
        log('The recording could not be closed.', {
          node,
          cause: error instanceof SpeechError ? error.message : 'unknown',
        })
      })
    })
    subscriber.add(
      input$.subscribe({
        next: (item) => {
          if (item.type !== 'audio' || isEnded) return
          recording.add(item.bytes)
          if (!recording.isTruncated) return
          end(true)
          ack(Infinity)
        },
        error: (error: unknown) => subscriber.error(error),
        complete: () => {
          if (!isEnded) end(false)
        },
      }),
    )
  })

/** Characters that every file system allows in a name. */
const nameOf = (id: string): string => id.replace(/[^A-Za-z0-9_-]/gu, '_').slice(0, 64)

const recordedEvent = ({ file, channel, durationMs }: RecordedFile, isTruncated: boolean, offsetMs: number): NodeItem =>
  eventItem({
    name: 'Recorded',
    channel: channel ?? allChannels,
    startMs: offsetMs,
    endMs: offsetMs + durationMs,
    data: { File: file, DurationMsec: durationMs, ...(isTruncated ? { Truncated: true } : {}) },
  })

interface RecordingOptions {
  readonly folder: string
  /** The name of each file without channel and extension. */
  readonly name: string
  readonly format: AudioFormat
  /** Whether each channel has its own file. */
  readonly isSplit: boolean
  readonly maxFrames: number
  /** Called with the number of frames that are written, or may wait. */
  readonly consumed: (frameCount: number) => void
  /** Called with the first fault, possibly more than once. */
  readonly onFault: (fault: SpeechError) => void
}

interface RecordedFile {
  /** The name without the folder. */
  readonly file: string
  /** Undefined if the file has all channels. */
  readonly channel: number | undefined
  readonly durationMs: number
}

/** How much audio may wait for the disk before more is consumed. */
const maxUnwrittenBytes = 256 * 1024

/** The files of one recording, and how much of its audio is consumed. */
class Recording {
  readonly #options: RecordingOptions
  readonly #files: readonly WavFileWriter[]
  #frames = 0
  #isTruncated = false
  #unconsumedFrames = 0
  #closing: Promise<readonly RecordedFile[]> | undefined

  constructor(options: RecordingOptions) {
    this.#options = options
    const { folder, name, format, isSplit } = options
    const onProgress = (): void => {
      this.#consume()
    }
    const channels = isSplit ? Array.from({ length: format.channels }, (_none, channel) => String(channel)) : ['all']
    const fileFormat: AudioFormat = isSplit ? { ...format, channels: 1 } : format
    this.#files = channels.map((channel) => new WavFileWriter(folder, `${name}-${channel}`, fileFormat, onProgress))
  }

  /** Whether audio was dropped because of the limits. */
  get isTruncated(): boolean {
    return this.#isTruncated
  }

  /** Takes whole frames and drops those beyond the limit. */
  add(bytes: Uint8Array): void {
    const { format, isSplit, maxFrames } = this.#options
    const frameBytes = bytesPerFrame(format)
    const taken = bytes.subarray(0, Math.max(0, maxFrames - this.#frames) * frameBytes)
    this.#frames += taken.byteLength / frameBytes
    this.#isTruncated ||= taken.byteLength < bytes.byteLength
    this.#unconsumedFrames += bytes.byteLength / frameBytes
    const parts = isSplit && format.channels === 2 ? deinterleaveChannels(taken, bytesPerSample(format)) : [taken]
    this.#files.forEach((file, index) => {
      file.add(parts[index] ?? new Uint8Array(0))
    })
    this.#consume()
  }

  /** Closes the files. Resolves with those recorded, none without audio; rejects with the first fault. Idempotent. */
  close(): Promise<readonly RecordedFile[]> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<readonly RecordedFile[]> {
    const { format, isSplit } = this.#options
    const closed = await Promise.allSettled(this.#files.map((file) => file.close()))
    const durationMs = Math.round(msForBytes(format, this.#frames * bytesPerFrame(format)))
    return closed.flatMap((result, index) => {
      if (result.status === 'rejected') throw result.reason
      return result.value === undefined
        ? []
        : [{ file: result.value, channel: isSplit ? index : undefined, durationMs }]
    })
  }

  #consume(): void {
    const fault = this.#files.find((file) => file.fault !== undefined)?.fault
    if (fault !== undefined) {
      if (this.#closing === undefined) this.#options.onFault(fault)
      return
    }
    if (this.#unconsumedFrames === 0 || this.#files.some(({ waitingBytes }) => waitingBytes > maxUnwrittenBytes)) return
    const frames = this.#unconsumedFrames
    this.#unconsumedFrames = 0
    this.#options.consumed(frames)
  }
}
