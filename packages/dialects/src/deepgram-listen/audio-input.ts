import { decodeChannels } from 'rxspeech/internal/audio/codec'
import { bytesPerSample, joinBytes, type AudioFormat } from 'rxspeech/internal/audio/format'
import { FrameAligner } from 'rxspeech/internal/audio/frame-aligner'
import { bytesOf } from 'rxspeech/internal/audio/pcm'
import { isStreamedLength, knownChunks, lengthAt, nameAt, riffNames } from 'rxspeech/internal/audio/wav-chunks'
import {
  copyRemedy,
  parseWavFormat,
  refuseOtherFile,
  refuseWav,
  remedy,
  type WavFormat,
} from 'rxspeech/internal/audio/wav-header'
import { streamedSamples, wavSampleBytes } from 'rxspeech/internal/audio/wav-samples'

const nothing: Uint8Array = new Uint8Array(0)

/** The audio of a socket, cut anywhere, as 16-bit samples of each channel. */
export class AudioInput {
  readonly format: AudioFormat
  /** The channels that are recognized. */
  readonly channelCount: 1 | 2
  readonly #stored: WavFormat['stored']
  readonly #aligner: FrameAligner

  readonly #samplesOf: ((bytes: Uint8Array) => Uint8Array) | undefined

  /**
   * @param isMultichannel whether two channels stay two; otherwise they are mixed
   * @param dataBytes the length of the samples in the header of a WAV file
   */
  constructor({ format, stored }: WavFormat, isMultichannel: boolean, dataBytes = Infinity) {
    if (dataBytes < Infinity) this.#samplesOf = samplesOfFile(dataBytes)
    this.format = format
    this.channelCount = isMultichannel ? format.channels : 1
    this.#stored = stored
    this.#aligner = new FrameAligner(wavSampleBytes[stored] * format.channels)
  }

  /** The samples of each channel that is recognized, as bytes. */
  push(bytes: Uint8Array): readonly Uint8Array[] {
    const samples = this.#samplesOf?.(bytes) ?? bytes
    const frames = streamedSamples(this.#stored, this.#aligner.push(samples))
    const { format } = this
    if (format.channels === 1 && bytesPerSample(format) === 2) return [frames]
    const channels = decodeChannels(frames, format)
    return this.channelCount === format.channels ? channels.map(bytesOf) : [bytesOf(mixed(channels))]
  }
}

const mixed = ([first = new Int16Array(), second = first]: readonly Int16Array[]): Int16Array =>
  first.map((sample, at) => (sample + (second[at] ?? 0)) / 2)

/**
 * Leaves out the chunks behind the samples of a WAV file, such as its tags. What is no chunk there is audio: a client may
 * send more of it than the header says.
 */
const samplesOfFile = (dataBytes: number): ((bytes: Uint8Array) => Uint8Array) => {
  let sampleBytes = dataBytes
  let isAfterOdd = dataBytes % 2 === 1
  let chunkBytes = 0
  let held = nothing
  return (bytes) => {
    if (bytes.length <= sampleBytes) {
      sampleBytes -= bytes.length
      return bytes
    }
    const samples = bytes.subarray(0, sampleBytes)
    held = joinBytes(held, bytes.subarray(sampleBytes))
    sampleBytes = 0
    for (;;) {
      const skipped = Math.min(chunkBytes, held.length)
      chunkBytes -= skipped
      held = held.subarray(skipped)
      const at = isAfterOdd && !knownChunks.includes(nameAt(held, 0)) ? 1 : 0
      if (held.length < at + 8) return samples
      if (!knownChunks.includes(nameAt(held, at))) break
      const byteCount = lengthAt(held, at + 4)
      isAfterOdd = byteCount % 2 === 1
      chunkBytes = at + 8 + byteCount
    }
    sampleBytes = Infinity
    const rest = held
    held = nothing
    return joinBytes(samples, rest)
  }
}

/** A header that is not over after this many bytes is refused. */
const maxHeaderBytes = 16_384

export interface WavStart {
  readonly wav: WavFormat
  /** The length of the samples in the header; `Infinity` if a writer to a pipe did not know it. */
  readonly dataBytes: number
  readonly samples: Uint8Array
}

/** Reads the header of a WAV file that is cut anywhere. */
export class WavHeaderInput {
  #bytes = nothing

  /** Throws `invalid-wav` if the header has begun, and is not over. */
  end(): void {
    if (this.#bytes.length > 0) refuseWav(`The WAV file ended before its samples; ${copyRemedy}`)
  }

  /**
   * Returns the format and the first samples, once they are there. Throws `invalid-wav` for another file, and for
   * samples that are not supported.
   */
  push(bytes: Uint8Array): WavStart | undefined {
    this.#bytes = joinBytes(this.#bytes, bytes)
    if (this.#bytes.length < 12) return undefined
    if (!riffNames.includes(nameAt(this.#bytes, 0)) || nameAt(this.#bytes, 8) !== 'WAVE') refuseOtherFile(this.#bytes)
    let wav: WavFormat | undefined
    for (let at = 12; at + 8 <= this.#bytes.length;) {
      const name = nameAt(this.#bytes, at)
      const start = at + 8
      if (name === 'data') {
        if (wav === undefined) return refuseWav(`The WAV file has samples before its "fmt " chunk; ${remedy}`)
        const byteCount = lengthAt(this.#bytes, at + 4)
        const dataBytes = isStreamedLength(byteCount) ? Infinity : byteCount
        return { wav, dataBytes, samples: this.#bytes.subarray(start) }
      }
      const byteCount = lengthAt(this.#bytes, at + 4)
      if (name === 'fmt ' && start + byteCount <= this.#bytes.length) {
        wav = parseWavFormat(this.#bytes.subarray(start, start + byteCount))
      }
      at = start + byteCount + (byteCount % 2)
    }
    if (this.#bytes.length > maxHeaderBytes) {
      refuseWav(`The samples of the WAV file must begin within ${maxHeaderBytes} bytes; ${remedy}`)
    }
    return undefined
  }
}
