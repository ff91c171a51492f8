import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { openFvad, type Fvad } from './fvad.js'
import { NoiseFloor } from './noise-floor.js'
import { OnsetEvidence } from './onset-evidence.js'
import { bandFrame, bandRateHz, TelephoneBand } from './telephone-band.js'
import { unpredictedShare } from './tone-test.js'
import { Voicing } from './voicing.js'

/** Detects speech in one channel, frame by frame. */
export interface VoiceDetector {
  /** Whether the frame, 10 ms at the detector's rate, is speech. All frames must be passed, in order, each once. */
  isSpeech(frame: Int16Array): boolean
  /** Whether the speech of the last frames may still prove to be noise. Always false within speech. */
  readonly isDoubtful: boolean
  /**
   * For how many frames there has been sound that may belong to the speech: 0 in a room, 50 at most. Not all of it is
   * speech by itself: sonorants at the start of a sentence, as in "we will", may be as predictable as a tone.
   */
  readonly soundFrames: number
  /** Whether the noise floor must not rise, as within speech. */
  freezeFloor(isFrozen: boolean): void
  /**
   * Changes the sensitivity, 1 to 10, from the next frame on; throws `invalid-field` otherwise. Keeps the noise floor.
   */
  setSensitivity(sensitivity: number): void
  /** Frees the memory; after that no frame is speech. */
  free(): void
}

export interface VoiceDetectorOptions {
  /** 8000, 16000, 32000 or 48000 Hz. */
  readonly sampleRateHz: number
  /** 1 to 10; 10 is the easiest to trigger. */
  readonly sensitivity: number
}

const rates = [8000, 16_000, 32_000, 48_000] as const

/**
 * Opens a detector (PROTOCOL 7). Rejects with `invalid-format` for another rate, `invalid-field` for another
 * sensitivity.
 */
export const createVoiceDetector = async ({
  sampleRateHz,
  sensitivity,
}: VoiceDetectorOptions): Promise<VoiceDetector> => {
  const rate = rates.find((known) => known === sampleRateHz)
  if (rate === undefined) {
    throw new SpeechError('invalid-format', `sampleRateHz must be one of ${rates.join(', ')} for voice activity.`)
  }
  const { mode, entryDb } = thresholdsOf(sensitivity)
  return new GatedDetector(await openFvad(mode), entryDb, rate === bandRateHz ? undefined : new TelephoneBand(rate))
}

/** By sensitivity 1 to 10: the mode of WebRTC's detector, and how far above the noise floor a frame must be, in dB. */
const modes = [3, 3, 3, 2, 2, 1, 1, 1, 0, 0]
const entryDbs = [18, 16, 14, 12, 10, 8, 6, 5, 4, 3]
const hysteresisDb = 3
const minSpeechDb = -55

const thresholdsOf = (sensitivity: number): { readonly mode: number; readonly entryDb: number } => {
  const mode = modes[sensitivity - 1]
  const entryDb = entryDbs[sensitivity - 1]
  if (mode === undefined || entryDb === undefined) {
    throw new SpeechError('invalid-field', 'vad-sensitivity must be a whole number, from 1 to 10.')
  }
  return { mode, entryDb }
}

/**
 * A tone that sets in is detected by this many frames in a row that are predictable to within the share. A sonorant at
 * the start of a word may be as well, for half the pre-speech buffer at most.
 */
const clearTone = { share: 0.01, frames: 3 }

/** Within speech a tone must last longer than any sonorant; words would be cut in two otherwise. */
const lastingTone = { share: 0.01, frames: 30 }

/**
 * Sound that sets in and stays within `levelRangeDb` for this many frames is noise if a predictor leaves `noiseShare`
 * of it: a held vowel is as steady, but more predictable.
 */
const levelRun = 5
const levelRangeDb = 3
const noiseShare = 0.15

/** Sound is over after this pause, which is longer than the closure of a stop. */
const soundPauseFrames = 20
const maxSoundFrames = 50

/**
 * Combines WebRTC's verdict with an adaptive gate; each alone would classify steady noise or a soft rustle as speech.
 * Both examine the band of a telephone, whatever the rate.
 */
class GatedDetector implements VoiceDetector {
  readonly #fvad: Fvad
  #entryDb: number
  readonly #floor = new NoiseFloor()
  readonly #band: TelephoneBand | undefined
  readonly #offset = new OffsetFilter()
  readonly #level = new LevelFilter()
  /** Only until the floor is certain, once and for all. */
  #voicing: Voicing | undefined = new Voicing()
  readonly #onset = new OnsetEvidence()
  #isFrozen = false
  #isOpen = false
  #previousDb = -Infinity
  #clearFrames = 0
  #lastingFrames = 0
  readonly #levels = new Float64Array(levelRun).fill(-Infinity)
  #levelCount = 0
  soundFrames = 0
  #pauseFrames = 0

  constructor(fvad: Fvad, entryDb: number, band: TelephoneBand | undefined) {
    this.#fvad = fvad
    this.#entryDb = entryDb
    this.#band = band
  }

  get isDoubtful(): boolean {
    return !this.#isFrozen && !this.#onset.hasVoice
  }

