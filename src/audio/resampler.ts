import type { SpeexModule } from '@echogarden/speex-resampler-wasm'
import { SpeechError } from '../errors/speech-error.js'
import { maxSampleRateHz, minSampleRateHz } from './format.js'

export interface ResamplerOptions {
  /** 8000 to 48000. */
  readonly fromHz: number
  /** 8000 to 48000. */
  readonly toHz: number
  readonly channels: 1 | 2
}

/** The resampling of one stream. Samples of two channels are interleaved. */
export interface Resampler {
  /** What can be said already; a few milliseconds stay behind until `flush`. Takes any number of samples, also a cut frame. */
  readonly process: (samples: Int16Array) => Int16Array
  /**
   * The tail. It ends the stream: `process` throws `invalid-options` from here on, and a second flush gives nothing.
   * Throws `cut-sample` when the stream ended within a frame.
   */
  readonly flush: () => Int16Array
  /** Gives the memory back, at any time and as often as you like; the resampler throws `invalid-options` afterwards. */
  readonly free: () => void
}

/** Aliases lie below −100 dB already, at a fraction of the cost of the higher ones (0 to 10). */
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

/** One instance of the WebAssembly module serves all streams; each has its own state on its heap. */
const loadSpeex = (): Promise<SpeexModule> => {
  loading ??= import('@echogarden/speex-resampler-wasm')
    .then((speex) => speex.default({ printErr: () => undefined }))
    .catch((cause: unknown) => {
      loading = undefined
      throw new SpeechError('missing-dependency', `Changing the sample rate needs a package: ${install}.`, { cause })
    })
  return loading
}

/** Takes any number of channels: callers in JavaScript give what they have. */
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
  /** Half the filter's length, in input frames: what has to follow a frame before it can be said. */
  readonly latencyFrames: number
  /** Writes the output of whole frames to `output` from `at` on; gives how many samples it wrote. */
  readonly run: (samples: Int16Array, output: Int16Array, at: number) => number
  readonly free: () => void
}

/** The state of one stream with a block of input and of output, all of it on the WebAssembly heap. */
const openSpeex = (speex: SpeexModule, { fromHz, toHz, channels }: ResamplerOptions): SpeexStream => {
  const outputFrames = Math.ceil((blockFrames * toHz) / fromHz) + 1
  const counts = speex._malloc(8 + 2 * channels * (blockFrames + outputFrames))
  const state = counts === 0 ? 0 : speex._speex_resampler_init(channels, fromHz, toHz, quality, counts)
  if (state === 0) {
    speex._free(counts)
    throw new SpeechError('overloaded', 'There is no memory left to resample another stream.')
  }
  // The filter looks ahead and behind; without this the output would begin with half its length of silence.
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
    // Half a filter of silence brings out what the last frame still has to say.
    return run(new Int16Array(stream.latencyFrames * channels)).slice(0, missing)
  }
  const free = (): void => {
    if (phase !== 'freed') stream.free()
    phase = 'freed'
  }
  return { process, flush, free }
}

/** Samples through unchanged, without WebAssembly. */
const unchanged: Resampler = { process: (samples) => samples, flush: () => noSamples, free: () => undefined }

/**
 * A resampler for one stream (SpeexDSP, as WebAssembly). Its filter's latency is taken out: sample `k` of all that
 * `process` and `flush` give stands for the time `k / toHz`, and together they are `input frames × toHz / fromHz` frames
 * long, rounded. Equal rates pass samples through, the same arrays.
 *
 * Rejects with `invalid-options` for rates and channels outside their bounds, `missing-dependency` where the optional
 * package is not installed, `overloaded` when the WebAssembly heap is full. Call `free` when the stream ends, however it ends.
 */
export const createResampler = async (options: ResamplerOptions): Promise<Resampler> => {
  checkOptions(options)
  if (options.fromHz === options.toHz) return unchanged
  return resampleWith(openSpeex(await loadSpeex(), options), options)
}
