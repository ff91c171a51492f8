import { createResampler } from './resampler.js'
import { frameMs, SegmentMachine, type SegmenterOutput } from './segment-machine.js'
import type { SegmenterParameters } from './segmenter-parameters.js'
import { createVoiceDetector, type VoiceDetector } from './voice-activity/voice-detector.js'

/** Cuts the samples of one channel into segments of speech. The segments do not depend on the size of the chunks. */
export interface Segmenter {
  /**
   * Takes in any number of samples and copies them. Returns what is decided, and the audio that may leave, by now. Up to
   * 60 ms may wait for the next call, but never the end of a segment.
   */
  push(samples: Int16Array): readonly SegmenterOutput[]
  /**
   * Whether the engine was asked (`check`). Until `answer` samples are only kept, and no other method but `free` may be called.
   */
  readonly isAsking: boolean
  /** How many samples of the engine's rate are kept for that. */
  readonly kept: number
  /** The answer of the engine. Returns what was decided by it and by the samples that were kept. */
  answer(isComplete: boolean): readonly SegmenterOutput[]
  /** So many samples can wait before they are pushed, because nothing can be decided without them. */
  readonly room: number
  /** The audio ended: closes the open segment where it ended, including the last part of a frame. Must be the last call. */
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
 * Opens a segmenter for one channel; it resamples if the rates differ. Rejects with `invalid-format`, `invalid-options` for
 * an input rate out of range, or `missing-dependency`.
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

/**
 * Frames wait until there are this many of them, unless one of them may end a segment. So the end of speech is decided
 * without a delay, its begin is soon enough, and the processor loads the state of a session once for all of them.
 */
const framesAtOnce = 6

/** Memory for the frames that are processed, shared by all channels of a rate, because no call leaves data in it. */
interface Frames {
  readonly all: Int16Array
  readonly each: readonly Int16Array[]
}

const sharedFrames = new Map<number, Frames>()

const framesOf = (frameLength: number): Frames => {
  const known = sharedFrames.get(frameLength)
  if (known !== undefined) return known
  const all = new Int16Array(framesAtOnce * frameLength)
  const each = Array.from({ length: framesAtOnce }, (_none, index) =>
    all.subarray(index * frameLength, (index + 1) * frameLength),
  )
  sharedFrames.set(frameLength, { all, each })
  return { all, each }
}

const noSamples = new Int16Array(0)

class JoinedSegmenter implements Segmenter {
  readonly #detector: VoiceDetector
  readonly #machine: SegmentMachine
  readonly #frameLength: number
  /** Only once samples have waited here, and not before they were pushed. */
  #waiting: Int16Array | undefined
  #waitingCount = 0
  #next: SegmenterParameters | undefined
  /** Samples that arrived while the engine was asked, in order, and whose number is `kept`. */
  #later: Int16Array[] = []
  kept = 0

  constructor(detector: VoiceDetector, machine: SegmentMachine, sampleRateHz: number) {
    this.#detector = detector
    this.#machine = machine
    this.#frameLength = (sampleRateHz * frameMs) / 1000
  }

  get isAsking(): boolean {
    return this.#machine.isAsking
  }