  isSpeech(samples: Int16Array): boolean {
    const frame = this.#offset.take(this.#band?.take(samples) ?? samples)
    const levelDb = this.#level.levelDb(frame)
    const isSpeech = this.#judge(frame, levelDb)
    if (!this.#isFrozen) {
      if (isSpeech || this.#onset.isActive) this.#examineOnset(frame, levelDb, isSpeech)
      else this.#onset.observeRoom(frame, levelDb)
    }
    return isSpeech
  }

  #examineOnset(samples: Int16Array, levelDb: number, isSpeech: boolean): void {
    const { levelDb: floorDb, isGuess: isFloorGuess } = this.#floor
    const noiseDb = this.#onset.observe({ samples, levelDb, isSpeech, floorDb, isFloorGuess })
    if (noiseDb !== undefined) this.#floor.adopt(noiseDb)
  }

  #judge(frame: Int16Array, levelDb: number): boolean {
    this.#floor.observe(levelDb, this.#isFrozen)
    const isCandidate = this.#fvad.process(frame)
    // A resumed session, or a call that is joined late, begins within speech: that level is not background noise.
    if (!this.#floor.isUncertain) this.#voicing = undefined
    else if (this.#voicing?.isVoiced(frame, levelDb, isCandidate) === true) this.#floor.resetBelowVoice(levelDb)
    this.#isOpen = this.#passesGate(levelDb)
    this.#previousDb = levelDb
    this.#levels[this.#levelCount++ % levelRun] = levelDb
    const isSound = isCandidate && this.#isOpen
    this.#measureSound(isSound)
    if (!isSound) return false
    const share = unpredictedShare(frame)
    this.#clearFrames = share < clearTone.share ? this.#clearFrames + 1 : 0
    this.#lastingFrames = share < lastingTone.share ? this.#lastingFrames + 1 : 0
    if (this.#isFrozen) return this.#lastingFrames < lastingTone.frames
    return this.#clearFrames < clearTone.frames && !(share > noiseShare && this.#isLevel())
  }

  #measureSound(isSound: boolean): void {
    this.#pauseFrames = isSound ? 0 : this.#pauseFrames + 1
    const isOver = this.#pauseFrames > soundPauseFrames || (this.soundFrames === 0 && !isSound)
    this.soundFrames = isOver ? 0 : Math.min(this.soundFrames + 1, maxSoundFrames)
  }

  freezeFloor(isFrozen: boolean): void {
    if (isFrozen !== this.#isFrozen) this.#onset.reset()
    this.#isFrozen = isFrozen
  }

  setSensitivity(sensitivity: number): void {
    const { mode, entryDb } = thresholdsOf(sensitivity)
    this.#fvad.setMode(mode)
    this.#entryDb = entryDb
  }

  free(): void {
    this.#fvad.free()
  }

  #isLevel(): boolean {
    let lowest = Infinity
    let highest = -Infinity
    for (const levelDb of this.#levels) {
      lowest = Math.min(lowest, levelDb)
      highest = Math.max(highest, levelDb)
    }
    return highest - lowest <= levelRangeDb
  }

  /** Low voices have soft frames between two glottal pulses: an open gate looks at the louder of two frames. */
  #passesGate(levelDb: number): boolean {
    const gatedDb = this.#isOpen ? Math.max(levelDb, this.#previousDb) : levelDb
    const threshold = Math.max(this.#floor.levelDb + this.#entryDb, minSpeechDb)
    return gatedDb >= (this.#isOpen ? threshold - hysteresisDb : threshold)
  }
}

/** A weaker constant leaves speech less predictable than a tone. */
const minOffset = 1_000
/** Half a second, so that no sound of speech counts as a constant. */
const offsetShare = 0.02

/** Takes a strong constant out of the samples, which no loudspeaker plays, but which can be predicted as a tone can. */
class OffsetFilter {
  #offset: number | undefined
  /** Only for a line that has one. */
  #frame: Int16Array | undefined

  /** The frame itself if there is no constant; otherwise it is valid until the next call. */
  take(frame: Int16Array): Int16Array {
    let sum = 0
    for (const sample of frame) sum += sample
    const mean = sum / frame.length
    const offset = this.#offset === undefined ? mean : this.#offset + offsetShare * (mean - this.#offset)
    this.#offset = offset
    if (Math.abs(offset) < minOffset) return frame
    this.#frame ??= new Int16Array(bandFrame)
    for (let index = 0; index < frame.length; index += 1) {
      this.#frame[index] = Math.max(-32_768, Math.min(32_767, (frame[index] ?? 0) - offset))
    }
    return this.#frame
  }
}

/** Two consecutive first-order filters attenuate frequencies below about this one. */
const cornerHz = 50
const share = 1 - Math.exp((-2 * Math.PI * cornerHz) / bandRateHz)
const fullScalePower = 2 ** 30

/**
 * Measures the level of the frames of one channel in dB of full scale, without the frequencies below speech: an offset
 * of the line, the rumble of wind and traffic. 10 ms hold too little of a rumble for a steady level, so it would not
 * count as noise.
 */
export class LevelFilter {
  #first = 0
  #second = 0
  #hasStarted = false

  levelDb(frame: Int16Array): number {
    const { length } = frame
    // An offset that exists from the first sample on is not a step.
    let first = this.#hasStarted ? this.#first : (frame[0] ?? 0)
    let second = this.#second
    let squares = 0
    // By index: for-of costs three times as much, and this runs for every sample.
    for (let index = 0; index < length; index += 1) {
      const sample = frame[index] ?? 0
      first += share * (sample - first)
      const once = sample - first
      second += share * (once - second)
      squares += (once - second) ** 2
    }
    this.#hasStarted = true
    this.#first = first
    this.#second = second
    return 10 * Math.log10(squares / length / fullScalePower + 1e-12)
  }
}
