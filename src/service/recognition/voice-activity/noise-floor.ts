/** Below this a level says nothing about the room: digital silence, or a codec at rest. */
const silenceDb = -80
/** What a room is taken for until it is heard. */
const unheardDb = -50
/** The floor never falls lower, so that a rustle in a very quiet line isn't far above it. */
const lowestDb = -65
const fallPerFrame = 0.1
const riseDbPerFrame = 0.01

/** So long a first sound may take to be taken for the room; a resampler starts with a few empty samples. */
const warmUpFrames = 10
/** The first sound is taken for the room, its first frame perhaps only in part. */
const learningFrames = 2
/** For so long after, a fall by `mistakeDb` or a voice, shows that it was speech that the audio began with, not the room. */
const doubtFrames = 50
const mistakeDb = 8
/** A room is taken to be at least so far below a voice that is understood. */
const voiceAboveRoomDb = 20

/** Steady sound is told by its level, a mean of `blockFrames`, staying within `steadyRangeDb` for `blocks` of them. */
const blockFrames = 5
const blocks = 24
const steadyRangeDb = 6

/**
 * The level of what is always there, in dBFS, tracked frame by frame: it falls fast, rises by 1 dB a second, and doesn't
 * rise while frozen. A sound that stays level for 1.2 s, as speech never does, becomes the floor even then: otherwise
 * noise that sets in would count as speech for ever, since it would itself freeze the floor.
 */
export class NoiseFloor {
  private frames = 0
  private heardFrames = 0
  private previousDb = -Infinity
  private blockSum = 0
  private blockCount = 0
  private readonly levels = new Float64Array(blocks).fill(Infinity)
  private floorDb = unheardDb

  get levelDb(): number {
    return this.floorDb
  }

  /** Whether the floor was just begun with the first sound, which may have been a voice. */
  get inDoubt(): boolean {
    return this.startsWithSound && this.heardFrames < doubtFrames
  }

  /** A voice of this level is heard: what the floor was begun with was no room. To be called only while in doubt. */
  takeBack(voiceDb: number): void {
    this.floorDb = Math.max(lowestDb, Math.min(this.floorDb, unheardDb, voiceDb - voiceAboveRoomDb))
    this.heardFrames = doubtFrames
  }

  observe(levelDb: number, frozen: boolean): void {
    this.frames += 1
    this.follow(levelDb, frozen)
    this.followSteadySound(levelDb)
    this.previousDb = levelDb
  }

  private get startsWithSound(): boolean {
    return this.frames - this.heardFrames < warmUpFrames
  }

  private follow(levelDb: number, frozen: boolean): void {
    if (levelDb < silenceDb) return
    this.heardFrames += 1
    if (this.startsWithSound && this.heardFrames <= learningFrames) {
      this.floorDb = this.heardFrames === 1 ? levelDb : Math.max(this.floorDb, levelDb)
    } else if (
      this.startsWithSound &&
      this.heardFrames <= doubtFrames &&
      this.floorDb - Math.max(levelDb, this.previousDb) > mistakeDb
    ) {
      this.floorDb = Math.min(this.floorDb, unheardDb)
      this.heardFrames = doubtFrames
    } else if (levelDb < this.floorDb) {
      this.floorDb = Math.max(lowestDb, this.floorDb + fallPerFrame * (levelDb - this.floorDb))
    } else if (!frozen) {
      this.floorDb = Math.min(levelDb, this.floorDb + riseDbPerFrame)
    }
  }

  private followSteadySound(levelDb: number): void {
    this.blockSum += Math.max(levelDb, silenceDb)
    if (this.frames % blockFrames !== 0) return
    this.levels[this.blockCount % blocks] = this.blockSum / blockFrames
    this.blockCount += 1
    this.blockSum = 0
    let lowest = Infinity
    let highest = -Infinity
    let sum = 0
    for (const level of this.levels) {
      lowest = Math.min(lowest, level)
      highest = Math.max(highest, level)
      sum += level
    }
    if (highest - lowest <= steadyRangeDb) this.floorDb = Math.max(this.floorDb, sum / blocks)
  }
}
