import { SpeechError } from '../../../errors/speech-error.js'
import { openFvad, type Fvad } from './fvad.js'
import { NoiseFloor } from './noise-floor.js'
import { SoundLevel } from './sound-level.js'
import { unpredictedShare } from './tone-test.js'
import { Voicing } from './voicing.js'

/** Tells speech from everything else, frame by frame, for one channel. */
export interface VoiceDetector {
  /** Whether the frame, 10 ms at the detector's rate, is speech. Frames must come in order, each once. */
  isSpeech(frame: Int16Array): boolean
  /** Keeps the noise floor from rising while a segment is in speech. */
  hold(frozen: boolean): void
  /** Another sensitivity, 1 to 10, from the next frame on; throws `invalid-field` for others. The noise floor stays. */
  setSensitivity(sensitivity: number): void
  /** Gives the memory back; from then on nothing is speech. */
  free(): void
}

export interface VoiceDetectorOptions {
  /** 8000, 16000, 32000 or 48000 Hz. */
  readonly sampleRateHz: number
  /** 1 to 10; 10 is the easiest to trigger. */
  readonly sensitivity: number
}

const rates = [8000, 16_000, 32_000, 48_000] as const

/** By sensitivity 1 to 10: the mode of WebRTC's detector, and how far above the noise floor a frame must be, in dB. */
const modes = [3, 3, 3, 2, 2, 1, 1, 1, 0, 0]
const entryDb = [18, 16, 14, 12, 10, 8, 6, 5, 4, 3]
const hysteresisDb = 3
const absoluteFloorDb = -55

/**
 * A tone that sets in is known by so many frames in a row that leave less than the share. A sonorant that opens a word
 * may do the same, for half the pre-speech buffer at most.
 */
const clearTone = { share: 0.01, frames: 3 }

/** Within speech a tone must last longer than any sonorant, or words would be cut in two. */
const lastingTone = { share: 0.01, frames: 30 }

/**
 * Sound that sets in and stays within `levelRangeDb` for so many frames is noise, where a predictor leaves so much of it:
 * a held vowel is as steady, but leaves less.
 */
const levelRun = 5
const levelRangeDb = 3
const noiseShare = 0.15

const tuningOf = (sensitivity: number): { readonly mode: number; readonly entry: number } => {
  const mode = modes[sensitivity - 1]
  const entry = entryDb[sensitivity - 1]
  if (mode === undefined || entry === undefined) {
    throw new SpeechError('invalid-field', 'vad-sensitivity must be a whole number, from 1 to 10.')
  }
  return { mode, entry }
}

/** WebRTC's verdict and the adaptive gate together; either alone calls steady noise or soft rustle speech. */
class GatedDetector implements VoiceDetector {
  private readonly floor = new NoiseFloor()
  private readonly level: SoundLevel
  private readonly voicing = new Voicing()
  private frozen = false
  private open = false
  private previousDb = -Infinity
  private clearFrames = 0
  private lastingFrames = 0
  private readonly levels = new Float64Array(levelRun).fill(-Infinity)
  private levelCount = 0

  constructor(
    private readonly fvad: Fvad,
    private entryDb: number,
    sampleRateHz: number,
  ) {
    this.level = new SoundLevel(sampleRateHz)
  }

  isSpeech(frame: Int16Array): boolean {
    const levelDb = this.level.of(frame)
    this.floor.observe(levelDb, this.frozen)
    const voiced = this.fvad.process(frame)
    // A resumed session and a call that is taken late begin in mid-speech: the voice is not the room.
    if (this.floor.inDoubt && this.voicing.of(frame, levelDb, voiced)) this.floor.takeBack(levelDb)
    this.open = this.passes(levelDb)
    this.previousDb = levelDb
    this.levels[this.levelCount++ % levelRun] = levelDb
    if (!voiced || !this.open) return false
    const share = unpredictedShare(frame)
    this.clearFrames = share < clearTone.share ? this.clearFrames + 1 : 0
    this.lastingFrames = share < lastingTone.share ? this.lastingFrames + 1 : 0
    if (this.frozen) return this.lastingFrames < lastingTone.frames
    return this.clearFrames < clearTone.frames && !(share > noiseShare && this.isLevel())
  }

  hold(frozen: boolean): void {
    this.frozen = frozen
  }

  setSensitivity(sensitivity: number): void {
    const { mode, entry } = tuningOf(sensitivity)
    this.fvad.setMode(mode)
    this.entryDb = entry
  }

  free(): void {
    this.fvad.free()
  }

  private isLevel(): boolean {
    let lowest = Infinity
    let highest = -Infinity
    for (const levelDb of this.levels) {
      lowest = Math.min(lowest, levelDb)
      highest = Math.max(highest, levelDb)
    }
    return highest - lowest <= levelRangeDb
  }

  /** Low voices have frames between two pulses of the glottis: the louder of two frames decides whether the gate stays open. */
  private passes(levelDb: number): boolean {
    const heardDb = this.open ? Math.max(levelDb, this.previousDb) : levelDb
    const threshold = Math.max(this.floor.levelDb + this.entryDb, absoluteFloorDb)
    return heardDb >= (this.open ? threshold - hysteresisDb : threshold)
  }
}

/**
 * Opens a detector. Rejects with `invalid-format` for another rate, `invalid-field` for another sensitivity, and
 * `missing-dependency` without the optional package. The table of sensitivities is stated in docs/PROTOCOL.md.
 */
export const createVoiceDetector = async ({
  sampleRateHz,
  sensitivity,
}: VoiceDetectorOptions): Promise<VoiceDetector> => {
  const rate = rates.find((known) => known === sampleRateHz)
  if (rate === undefined) {
    throw new SpeechError('invalid-format', `sampleRateHz must be one of ${rates.join(', ')} for voice activity.`)
  }
  const { mode, entry } = tuningOf(sensitivity)
  return new GatedDetector(await openFvad(rate, mode), entry, rate)
}
