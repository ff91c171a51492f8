import { PitchTrack, type Pitch } from './pitch-track.js'
import { SpectrumChange } from './spectrum-change.js'
import { predict, unpredictedShare, type Prediction } from './tone-test.js'

/** A predictor leaves less of a tone than this share. */
const toneShare = 0.015
/** A residual more than this far above the noise of the room, in dB, is not a tone. */
const clearAboveRoomDb = 9
/** Every nth frame of the background noise updates its level by this share. */
const roomInterval = 8
const roomShare = 0.2
/**
 * A frame of sound is this far above the noise floor; others are a pause, or what the detector holds on to after a
 * sound.
 */
const soundDb = 6

/**
 * What a predictor leaves of steady noise of any color is white: its level stays within about 1 dB. That of speech
 * moves: over this many frames it is off a straight line, or rises or falls faster than noise that fades.
 */
const movingFrames = 4
const minDeviationDb = 2.2
const minSlopeDb = 2
/** The level of a tone stays within this range, even if what the predictor leaves of it moves. */
const levelRangeDb = 1

/** Consecutive frames without a tone that are evidence while the noise floor is a guess. */
const minClearFrames = 3
/** Louder noise of a room hides what a predictor leaves of speech, so that the level of the sound has to move. */
const noisyRoomDb = -58
/** Of rumble, whose level moves too, a predictor leaves less than this share. */
const noisyShare = 0.04
/** The level of a quiet room, until the background noise is measured. */
const initialRoomDb = -65
/** Digital silence is no room. */
const silenceDb = -80

/** The pitch is looked for in frames this far above the noise floor. */
const pitchDb = 4
/**
 * In a quiet room tones have a pitch too, which moves if two of them beat, but a spectrum that changes less than this.
 */
const minChangeDb = 1
/** After this pause in the sound its evidence counts no more. */
const maxPauseFrames = 20
/** Sound without evidence for this many frames is noise. */
const noiseFrames = 40

const fullScalePower = 2 ** 30

/** A frame of 10 ms, and what the detector found. */
interface OnsetFrame {
  readonly samples: Int16Array
  readonly levelDb: number
  readonly isSpeech: boolean
  readonly floorDb: number
  /** Whether the background noise is not measured yet, so that `floorDb` is a guess. */
  readonly isFloorGuess: boolean
}

/**
 * Looks for evidence of a voice in sound that begins: what a predictor leaves of it moves, as that of noise and of
 * tones in a room does not, or it has the pitch of a voice. Costs nothing while there is no sound.
 */
export class OnsetEvidence {
  #pitch: PitchTrack | undefined
  readonly #change = new SpectrumChange()
  #frames = 0
  #pause = 0
  #clearFrames = 0
  #isPitched = false
  #levelDb = 0
  #moveDb = 0
  /** The levels of the last frames that count, and the levels that have to move. */
  #levelsDb: readonly number[] = []
  #movesDb: readonly number[] = []
  #powers = 0
  #hasVoice = false
  /** The level of what a predictor leaves of the room: that of its noise if it is white, and less of other noise. */
  #roomDb = initialRoomDb
  #roomFrames = 0

  /** Whether a sound began, and has not been over for long. */
  get isActive(): boolean {
    return this.#frames > 0
  }

  /** Whether there is evidence in this sound. */
  get hasVoice(): boolean {
    return this.#hasVoice
  }

