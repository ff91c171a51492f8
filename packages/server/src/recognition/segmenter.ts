import { createResampler } from './resampler.js'
import { frameMs, framesAtOnce, SegmentMachine, type SegmenterOutput } from './segment-machine.js'
import type { SegmenterParameters } from './segmenter-parameters.js'
import { createVoiceDetector, type VoiceDetector } from './voice-activity/voice-detector.js'

/** Cuts the samples of one channel into segments of speech. The segments do not depend on the size of the chunks. */
export interface Segmenter {
  /**
   * Takes in any number of samples and copies them. Returns what is decided, and the audio that may leave, by now. Up
   * to 60 ms may wait for the next call, but never the end of a segment.
   */
  push(samples: Int16Array): readonly SegmenterOutput[]
  /**
   * Whether the engine was asked (`check`). Until `answer` samples are only kept, and no other method but `free` may be
   * called.
   */
  readonly isAsking: boolean
  /** How many samples of the engine's rate are kept for that. */
  readonly kept: number
  /** The answer of the engine. Returns what was decided by it and by the samples that were kept. */
  answer(isComplete: boolean): readonly SegmenterOutput[]
  /** The number of samples that can wait before they are pushed, because nothing can be decided without them. */
  readonly room: number
  /**
   * The audio ended: closes the open segment where it ended, including the last part of a frame. Must be the last call.
   */
  finish(): readonly SegmenterOutput[]
  /** No audio arrived for a while by the wall clock: closes the open segment, if any. Audio may follow. */
  interrupt(): readonly SegmenterOutput[]
  /** The recognition is to end in a pause: outputs `pause` once, now or when the open segment has ended. */
  drain(): readonly SegmenterOutput[]
  /**
   * Changes the parameters, which must be valid, at the next frame at which neither a segment nor an onset is open. The
   * last of several changes counts. Returns what was decided with the former ones.
   */
  setParameters(parameters: SegmenterParameters): readonly SegmenterOutput[]
  /** Frees the memory of the detector. Idempotent. */
  free(): void
}

export interface SegmenterOptions {
  readonly parameters: SegmenterParameters
  /** The rate of the samples that are pushed. */
  readonly inputRateHz: number
  /** The rate of the segments: 8000, 16000, 32000 or 48000 Hz. @default inputRateHz */
  readonly engineRateHz?: number | undefined
  /** Whether the engine answers `check`; then each one must be answered. @default false */
  readonly asksEngine?: boolean | undefined
  /** See `EngineCapabilities`. @default 0 */
  readonly contextMs?: number | undefined
}

/**
 * Opens a segmenter for one channel; it resamples if the rates differ. Rejects with `invalid-format`, `invalid-options`
 * for an input rate out of range, or `missing-dependency`.
 */
export const createSegmenter = async (options: SegmenterOptions): Promise<Segmenter> => {
  const { parameters, inputRateHz, engineRateHz = inputRateHz, asksEngine, contextMs } = options
  const detector = await createVoiceDetector({ sampleRateHz: engineRateHz, sensitivity: parameters.sensitivity })
  const segmenter = joinSegmenter(detector, parameters, engineRateHz, asksEngine, contextMs)
  return inputRateHz === engineRateHz ? segmenter : withResampler(segmenter, inputRateHz, engineRateHz)
}

