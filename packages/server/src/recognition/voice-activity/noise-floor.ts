/** A level below this is digital silence or an idle codec, and no information about the background noise. */
const silenceDb = -80
/** The floor before the first sound. */
const initialDb = -50
/** The lower bound of the floor, so that a rustle on a very quiet line is not far above it. */
const minFloorDb = -65
const fallPerFrame = 0.1
const riseDbPerFrame = 0.01

/** A first sound within this time counts as background noise; a resampler starts with a few empty samples. */
const warmUpFrames = 10
/** The floor starts with the first sound, whose first frame may be incomplete. */
const learningFrames = 2
/**
 * During this time a fall by `fallDb`, or a voice, shows that the audio began with speech and not with background
 * noise.
 */
const uncertainFrames = 50
const fallDb = 8
/** The background noise is then assumed to be at least this far below a voice. */
const voiceAboveFloorDb = 20
/** Unless the audio began with background noise, the level is a guess for this time. */
const guessFrames = 200

/** A sound is steady if its level, a mean over `blockFrames`, stays within `steadyRangeDb` for `blocks` of them. */
const blockFrames = 5
const blocks = 24
const steadyRangeDb = 6

/**
 * The level of the background noise in dBFS, tracked frame by frame: it falls fast, rises by 1 dB a second, and does
 * not rise while frozen. A sound that stays level for 1.2 s, as speech never does, becomes the floor even while frozen:
 * noise that sets in would otherwise freeze the floor itself and count as speech for ever.
 */
export class NoiseFloor {
  #frames = 0
  #audibleFrames = 0
  #previousDb = -Infinity
  #beganWithVoice = false
  #blockSum = 0
  #blockCount = 0
  readonly #levels = new Float64Array(blocks).fill(Infinity)
  #floorDb = initialDb

  get levelDb(): number {
    return this.#floorDb
  }

  /** Whether the floor has just started with the first sound, which may have been a voice. */
  get isUncertain(): boolean {
    return this.#startsWithSound && this.#audibleFrames < uncertainFrames
  }

  /** Whether the level is a guess: the audio began with a voice or with digital silence, not long ago. */
  get isGuess(): boolean {
    if (this.#startsWithSound && !this.#beganWithVoice) return this.#audibleFrames < uncertainFrames
    return this.#audibleFrames < guessFrames
  }

  /** A voice of this level was detected, so the floor did not start with background noise. Only while `isUncertain`. */
  resetBelowVoice(voiceDb: number): void {
    this.#floorDb = Math.max(minFloorDb, Math.min(this.#floorDb, initialDb, voiceDb - voiceAboveFloorDb))
    this.#audibleFrames = uncertainFrames
    this.#beganWithVoice = true
  }

  /** A sound of this level proved to be noise. */
  adopt(noiseDb: number): void {
    this.#floorDb = Math.max(this.#floorDb, noiseDb)
  }

  observe(levelDb: number, isFrozen: boolean): void {
    this.#frames += 1
    this.#follow(levelDb, isFrozen)
    this.#followSteadySound(levelDb)
    this.#previousDb = levelDb
  }

  get #startsWithSound(): boolean {
    return this.#frames - this.#audibleFrames < warmUpFrames
  }

  #follow(levelDb: number, isFrozen: boolean): void {
    if (levelDb < silenceDb) return
    this.#audibleFrames += 1
    if (this.#startsWithSound && this.#audibleFrames <= learningFrames) {
      this.#floorDb = this.#audibleFrames === 1 ? levelDb : Math.max(this.#floorDb, levelDb)
    } else if (
      this.#startsWithSound &&
      this.#audibleFrames <= uncertainFrames &&
      this.#floorDb - Math.max(levelDb, this.#previousDb) > fallDb
    ) {
      this.#floorDb = Math.min(this.#floorDb, initialDb)
      this.#audibleFrames = uncertainFrames
      this.#beganWithVoice = true
    } else if (levelDb < this.#floorDb) {
      this.#floorDb = Math.max(minFloorDb, this.#floorDb + fallPerFrame * (levelDb - this.#floorDb))
    } else if (!isFrozen) {
      this.#floorDb = Math.min(levelDb, this.#floorDb + riseDbPerFrame)
    }
  }

  #followSteadySound(levelDb: number): void {
    this.#blockSum += Math.max(levelDb, silenceDb)
    if (this.#frames % blockFrames !== 0) return
    this.#levels[this.#blockCount % blocks] = this.#blockSum / blockFrames
    this.#blockCount += 1
    this.#blockSum = 0
    let lowest = Infinity
    let highest = -Infinity
    let sum = 0
    for (const level of this.#levels) {
      lowest = Math.min(lowest, level)
      highest = Math.max(highest, level)
      sum += level
    }
    if (highest - lowest <= steadyRangeDb) this.#floorDb = Math.max(this.#floorDb, sum / blocks)
  }
}
