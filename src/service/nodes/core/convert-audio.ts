import { decodeSamples, encodeSamples } from '../../../audio/codec.js'
import type { AudioFormat } from '../../../audio/format.js'
import { downmixFrames } from '../../../audio/mix.js'
import { createResampler } from '../../../audio/resampler.js'

/** Audio of one format as another: one for each stream. */
export interface AudioConverter {
  readonly take: (bytes: Uint8Array) => Uint8Array
  /** What is left to say. */
  readonly finish: () => Uint8Array
  readonly free: () => void
}

const toStereo = (mono: Int16Array): Int16Array => {
  const frames = new Int16Array(2 * mono.length)
  for (let at = 0; at < mono.length; at++) {
    frames[2 * at] = mono[at] ?? 0
    frames[2 * at + 1] = mono[at] ?? 0
  }
  return frames
}

/** Rejects with `missing-dependency` where the rates differ and the package for that is absent. */
export const openConverter = async (from: AudioFormat, to: AudioFormat): Promise<AudioConverter> => {
  const { channels } = to
  const resampler = await createResampler({ fromHz: from.sampleRateHz, toHz: to.sampleRateHz, channels })
  const inChannels = (samples: Int16Array): Int16Array => {
    if (from.channels === channels) return samples
    return channels === 2 ? toStereo(samples) : downmixFrames(samples, { left: 0.5, right: 0.5 })
  }
  return {
    take: (bytes) => encodeSamples(resampler.process(inChannels(decodeSamples(bytes, from.encoding))), to.encoding),
    finish: () => encodeSamples(resampler.flush(), to.encoding),
    free: resampler.free,
  }
}
