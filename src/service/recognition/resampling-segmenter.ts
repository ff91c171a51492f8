import { createResampler } from '../../audio/resampler.js'
import type { SegmenterParameters } from './segmenter-parameters.js'
import { createSegmenter, type Segmenter } from './segmenter.js'

export interface ResamplingSegmenterOptions {
  readonly parameters: SegmenterParameters
  /** The rate of the samples that come in. */
  readonly inputRateHz: number
  /** The engine's rate, at which segments leave. */
  readonly engineRateHz: number
}

/**
 * A segmenter that takes samples at the input's rate and gives segments at the engine's. Rejects as `createSegmenter`
 * and `createResampler` do.
 */
export const createResamplingSegmenter = async (options: ResamplingSegmenterOptions): Promise<Segmenter> => {
  const { parameters, inputRateHz, engineRateHz } = options
  const segmenter = await createSegmenter(parameters, engineRateHz)
  if (inputRateHz === engineRateHz) return segmenter
  const resampler = await createResampler({ fromHz: inputRateHz, toHz: engineRateHz, channels: 1 }).catch(
    (error: unknown) => {
      segmenter.free()
      throw error
    },
  )
  return {
    push: (samples) => segmenter.push(resampler.process(samples)),
    finish: () => [...segmenter.push(resampler.flush()), ...segmenter.finish()],
    interrupt: () => segmenter.interrupt(),
    drain: () => segmenter.drain(),
    setParameters: (changed) => segmenter.setParameters(changed),
    free: () => {
      resampler.free()
      segmenter.free()
    },
  }
}
