import type { SpeexModule } from '@echogarden/speex-resampler-wasm'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { maxSampleRateHz, minSampleRateHz } from 'rxspeech/internal/audio/format'

export interface ResamplerOptions {
  /** 8000 to 48000. */
  readonly fromHz: number
  /** 8000 to 48000. */
  readonly toHz: number
  readonly channels: 1 | 2
}

/** Resamples one stream. Samples of two channels are interleaved. */
export interface Resampler {
  /**
   * Returns the samples that are ready; a few milliseconds remain until `flush`. Accepts any number of samples, also
   * partial frames.
   */
  readonly process: (samples: Int16Array) => Int16Array
  /**
   * Returns the remaining samples and ends the stream: `process` throws `invalid-options` afterwards, and a second
   * flush returns nothing. Throws `cut-sample` if the stream ended within a frame.
   */
  readonly flush: () => Int16Array
  /** Frees the memory; the resampler throws `invalid-options` afterwards. Idempotent. */
  readonly free: () => void
}

/** Of 0 to 10. Aliases are below −100 dB, at a fraction of the cost of a higher quality. */
const quality = 3
const blockFrames = 1024
const install = 'npm install @echogarden/speex-resampler-wasm'
const noSamples = new Int16Array(0)

const joinSamples = (first: Int16Array, second: Int16Array): Int16Array => {
  const samples = new Int16Array(first.length + second.length)
  samples.set(first)
  samples.set(second, first.length)
  return samples
}

let loading: Promise<SpeexModule> | undefined

/** All streams share one instance of the WebAssembly module; each has its own state on the heap. */
const loadSpeex = (): Promise<SpeexModule> => {
  loading ??= import('@echogarden/speex-resampler-wasm')
    .then((speex) => speex.default({ printErr: () => undefined }))
    .catch((cause: unknown) => {
      loading = undefined
      throw new SpeechError('missing-dependency', `Changing the sample rate needs a package: ${install}.`, { cause })
    })
  return loading
}

/** Takes any numbers because callers in JavaScript have no types. */
const checkOptions = ({ fromHz, toHz, channels }: Record<keyof ResamplerOptions, number>): void => {
  for (const [name, rateHz] of Object.entries({ fromHz, toHz })) {
    if (!Number.isInteger(rateHz) || rateHz < minSampleRateHz || rateHz > maxSampleRateHz) {
      const range = `${minSampleRateHz} to ${maxSampleRateHz} Hz`
      throw new SpeechError('invalid-options', `${name} must be a whole number from ${range}, not ${String(rateHz)}.`)
    }
  }
  if (channels !== 1 && channels !== 2) {
    throw new SpeechError('invalid-options', `channels must be 1 or 2, not ${String(channels)}.`)
  }
}

interface SpeexStream {
  /** Half the length of the filter, in input frames: how many frames must follow a frame before it is complete. */
  readonly latencyFrames: number
  /** Writes the output for whole frames to `output` from `at` on, and returns how many samples it wrote. */
  readonly run: (samples: Int16Array, output: Int16Array, at: number) => number
  readonly free: () => void
}

