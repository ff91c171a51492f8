import type { SegmenterOutput } from './segmenter-output.js'
import { frameMs, SegmentMachine } from './segment-machine.js'
import { validateSegmenterParameters, type SegmenterParameters } from './segmenter-parameters.js'
import { createVoiceDetector, type VoiceDetector } from './voice-activity/voice-detector.js'

/** Cuts the samples of one channel into segments of speech. However they are chunked, the segments are the same. */
export interface Segmenter {
  /** Takes in samples, any number; they are copied. What it returns was decided, or may leave, by now. */
  push(samples: Int16Array): readonly SegmenterOutput[]
  /** The audio ended: closes the open segment where it ended, the last part of a frame included. Nothing may follow. */
  finish(): readonly SegmenterOutput[]
  /** No audio came for a while, by the wall clock: closes the open segment, if any. Audio may follow. */
  interrupt(): readonly SegmenterOutput[]
  /** Whoever listens wants to leave where nobody speaks: `pause` is told once, now or when the open segment has ended. */
  drain(): readonly SegmenterOutput[]
  /**
   * Other parameters, valid ones: from the next frame at which neither a segment nor an onset is open, so that nothing that
   * has begun is cut. Of two in a row the later counts.
   */
  setParameters(parameters: SegmenterParameters): void
  /** Gives the detector's memory back. Idempotent. */
  free(): void
}

/** Joins a detector and the machine: chunks of any size in, whole frames to both. */
export const joinSegmenter = (
  detector: VoiceDetector,
  parameters: SegmenterParameters,
  sampleRateHz: number,
): Segmenter => {
  const machine = new SegmentMachine(parameters, sampleRateHz)
  const frame = new Int16Array((sampleRateHz * frameMs) / 1000)
  let filled = 0
  let next: SegmenterParameters | undefined
  const retuneWhenIdle = (): void => {
    if (next === undefined || !machine.idle) return
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
        if (next !== undefined) retuneWhenIdle()
        machine.step(detector.isSpeech(frame), frame)
        detector.hold(machine.speaking)
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
      detector.hold(machine.speaking)
      return outputs
    },
    drain: () => machine.drain(),
    setParameters: (changed) => {
      next = changed
    },
    free: () => detector.free(),
  }
}

/**
 * Opens a segmenter for one channel at 8, 16, 32 or 48 kHz. Rejects with `invalid-field` and the wire's name of the
 * field, `invalid-format`, or `missing-dependency`.
 */
export const createSegmenter = async (parameters: SegmenterParameters, sampleRateHz: number): Promise<Segmenter> => {
  const checked = validateSegmenterParameters(parameters)
  const detector = await createVoiceDetector({ sampleRateHz, sensitivity: checked.sensitivity })
  return joinSegmenter(detector, checked, sampleRateHz)
}
