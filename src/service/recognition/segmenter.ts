import { createResampler } from '../../audio/resampler.js'
import { frameMs, SegmentMachine, type SegmenterOutput } from './segment-machine.js'
import { validateSegmenterParameters, type SegmenterParameters } from './segmenter-parameters.js'
import { createVoiceDetector, type VoiceDetector } from './voice-activity/voice-detector.js'

/** Cuts the samples of one channel into segments of speech. The segments do not depend on the size of the chunks. */
export interface Segmenter {
  /** Takes in any number of samples and copies them. Returns what is decided, and the audio that may leave, by now. */
  push(samples: Int16Array): readonly SegmenterOutput[]
  /** The audio ended: closes the open segment where it ended, including the last part of a frame. Must be the last call. */
  finish(): readonly SegmenterOutput[]
  /** No audio arrived for a while by the wall clock: closes the open segment, if any. Audio may follow. */
  interrupt(): readonly SegmenterOutput[]
  /** The recognition is to end in a pause: outputs `pause` once, now or when the open segment has ended. */
  drain(): readonly SegmenterOutput[]
  /**
   * Changes the parameters, which must be valid, at the next frame at which neither a segment nor an onset is open. The
   * last of several changes counts.
   */
  setParameters(parameters: SegmenterParameters): void
  /** Frees the memory of the detector. Idempotent. */
  free(): void
}

export interface SegmenterOptions {
  readonly parameters: SegmenterParameters
  /** The rate of the samples that are pushed. */
  readonly inputRateHz: number
  /** The rate of the segments: 8000, 16000, 32000 or 48000 Hz. @default inputRateHz */
  readonly engineRateHz?: number | undefined
}

/**
 * Opens a segmenter for one channel; it resamples if the rates differ. Rejects with `invalid-field` and the wire's name
 * of the field, `invalid-format`, `invalid-options` for an input rate out of range, or `missing-dependency`.
 */
export const createSegmenter = async (options: SegmenterOptions): Promise<Segmenter> => {
  const { inputRateHz, engineRateHz = inputRateHz } = options
  const parameters = validateSegmenterParameters(options.parameters)
  const detector = await createVoiceDetector({ sampleRateHz: engineRateHz, sensitivity: parameters.sensitivity })
  const segmenter = joinSegmenter(detector, parameters, engineRateHz)
  return inputRateHz === engineRateHz ? segmenter : withResampler(segmenter, inputRateHz, engineRateHz)
}

const withResampler = async (segmenter: Segmenter, fromHz: number, toHz: number): Promise<Segmenter> => {
  const resampler = await createResampler({ fromHz, toHz, channels: 1 }).catch((error: unknown) => {
    segmenter.free()
    throw error
  })
  return {
    ...segmenter,
    push: (samples) => segmenter.push(resampler.process(samples)),
    finish: () => [...segmenter.push(resampler.flush()), ...segmenter.finish()],
    free: () => {
      resampler.free()
      segmenter.free()
    },
  }
}

/** Joins a detector and the machine: takes chunks of any size and gives both whole frames. */
export const joinSegmenter = (
  detector: VoiceDetector,
  parameters: SegmenterParameters,
  sampleRateHz: number,
): Segmenter => {
  const machine = new SegmentMachine(parameters, sampleRateHz)
  const frame = new Int16Array((sampleRateHz * frameMs) / 1000)
  let filled = 0
  let next: SegmenterParameters | undefined
  const applyWhenIdle = (): void => {
    if (next === undefined || !machine.isIdle) return
    machine.setParameters(next)
    detector.setSensitivity(next.sensitivity)
    next = undefined
  }
  return {
    push(samples) {
      // By index: for-of costs three times as much, and this runs for every sample.
      const { length } = samples
      for (let index = 0; index < length; index += 1) {
        frame[filled] = samples[index] ?? 0
        filled += 1
        if (filled < frame.length) continue
        filled = 0
        if (next !== undefined) applyWhenIdle()
        machine.step(detector.isSpeech(frame), frame)
        detector.freezeFloor(machine.isSpeaking)
      }
      return machine.takeOutputs()
    },
    finish() {
      const remainder = frame.slice(0, filled)
      filled = 0
      return machine.finish(remainder)
    },
    interrupt: () => {
      const outputs = machine.interrupt()
      detector.freezeFloor(machine.isSpeaking)
      return outputs
    },
    drain: () => machine.drain(),
    setParameters: (changed) => {
      next = changed
    },
    free: () => detector.free(),
  }
}
