import { interleaveChannels } from 'rxspeech/internal/audio/channels'
import { decodeChannels, encodeSamples } from 'rxspeech/internal/audio/codec'
import { bytesForMs, bytesPerSample, msForBytes, type Encoding } from 'rxspeech/internal/audio/format'
import { inputName } from '../input/input-name.js'
import { openInput } from '../input/open-input.js'
import { atTakenRate } from '../input/sendable-audio.js'
import { usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import { chunkMs, type CallRecording } from './call.js'

export interface RecordingChoice {
  readonly file: string
  /** @default those of the recording */
  readonly channels?: 1 | 2 | undefined
  /** @default that of the recording */
  readonly encoding?: Encoding | undefined
}

/** Calls repeat this much of a recording. */
const maxRecordingMs = 120_000
const minRecordingMs = 2_000

/** Reads the beginning of a recording as calls send it, in whole chunks. Rejects as `openInput`. */
export const readCallRecording = async (
  { file, channels, encoding }: RecordingChoice,
  host: Pick<Host, 'stdin' | 'env'>,
  signal: AbortSignal,
): Promise<CallRecording> => {
  const input = await openInput({ file }, host, { signal })
  const { format: taken, audio } = atTakenRate(input)
  const maxBytes = bytesForMs(taken, maxRecordingMs)
  const pieces: Uint8Array[] = []
  let byteCount = 0
  try {
    for await (const piece of audio) {
      pieces.push(piece)
      byteCount += piece.length
      if (byteCount >= maxBytes) break
    }
  } finally {
    await input.close()
  }
  signal.throwIfAborted()
  const fault = input.fault()
  if (fault !== undefined) throw fault
  const recorded = decodeChannels(Buffer.concat(pieces).subarray(0, maxBytes), taken)
  const format = { ...taken, encoding: encoding ?? taken.encoding, channels: channels ?? taken.channels }
  if (format.channels > recorded.length) {
    throw usageError(`${inputName(file)} has one channel; leave --channels out, or pass a recording of two.`)
  }
  const [left = new Int16Array(), right = left] = format.channels === recorded.length ? recorded : [mixed(recorded)]
  const [first, second] = [left, right].map((samples) => encodeSamples(samples, format.encoding))
  if (first === undefined || second === undefined) throw usageError(`${inputName(file)} has no channels.`)
  const bytes = format.channels === 1 ? first : interleaveChannels(first, second, bytesPerSample(format))
  const lengthMs = Math.floor(msForBytes(format, bytes.length) / chunkMs) * chunkMs
  if (lengthMs < minRecordingMs) {
    throw usageError(`${inputName(file)} is shorter than ${minRecordingMs / 1000} s; pass a longer recording.`)
  }
  return { format, bytes: bytes.subarray(0, bytesForMs(format, lengthMs)) }
}

/** Both speakers in one channel. */
const mixed = ([left = new Int16Array(), right = left]: readonly Int16Array[]): Int16Array =>
  left.map((sample, at) => Math.max(-32_768, Math.min(32_767, sample + (right[at] ?? 0))))