const withResampler = async (segmenter: Segmenter, fromHz: number, toHz: number): Promise<Segmenter> => {
  const resampler = await createResampler({ fromHz, toHz, channels: 1 }).catch((error: unknown) => {
    segmenter.free()
    throw error
  })
  return {
    push: (samples) => segmenter.push(resampler.process(samples)),
    room: 0,
    get isAsking() {
      return segmenter.isAsking
    },
    get kept() {
      return segmenter.kept
    },
    answer: (isComplete) => segmenter.answer(isComplete),
    finish: () => [...segmenter.push(resampler.flush()), ...segmenter.finish()],
    interrupt: () => segmenter.interrupt(),
    drain: () => segmenter.drain(),
    setParameters: (parameters) => segmenter.setParameters(parameters),
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
  asksEngine = false,
  contextMs = 0,
): Segmenter =>
  new JoinedSegmenter(detector, new SegmentMachine(parameters, sampleRateHz, asksEngine, contextMs), sampleRateHz)

/** Memory for the frame that is processed, shared by all channels of a rate, because no call leaves data in it. */
const sharedFrames = new Map<number, Int16Array>()

const frameOf = (frameLength: number): Int16Array => {
  const known = sharedFrames.get(frameLength)
  if (known !== undefined) return known
  const frame = new Int16Array(frameLength)
  sharedFrames.set(frameLength, frame)
  return frame
}

class JoinedSegmenter implements Segmenter {
  readonly #detector: VoiceDetector
  readonly #machine: SegmentMachine
  readonly #frameLength: number
  #next: SegmenterParameters | undefined

  constructor(detector: VoiceDetector, machine: SegmentMachine, sampleRateHz: number) {
    this.#detector = detector
    this.#machine = machine
    this.#frameLength = (sampleRateHz * frameMs) / 1000
  }

  get isAsking(): boolean {
    return this.#machine.isAsking
  }

  get kept(): number {
    return this.isAsking ? this.#machine.ahead : 0
  }

  get room(): number {
    if (this.isAsking) return 0
    const untilEnd = this.#machine.nextEnd - this.#machine.end
    const frames = Math.min(framesAtOnce, Math.ceil(untilEnd / this.#frameLength))
    return Math.max(0, frames * this.#frameLength - this.#machine.ahead)
  }

  answer(isComplete: boolean): readonly SegmenterOutput[] {
    this.#machine.answer(isComplete)
    this.#process()
    return this.#machine.takeOutputs()
  }

  push(samples: Int16Array): readonly SegmenterOutput[] {
    const atOnce = framesAtOnce * this.#frameLength
    let at = 0
    while (at < samples.length) {
      const to = this.isAsking ? samples.length : Math.min(at + atOnce - this.#machine.ahead, samples.length)
      this.#machine.add(samples.subarray(at, to))
      at = to
      const { ahead, end, nextEnd } = this.#machine
      // A long chunk shows that its client does not send in small ones, so the next may take long.
      if (samples.length >= atOnce || ahead >= atOnce || end + this.#wholeFrames(ahead) >= nextEnd) this.#process()
    }
    return this.#machine.takeOutputs()
  }

  finish(): readonly SegmenterOutput[] {
    this.#process()
    return this.#machine.finish()
  }

  interrupt(): readonly SegmenterOutput[] {
    this.#process()
    const outputs = this.#machine.interrupt()
    this.#detector.freezeFloor(this.#machine.isSpeaking)
    return outputs
  }

  drain(): readonly SegmenterOutput[] {
    this.#process()
    return this.#machine.drain()
  }

  setParameters(parameters: SegmenterParameters): readonly SegmenterOutput[] {
    this.#process()
    this.#next = parameters
    return this.#machine.takeOutputs()
  }

  free(): void {
    this.#detector.free()
  }

  #wholeFrames(sampleCount: number): number {
    return sampleCount - (sampleCount % this.#frameLength)
  }

  /** Processes the whole frames that wait, until the engine is asked. */
  #process(): void {
    const frame = frameOf(this.#frameLength)
    while (!this.isAsking && this.#machine.ahead >= this.#frameLength) {
      if (this.#next !== undefined) this.#applyWhenIdle(this.#next)
      this.#machine.readFrame(frame)
      const isSpeech = this.#detector.isSpeech(frame)
      this.#machine.step(isSpeech, frame, this.#detector.isDoubtful, this.#detector.soundFrames)
      this.#detector.freezeFloor(this.#machine.isSpeaking)
    }
  }

  #applyWhenIdle(parameters: SegmenterParameters): void {
    if (!this.#machine.isIdle) return
    this.#machine.setParameters(parameters)
    this.#detector.setSensitivity(parameters.sensitivity)
    this.#next = undefined
  }
}
