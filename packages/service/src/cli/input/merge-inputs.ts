import { interleaveChannels } from 'rxspeech/internal/audio/channels'
import { decodeSamples } from 'rxspeech/internal/audio/codec'
import type { AudioFormat } from 'rxspeech/internal/audio/format'
import { bytesOf } from 'rxspeech/internal/audio/pcm'
import type { Host } from '../process/host.js'
import { usageError } from '../process/failure.js'
import type { OpenOptions } from './download.js'
import { inputName } from './input-name.js'
import { openInput, type AudioInput, type InputRequest } from './open-input.js'
import { atRate } from './sendable-audio.js'

/**
 * Opens two recordings of one channel each as one of two, which begin together; the shorter one is silent at its end.
 * Rejects as `openInput`, and with `invalid-options` for a recording of two channels.
 */
export const openMerged = async (
  files: readonly [string, string],
  raw: InputRequest['raw'],
  host: Pick<Host, 'stdin' | 'env'>,
  options: OpenOptions,
): Promise<AudioInput> => {
  const opened: AudioInput[] = []
  const close = async (): Promise<void> => {
    for (const input of opened) await input.close()
  }
  try {
    for (const file of files) {
      const input = await openInput({ file, raw }, host, options)
      opened.push(input)
      if (input.format.channels === 1) continue
      throw usageError(`${inputName(file)} has two channels; --merge takes two recordings of one channel each.`)
    }
  } catch (error) {
    await close()
    throw error
  }
  const rates = new Set(opened.map(({ format }) => format.sampleRateHz))
  const sampleRateHz = rates.size === 1 && rates.has(8000) ? 8000 : 16_000
  const durations = opened.map(({ durationMs }) => durationMs)
  return {
    format: { encoding: 'pcm', sampleRateHz, channels: 2 },
    durationMs: durations.reduce((longest, ms) =>
      longest === undefined || ms === undefined ? undefined : Math.max(longest, ms),
    ),
    isLive: opened.every(({ isLive }) => isLive),
    audio: interleaved(opened.map((input) => samplesOf(input, sampleRateHz))),
    fault: () => opened.map(({ fault }) => fault()).find((fault) => fault !== undefined),
    close,
  }
}

/** 16-bit samples at the rate. */
async function* samplesOf(
  input: { readonly format: AudioFormat; readonly audio: AsyncIterable<Uint8Array> },
  sampleRateHz: number,
): AsyncGenerator<Int16Array, undefined> {
  const { format, audio } = atRate(input, sampleRateHz)
  for await (const piece of audio) yield decodeSamples(piece, format.encoding)
  return undefined
}

/** How many samples of each are interleaved at once. */
const stepSamples = 1600

async function* interleaved(
  sources: readonly AsyncGenerator<Int16Array, undefined>[],
): AsyncGenerator<Uint8Array, undefined> {
  const channels = sources.map((source) => new SampleReader(source))
  for (;;) {
    const parts = await Promise.all(channels.map((channel) => channel.take(stepSamples)))
    const length = Math.max(...parts.map((part) => part.length))
    if (length === 0) return undefined
    const [left = new Uint8Array(), right = left] = parts.map((part) => {
      const padded = new Int16Array(length)
      padded.set(part)
      return bytesOf(padded)
    })
    yield interleaveChannels(left, right, 2)
  }
}

/** Takes a number of samples at a time. */
class SampleReader {
  readonly #source: AsyncGenerator<Int16Array, undefined>
  #rest = new Int16Array()

  constructor(source: AsyncGenerator<Int16Array, undefined>) {
    this.#source = source
  }

  /** Fewer only at the end. */
  async take(count: number): Promise<Int16Array> {
    const taken = new Int16Array(count)
    let filled = 0
    while (filled < count) {
      if (this.#rest.length === 0) {
        const next = await this.#source.next()
        if (next.done === true) break
        this.#rest = new Int16Array(next.value)
      }
      const part = this.#rest.subarray(0, count - filled)
      taken.set(part, filled)
      filled += part.length
      this.#rest = this.#rest.subarray(part.length)
    }
    return taken.subarray(0, filled)
  }
}
