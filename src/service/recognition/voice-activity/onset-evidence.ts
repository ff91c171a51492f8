import { Voicing } from './voicing.js'

/** The power of the slope of a sound to its own power: wind and rumble are below this, and even nasals of low voices above. */
const minSlopeRatio = 0.05
/** How fast both powers follow, so that a frame in which rumble crosses zero does not count as bright. */
const averageShare = 0.25
/** A predictor leaves less of a tone than this. */
const toneShare = 0.015

/** So many frames in a row that are neither dark nor a tone are evidence. */
const minClearFrames = 3
/** After this pause in the sound its evidence counts no more. */
const maxPauseFrames = 20
/** Sound without evidence for this many frames is noise. */
const noiseFrames = 40

/** A frame of 10 ms, and what the detector found. `unpredictedShare` is that of the tone test. */
interface OnsetFrame {
  readonly samples: Int16Array
  readonly levelDb: number
  readonly isSpeech: boolean
  readonly unpredictedShare: number
}

/**
 * Looks for evidence of a voice in sound that begins: a spectrum that is neither as dark as that of wind nor a tone, or the
 * pitch of a voice. Costs nothing while there is no sound.
 */
export class OnsetEvidence {
  #voicing: Voicing | undefined
  #frames = 0
  #pause = 0
  #clear = 0
  #power = 0
  #slopes = 0
  #levels = 0
  #hasVoice = false

  /** Whether a sound began, and has not been over for long. */
  get isActive(): boolean {
    return this.#frames > 0
  }

  /** Whether there is evidence in this sound. */
  get hasVoice(): boolean {
    return this.#hasVoice
  }

  /** Takes in the next frame. Returns the level of the sound in dBFS if it has proved to be noise. */
  observe(frame: OnsetFrame): number | undefined {
    if (this.#frames === 0 && !frame.isSpeech) return undefined
    this.#pause = frame.isSpeech ? 0 : this.#pause + 1
    if (this.#pause > maxPauseFrames) this.reset()
    else if (!this.#hasVoice) return this.#examine(frame)
    return undefined
  }

  reset(): void {
    this.#voicing = undefined
    this.#frames = 0
    this.#pause = 0
    this.#clear = 0
    this.#power = 0
    this.#slopes = 0
    this.#levels = 0
    this.#hasVoice = false
  }

  #examine(frame: OnsetFrame): number | undefined {
    if (frame.isSpeech) {
      this.#frames += 1
      this.#levels += 10 ** (frame.levelDb / 10)
      this.#clear = this.#isClear(frame) ? this.#clear + 1 : 0
    }
    this.#hasVoice = this.#clear >= minClearFrames || this.#isVoiced(frame)
    if (this.#hasVoice || this.#frames < noiseFrames) return undefined
    const noiseDb = 10 * Math.log10(this.#levels / this.#frames)
    this.reset()
    return noiseDb
  }

  /** The pitch is looked for only if the spectrum says nothing, because that costs ten times as much as all else. */
  #isVoiced({ samples, levelDb, isSpeech }: OnsetFrame): boolean {
    if (this.#frames <= minClearFrames) return false
    this.#voicing ??= new Voicing()
    return this.#voicing.isVoiced(samples, levelDb, isSpeech)
  }

  #isClear(frame: OnsetFrame): boolean {
    const { samples } = frame
    // At 8 kHz, so that the ratio is the same at every rate.
    const step = Math.max(1, samples.length / 80)
    let power = 0
    let slopes = 0
    for (let index = step; index < samples.length; index += step) {
      const sample = samples[index] ?? 0
      power += sample ** 2
      slopes += (sample - (samples[index - step] ?? 0)) ** 2
    }
    this.#power += averageShare * (power - this.#power)
    this.#slopes += averageShare * (slopes - this.#slopes)
    return this.#slopes > minSlopeRatio * this.#power && frame.unpredictedShare > toneShare
  }
}