/** Allocates the state of one stream, an input block and an output block on the WebAssembly heap. */
const openSpeex = (speex: SpeexModule, { fromHz, toHz, channels }: ResamplerOptions): SpeexStream => {
  const outputFrames = Math.ceil((blockFrames * toHz) / fromHz) + 1
  const counts = speex._malloc(8 + 2 * channels * (blockFrames + outputFrames))
  const state = counts === 0 ? 0 : speex._speex_resampler_init(channels, fromHz, toHz, quality, counts)
  if (state === 0) {
    speex._free(counts)
    throw new SpeechError('overloaded', 'There is not enough memory to resample another stream.')
  }
  // The filter is symmetric; without this the output would begin with silence of half its length.
  speex._speex_resampler_skip_zeros(state)
  const inputAddress = counts + 8
  const outputAddress = inputAddress + 2 * channels * blockFrames

  const run = (samples: Int16Array, output: Int16Array, at: number): number => {
    let from = 0
    let to = at
    while (from < samples.length) {
      const block = samples.subarray(from, from + blockFrames * channels)
      speex.HEAP16.set(block, inputAddress / 2)
      speex.HEAPU32[counts / 4] = block.length / channels
      speex.HEAPU32[counts / 4 + 1] = outputFrames
      const failure = speex._speex_resampler_process_interleaved_int(
        state,
        inputAddress,
        counts,
        outputAddress,
        counts + 4,
      )
      const used = (speex.HEAPU32[counts / 4] ?? 0) * channels
      const made = (speex.HEAPU32[counts / 4 + 1] ?? 0) * channels
      if (failure !== 0 || used + made === 0) throw new SpeechError('internal', 'The resampler failed.')
      output.set(speex.HEAP16.subarray(outputAddress / 2, outputAddress / 2 + made), to)
      from += used
      to += made
    }
    return to - at
  }
  const free = (): void => {
    speex._speex_resampler_destroy(state)
    speex._free(counts)
  }
  return { latencyFrames: speex._speex_resampler_get_input_latency(state), run, free }
}

const resampleWith = (stream: SpeexStream, { fromHz, toHz, channels }: ResamplerOptions): Resampler => {
  let phase: 'open' | 'flushed' | 'freed' = 'open'
  let cut = noSamples
  let framesIn = 0
  let samplesOut = 0

  const run = (samples: Int16Array): Int16Array => {
    const output = new Int16Array((Math.ceil((samples.length / channels) * (toHz / fromHz)) + 1) * channels)
    const length = stream.run(samples, output, 0)
    return output.subarray(0, length)
  }
  const refuseUse = (): never => {
    throw new SpeechError('invalid-options', `This resampler was ${phase}; create another for another stream.`)
  }

  const process = (samples: Int16Array): Int16Array => {
    if (phase !== 'open') return refuseUse()
    const whole = samples.length + cut.length - ((samples.length + cut.length) % channels)
    const joined = cut.length === 0 ? samples : joinSamples(cut, samples)
    cut = joined.slice(whole)
    framesIn += whole / channels
    const output = run(joined.subarray(0, whole))
    samplesOut += output.length
    return output
  }
  const flush = (): Int16Array => {
    if (phase === 'freed') return refuseUse()
    if (phase === 'flushed') return noSamples
    phase = 'flushed'
    if (cut.length > 0) throw new SpeechError('cut-sample', 'The stream ended with a sample of one channel only.')
    const missing = Math.round((framesIn * toHz) / fromHz) * channels - samplesOut
    // Silence of half the filter's length completes the last frames.
    return run(new Int16Array(stream.latencyFrames * channels)).slice(0, missing)
  }
  const free = (): void => {
    if (phase !== 'freed') stream.free()
    phase = 'freed'
  }
  return { process, flush, free }
}

/** Passes samples through unchanged, without WebAssembly. */
const unchanged: Resampler = { process: (samples) => samples, flush: () => noSamples, free: () => undefined }

/**
 * Creates a resampler for one stream (SpeexDSP, as WebAssembly). The latency of its filter is removed: sample `k` of
 * the output has the time `k / toHz`, and the total output is `input frames × toHz / fromHz` frames, rounded. Equal
 * rates return the same arrays.
 *
 * Rejects with `invalid-options` for rates and channels out of range, `missing-dependency` if the optional package is
 * not installed, `overloaded` if the WebAssembly heap is full. Call `free` at every end of the stream.
 */
export const createResampler = async (options: ResamplerOptions): Promise<Resampler> => {
  checkOptions(options)
  if (options.fromHz === options.toHz) return unchanged
  return resampleWith(openSpeex(await loadSpeex(), options), options)
}