  get room(): number {
    if (this.isAsking) return 0
    const untilEnd = this.#machine.nextEnd - this.#machine.end
    const frames = Math.min(framesAtOnce, Math.ceil(untilEnd / this.#frameLength))
    return Math.max(0, frames * this.#frameLength - this.#waitingCount)
  }

  answer(isComplete: boolean): readonly SegmenterOutput[] {
    this.#machine.answer(isComplete)
    const later = this.#later
    this.#later = []
    this.kept = 0
    for (const samples of later) this.#take(samples)
    return this.#machine.takeOutputs()
  }

  push(samples: Int16Array): readonly SegmenterOutput[] {
    this.#take(samples)
    return this.#machine.takeOutputs()
  }

  #take(samples: Int16Array): void {
    if (this.isAsking) {
      this.#keep(samples.slice())
      return
    }
    const atOnce = framesAtOnce * this.#frameLength
    let rest = samples
    while (!this.isAsking && this.#waitingCount + rest.length >= atOnce) rest = this.#process(framesAtOnce, rest)
    const wholeFrames = Math.floor((this.#waitingCount + rest.length) / this.#frameLength)
    // A long chunk shows that its client does not send in small ones, so the next may take long.
    const isDue =
      samples.length >= atOnce || this.#machine.end + wholeFrames * this.#frameLength >= this.#machine.nextEnd
    if (!this.isAsking && isDue && wholeFrames > 0) rest = this.#process(wholeFrames, rest)
    if (this.isAsking) this.#keepRest(rest)
    else if (rest.length > 0) {
      this.#waiting ??= new Int16Array(atOnce)
      this.#waiting.set(rest, this.#waitingCount)
      this.#waitingCount += rest.length
    }
  }

  finish(): readonly SegmenterOutput[] {
    this.#processWaiting()
    const remainder = this.#waiting?.slice(0, this.#waitingCount) ?? noSamples
    this.#waitingCount = 0
    return this.#machine.finish(remainder)
  }

  interrupt(): readonly SegmenterOutput[] {
    this.#processWaiting()
    const outputs = this.#machine.interrupt()
    this.#detector.freezeFloor(this.#machine.isSpeaking)
    return outputs
  }

  drain(): readonly SegmenterOutput[] {
    this.#processWaiting()
    return this.#machine.drain()
  }

  setParameters(parameters: SegmenterParameters): readonly SegmenterOutput[] {
    this.#processWaiting()
    this.#next = parameters
    return this.#machine.takeOutputs()
  }

  free(): void {
    this.#detector.free()
  }

  /** Processes the whole frames that wait. They are too few to end a segment, so the engine is not asked. */
  #processWaiting(): void {
    this.#process(Math.floor(this.#waitingCount / this.#frameLength), noSamples)
  }

  /** Processes at most `framesAtOnce` frames of what waits and then of the samples, and returns the rest of these. */
  #process(frameCount: number, samples: Int16Array): Int16Array {
    const { all, each } = framesOf(this.#frameLength)
    const waited = Math.min(this.#waitingCount, frameCount * this.#frameLength)
    const added = frameCount * this.#frameLength - waited
    if (this.#waiting !== undefined && waited > 0) {
      all.set(this.#waiting.subarray(0, waited))
      this.#waiting.copyWithin(0, waited, this.#waitingCount)
      this.#waitingCount -= waited
    }
    all.set(added === samples.length ? samples : samples.subarray(0, added), waited)
    for (const [index, frame] of each.entries()) {
      if (index === frameCount) break
      if (this.#machine.isAsking) {
        this.#keep(all.slice(index * this.#frameLength, frameCount * this.#frameLength))
        break
      }
      if (this.#next !== undefined) this.#applyWhenIdle(this.#next)
      const isSpeech = this.#detector.isSpeech(frame)
      this.#machine.step(isSpeech, frame, this.#detector.isDoubtful, this.#detector.soundFrames)
      this.#detector.freezeFloor(this.#machine.isSpeaking)
    }
    return added === samples.length ? noSamples : samples.subarray(added)
  }

  /** Samples that wait precede the new ones. */
  #keepRest(rest: Int16Array): void {
    if (this.#waiting !== undefined) this.#keep(this.#waiting.slice(0, this.#waitingCount))
    this.#waitingCount = 0
    this.#keep(rest.slice())
  }

  #keep(samples: Int16Array): void {
    if (samples.length === 0) return
    this.#later.push(samples)
    this.kept += samples.length
  }

  #applyWhenIdle(parameters: SegmenterParameters): void {
    if (!this.#machine.isIdle) return
    this.#machine.setParameters(parameters)
    this.#detector.setSensitivity(parameters.sensitivity)
    this.#next = undefined
  }
}