  /** Takes in a frame without sound. */
  observeRoom(samples: Int16Array, levelDb: number): void {
    this.#roomFrames += 1
    if (this.#roomFrames % roomInterval !== 0 || levelDb < silenceDb) return
    this.#roomDb += roomShare * (restOf(samples, unpredictedShare(samples)) - this.#roomDb)
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
    this.#pitch = undefined
    this.#change.reset()
    this.#isPitched = false
    this.#frames = 0
    this.#pause = 0
    this.#forget()
    this.#powers = 0
    this.#hasVoice = false
  }

  #examine(frame: OnsetFrame): number | undefined {
    if (frame.isSpeech) {
      this.#frames += 1
      this.#powers += 10 ** (frame.levelDb / 10)
    }
    this.#hasVoice = this.#isEvidence(frame)
    if (this.#hasVoice || this.#frames < noiseFrames) return undefined
    const noiseDb = 10 * Math.log10(this.#powers / this.#frames)
    this.reset()
    return noiseDb
  }

  #isEvidence(frame: OnsetFrame): boolean {
    const { samples, isSpeech, levelDb, floorDb, isFloorGuess } = frame
    const prediction = predict(samples)
    const { share, noiseGainDb } = prediction
    const isNoTone = isSpeech && share > toneShare
    if (isFloorGuess) {
      this.#clearFrames = isNoTone ? this.#clearFrames + 1 : 0
      return this.#clearFrames >= minClearFrames || this.#pitchOf(samples, isSpeech) === 'moving'
    }
    const restDb = restOf(samples, share)
    const isNoisy = this.#roomDb > noisyRoomDb
    const isAboveRoom = restDb - this.#roomDb - noiseGainDb > clearAboveRoomDb
    const isClear = isNoisy ? isSpeech && share > noisyShare : isNoTone || isAboveRoom
    const isSound = levelDb > floorDb + soundDb
    if (isSound && this.#isMoving(levelDb, isNoisy ? levelDb : restDb, isClear)) return true
    if (!isSound) this.#forget()
    // The pitch counts in two frames in a row, because the frame in which a tone ends looks like that of a voice.
    const wasPitched = this.#isPitched
    this.#isPitched = this.#hasPitchOfVoice(frame, prediction, { isNoisy, mayBeLevel: isNoTone && isAboveRoom })
    return wasPitched && this.#isPitched
  }

  /** In noise a pitch that moves is enough. In a quiet room it may be that of two tones that beat. */
  #hasPitchOfVoice(
    { samples, levelDb, floorDb }: OnsetFrame,
    prediction: Prediction,
    { isNoisy, mayBeLevel }: { readonly isNoisy: boolean; readonly mayBeLevel: boolean },
  ): boolean {
    const isLoud = levelDb > floorDb + pitchDb
    if (isLoud) this.#change.observe(samples, prediction)
    else this.#change.reset()
    const pitch = this.#pitchOf(samples, isLoud)
    if (isNoisy) return pitch === 'moving'
    return pitch !== 'none' && (mayBeLevel || (pitch === 'moving' && this.#change.meanDb > minChangeDb))
  }

  #pitchOf(samples: Int16Array, isLoud: boolean): Pitch {
    this.#pitch ??= new PitchTrack()
    return this.#pitch.observe(samples, isLoud)
  }

  /** Only frames between two clear ones count: sound fills the frame in which it sets in or stops only in part. */
  #isMoving(levelDb: number, moveDb: number, isClear: boolean): boolean {
    this.#clearFrames = isClear ? this.#clearFrames + 1 : 0
    const counts = this.#clearFrames >= 3
    if (counts) {
      this.#levelsDb = [...this.#levelsDb, this.#levelDb].slice(-movingFrames)
      this.#movesDb = [...this.#movesDb, this.#moveDb].slice(-movingFrames)
    }
    this.#levelDb = levelDb
    this.#moveDb = moveDb
    return (
      counts &&
      this.#movesDb.length === movingFrames &&
      Math.max(...this.#levelsDb) - Math.min(...this.#levelsDb) > levelRangeDb &&
      isUneven(this.#movesDb)
    )
  }

  #forget(): void {
    this.#clearFrames = 0
    this.#levelsDb = []
    this.#movesDb = []
  }
}

/** The level of what a predictor leaves of a frame, in dBFS, given its share. */
const restOf = (samples: Int16Array, share: number): number => {
  let power = 0
  for (const sample of samples) power += sample ** 2
  return 10 * Math.log10((share * power) / samples.length / fullScalePower + 1e-12)
}

/** Whether the levels, one a frame, are off a straight line, or the line is steep. */
const isUneven = (levelsDb: readonly number[]): boolean => {
  const center = (levelsDb.length - 1) / 2
  const meanDb = levelsDb.reduce((sum, levelDb) => sum + levelDb, 0) / levelsDb.length
  let squares = 0
  let products = 0
  let spread = 0
  for (const [at, levelDb] of levelsDb.entries()) {
    squares += (levelDb - meanDb) ** 2
    products += (at - center) * (levelDb - meanDb)
    spread += (at - center) ** 2
  }
  const slopeDb = products / spread
  const deviation = (squares - slopeDb * products) / levelsDb.length
  return deviation > minDeviationDb ** 2 || Math.abs(slopeDb) > minSlopeDb
}
